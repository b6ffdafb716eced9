// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/sim/sim_node.h"

#include <numeric>

namespace urxe::cmsim {
namespace {

constexpr uint8_t kLifetime = 14;  // 67 ms
constexpr uint8_t kResponse = 18;  // 1.1 s
constexpr uint32_t kServices = 3;  // some of which nobody listens for
constexpr uint64_t kAllBits = ~uint64_t{0};

ServiceId service(uint64_t number) {
  return ServiceId{0x0106'0000 + number};
}

CmConfig config_of(const Options& options, uint32_t index, uint64_t seed, uint32_t generation) {
  CmConfig config;
  config.ca_guid = kGuidBase + index;
  config.id_prefix = index + 16 * generation;
  config.id_secret = {seed, config.id_prefix};
  config.max_ids = options.max_ids;
  config.slow_consumer_timeout = 19;
  if (options.early_retries) config.first_retry = milliseconds(250);
  if (options.probes) {
    config.probe_interval = seconds(2);
    config.probe_round = seconds(20);
    config.probes_per_second = 50;
    config.probe_guid_mask = ~uint64_t{0xff};
    config.probe_guid_value = kGuidBase;
  }
  return config;
}

template <size_t N>
uint64_t sum(const std::array<uint64_t, N>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

}  // namespace

Gid node_gid(uint32_t node) {
  const uint8_t address[4] = {192, 0, 2, static_cast<uint8_t>(node + 1)};
  return Gid::from_ipv4(address);
}

const char* phase_name(Phase phase) {
  constexpr const char* kNames[] = {
      "connecting",           "replied", "requested", "accepted",  "established", "disconnecting",
      "disconnect_requested", "ended",   "idle",      "resolving", "serving"};
  return kNames[static_cast<size_t>(phase)];
}

Node::Node(const Options& options, uint32_t index, uint64_t seed, Ledger& ledger,
           std::function<void(const std::string&)> fail)
    : options_(&options),
      index_(index),
      random_(seed),
      fail_(std::move(fail)),
      ledger_(&ledger),
      seed_(seed),
      cm_(config_of(options, index, seed, 0)) {
  listen();
  for (uint32_t i = 0; i < options.connects; ++i) {
    after({}, options.calm, [this](Instant now) { start_connect(now); }, {});
  }
  for (uint32_t i = 0; i < options.services; ++i) {
    after({}, options.calm, [this](Instant now) { start_resolution(now); }, {});
  }
}

void Node::listen() {
  for (uint32_t i = 0; i < options_->listeners; ++i) {
    expect(cm_.listen(service(i), kAllBits, std::nullopt).has_value(), "cannot listen");
  }
}

void Node::forget_all() {
  ++generation_;
  std::destroy_at(&cm_);
  std::construct_at(&cm_, config_of(*options_, index_, seed_, generation_));
  conversations_.clear();
  data_.clear();
  delivered_ = taken_ = 0;
}

void Node::crash(Instant /*now*/) {
  if (dead_) return;
  forget_all();
  listen();
}

void Node::die() {
  forget_all();
  actions_.clear();
  dead_ = true;
  ledger_->died(index_);
}

void Node::first_request(Qpn qpn, Instant now) {
  if (!dead_) cm_.first_request_received(qpn, now);
}

void Node::expect(bool condition, const std::string& what) {
  if (!condition) fail_("node " + std::to_string(index_) + ": " + what);
}

void Node::expect_agreed(bool condition, const std::string& what) {
  expect(condition || options_->corruption > 0, what);
}

void Node::after(Duration least, Duration most, Action action, Instant now) {
  const auto wait = random_.range(static_cast<uint64_t>(least.ns), static_cast<uint64_t>(most.ns));
  at(now + nanoseconds(static_cast<int64_t>(wait)), std::move(action));
}

void Node::soon(Action action, Instant now) {
  const bool slow = random_.percent(options_->slow_consumer);
  after({}, slow ? seconds(10) : milliseconds(5), std::move(action), now);
}

Qpn Node::new_qpn() {
  if (options_->reuses_qpns && random_.percent(50)) return Qpn{random_.range32(2, 6)};
  return Qpn{0x100 + next_qpn_++};
}

Conversation* Node::in(CommId id, Phase phase) {
  const auto found = conversations_.find(id);
  return found != conversations_.end() && found->second.phase == phase ? &found->second : nullptr;
}

const Conversation* Node::find(CommId id) const {
  const auto found = conversations_.find(id);
  return found == conversations_.end() ? nullptr : &found->second;
}

std::vector<std::pair<CommId, End>> Node::connected() const {
  std::vector<std::pair<CommId, End>> all;
  for (const auto& [id, c] : conversations_) {
    if (cm_.state(id) == CmState::kEstablished) all.emplace_back(id, peer_of(c));
  }
  return all;
}

void Node::start_connect(Instant now) {
  Conversation c;
  c.active = true;
  c.peer_node = random_.range32(0, options_->nodes - 1);
  c.local_qpn = new_qpn();
  CmReq req;
  req.service_id = service(random_.below(kServices));
  req.local_qpn = c.local_qpn;
  req.remote_cm_response_timeout = kResponse;
  req.local_cm_response_timeout = kResponse;
  req.max_cm_retries = options_->max_retries;
  req.primary.ack_timeout = kLifetime + 1;
  if (random_.percent(10)) req.transport = CmTransport::kUc;
  Flow flow;
  flow.source = node_gid(index_);
  flow.destination = node_gid(c.peer_node);
  const auto id = cm_.connect(req, flow, kLifetime, now);
  if (!id) {
    expect(cm_.size() >= options_->max_ids, "connect refused though there is room");
    return;
  }
  expect(conversations_.emplace(*id, c).second, "an id was given out twice");
  ledger_->asked(end_of(*id), c.local_qpn);
  if (random_.percent(options_->impatience / 4)) {
    soon(
        [this, id = *id](Instant t) {
          if (in(id, Phase::kConnecting)) destroy(id, t);
        },
        now);
  }
}

void Node::start_resolution(Instant now) {
  Conversation c;
  c.active = true;
  c.phase = Phase::kResolving;
  c.peer_node = random_.range32(0, options_->nodes - 1);
  CmSidrReq req;
  req.service_id = service(random_.below(kServices));
  Flow flow;
  flow.source = node_gid(index_);
  flow.destination = node_gid(c.peer_node);
  const auto id = cm_.resolve_service(req, flow, milliseconds(random_.range32(50, 2000)),
                                      options_->max_retries, now);
  if (!id) return;
  expect(conversations_.emplace(*id, c).second, "an id was given out twice");
}

void Node::receive(const OutgoingMad& mad, Instant now) {
  if (dead_) return;
  ++delivered_;
  cm_.receive(mad.mad, mad.flow, now);
}

void Node::run(Instant now) {
  cm_.advance(now);
  take_events(now);
  while (!actions_.empty() && actions_.begin()->first <= now) {
    const Action action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action(now);
    take_events(now);
  }
}

std::optional<Instant> Node::next() const {
  std::optional<Instant> next = cm_.next_deadline();
  if (!actions_.empty() && (!next || actions_.begin()->first < *next)) {
    next = actions_.begin()->first;
  }
  return next;
}

const OutgoingMad* Node::take_outgoing() {
  const OutgoingMad* mad = cm_.take_outgoing();
  if (mad == nullptr) return nullptr;
  ++taken_;
  count_requests(*mad);
  return mad;
}

/// What is repeated by time alone is not repeated more often than it may.
void Node::count_requests(const OutgoingMad& mad) {
  const auto message = parse_cm_message(mad.mad);
  expect(message.has_value(), "sends what cannot be parsed");
  if (!message) return;
  const CmAttribute attribute = attribute_of(message->body);
  if (attribute != CmAttribute::kReq && attribute != CmAttribute::kDreq &&
      attribute != CmAttribute::kSidrReq && attribute != CmAttribute::kLap) {
    return;
  }
  const auto* dreq = std::get_if<CmDreq>(&message->body);
  if (dreq != nullptr && dreq->remote_qpn == Qpn{kMulticastQpn}) return;  // a probe
  const uint32_t times = ++requests_[{message->transaction_id, attribute}];
  // A REQ that was corrupted may have asked for up to 15.
  const uint32_t most = options_->corruption > 0 ? 15U : options_->max_retries;
  expect(times <= 1 + most, "repeats a request too often");
}

std::vector<std::pair<uint32_t, Qpn>> Node::take_data() {
  return std::exchange(data_, {});
}

void Node::check_end() {
  take_events({});
  expect(cm_.size() == 0, std::to_string(cm_.size()) + " communications are left");
  expect(!cm_.next_deadline(), "a timer is left");
  expect(!cm_.has_event() && !cm_.has_outgoing(), "something is left in a queue");
  for (const auto& [id, c] : conversations_) {
    expect(false, std::string("a consumer is left ") + phase_name(c.phase));
  }
  const CmCounters& counters = cm_.counters();
  expect(sum(counters.received) + sum(counters.duplicates) + sum(counters.drops) == delivered_,
         "what was delivered is not what was counted");
  expect(sum(counters.sent) + sum(counters.retries) == taken_,
         "what was sent is not what was counted");
}

}  // namespace urxe::cmsim
