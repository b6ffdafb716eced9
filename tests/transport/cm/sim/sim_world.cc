// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/sim/sim_world.h"

namespace urxe::cmsim {
namespace {

constexpr size_t kMaxSteps = 1'000'000;
constexpr size_t kMaxFailures = 5;
/// Every connection has its turn to ask by then, and its answer, or has waited long enough for one.
constexpr Duration kHalfOpenAtMost = seconds(60);
/// All timers together, with every retry used up, end long before.
constexpr Duration kEndOfTime = seconds(3600);

}  // namespace

World::World(const Options& options)
    : options_(options), random_(options.seed), network_(options_, random_.next()) {
  for (uint32_t i = 0; i < options_.nodes; ++i) {
    nodes_.push_back(std::make_unique<Node>(options_, i, random_.next(), ledger_,
                                            [this](const std::string& what) { fail(what); }));
  }
  if (options_.probes && options_.corruption == 0) look_ = Instant{} + options_.calm;
  for (uint32_t i = 0; i < options_.crashes; ++i) {
    crashes_.push_back(Instant{} + seconds(static_cast<int64_t>(10 * (i + 1))));
  }
  for (uint32_t i = 0; i < options.deaths; ++i) {
    deaths_.push_back(Instant{} + seconds(static_cast<int64_t>(25 * (i + 1))));
  }
}

void World::fail(const std::string& what) {
  if (failures_.size() < kMaxFailures) {
    failures_.push_back("at " + std::to_string(now_.ns / 1000) + " us: " + what);
  }
}

std::optional<Instant> World::next() const {
  std::optional<Instant> next = network_.next();
  for (const auto& node : nodes_) {
    const auto theirs = node->next();
    if (theirs && (!next || *theirs < *next)) next = theirs;
  }
  return next;
}

void World::deliver() {
  while (const auto mad = network_.take_due(now_)) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (node_gid(i) == mad->flow.destination) nodes_[i]->receive(*mad, now_);
    }
  }
}

void World::crash_some() {
  while (!crashes_.empty() && crashes_.front() <= now_) {
    crashes_.pop_front();
    nodes_[random_.below(nodes_.size())]->crash(now_);
  }
}

void World::let_some_die() {
  while (!deaths_.empty() && deaths_.front() <= now_) {
    nodes_[deaths_.size()]->die();  // each another one, and never the first
    deaths_.pop_front();
  }
}

void World::check_half_open() {
  if (!look_ || now_ < *look_) return;
  std::set<End> found;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    for (const auto& [id, peer] : nodes_[i]->connected()) {
      if (nodes_[peer.node]->find(peer.id) == nullptr) found.insert({i, id});
    }
  }
  for (const End& end : found) {
    if (half_open_.contains(end)) fail("node " + std::to_string(end.node) + ": half open for long");
  }
  half_open_ = found;
  look_ = now_ + kHalfOpenAtMost;
}

void World::step() {
  crash_some();
  let_some_die();
  check_half_open();
  deliver();
  for (const auto& node : nodes_) {
    node->run(now_);
    while (const OutgoingMad* mad = node->take_outgoing()) network_.send(*mad, now_);
    for (const auto& [peer, qpn] : node->take_data()) nodes_[peer]->first_request(qpn, now_);
  }
}

std::vector<std::string> World::run() {
  size_t steps = 0;
  for (; failures_.empty(); ++steps) {
    const auto at = next();
    if (!at) break;
    now_ = std::max(now_, *at);
    if (steps == kMaxSteps || now_ > Instant{} + kEndOfTime) {
      fail("does not come to an end");
      break;
    }
    step();
  }
  if (failures_.empty()) {
    for (const auto& node : nodes_) node->check_end();
  }
  return failures_;
}

}  // namespace urxe::cmsim
