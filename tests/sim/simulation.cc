// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "packet/wire/text/format.h"
#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr uint64_t kMaxEvents = 3000000;
constexpr uint64_t kMemoryCheckInterval = 1024;  ///< packets

Gid host_gid(size_t index, size_t path, bool ipv6) {
  const auto last = static_cast<uint8_t>(index + 1 + path * 100);
  if (!ipv6) {
    const uint8_t address[4] = {192, 0, 2, last};
    return Gid::from_ipv4(address);
  }
  const uint8_t address[16] = {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
  return Gid::from_ipv6(address);
}

const char* fate_name(Network::Fate fate) {
  switch (fate) {
    case Network::Fate::kLost:
      return " LOST";
    case Network::Fate::kQueueFull:
      return " QUEUE FULL";
    case Network::Fate::kDuplicated:
      return " DUPLICATED";
    case Network::Fate::kCorrupted:
      return " CORRUPTED";
    case Network::Fate::kSent:
      break;
  }
  return "";
}

}  // namespace

Simulation::Simulation(const Plan& plan, bool verbose)
    : plan_(plan),
      verbose_(verbose),
      random_(Random::mix(plan.seed) + 7),
      network_(plan.network, plan.hosts, random_.fork()),
      topology_(plan_, hosts_, oracle_, random_.fork()) {
  create_hosts();
  connect_all();
}

void Simulation::create_hosts() {
  for (size_t i = 0; i < plan_.hosts; ++i) {
    hosts_.push_back(std::make_unique<Host>(
        plan_, i, std::array{host_gid(i, 0, plan_.ipv6), host_gid(i, 1, plan_.ipv6)},
        random_.fork(),
        [this](size_t host, const Packet& packet, Instant now) { transmit(host, packet, now); },
        [this](size_t host, const Packet& packet) { observe(host, packet); }));
    hosts_.back()->create_shared_counter();
  }
}

void Simulation::connect_all() {
  topology_.connect_all();
  for (const auto& host : hosts_) {
    host->post_receives();
    host->wake_at(now_);
  }
}

/// Those that a packet to the address gets to; of a group the sender's may be one.
std::vector<size_t> Simulation::hosts_of(const Gid& gid) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i]->has(gid) || hosts_[i]->device().multicast().has(gid)) found.push_back(i);
  }
  require(!found.empty() || gid.is_multicast(),
          [] { return std::string("wire: a packet to an address that nobody has"); });
  return found;
}

void Simulation::transmit(size_t host, const Packet& packet, Instant now) {
  ++outcome_.packets;
  const auto view = parse(packet.view());
  require(view.has_value(), [&] {
    return text("wire: an emitted packet is invalid: %s",
                std::string(drop_reason_name(view.error())).c_str());
  });
  // Queries and answers about room come from the port that a host receives on.
  const Opcode opcode = view->headers.bth.opcode;
  const bool is_drain = opcode == kDrainQueryOpcode || opcode == kDrainAnswerOpcode;
  const uint16_t port = packet.flow.source_port;
  require(hosts_[host]->has(packet.flow.source) &&
              (is_drain ? port == kRoceUdpPort : port >= kFirstSourcePort),
          [] { return std::string("wire: wrong source address or port"); });
  const std::vector<size_t> receivers = hosts_of(packet.flow.destination);
  uint64_t tail = 0;
  std::memcpy(&tail, packet.bytes.data() + packet.bytes.size() - 8, 8);
  outcome_.digest =
      Random::mix(outcome_.digest ^ static_cast<uint64_t>(now.ns) ^ tail) + packet.bytes.size();
  const std::string line = verbose_ ? format(*view) : std::string();
  const size_t ip_udp_bytes = plan_.ipv6 ? 48 : 28;
  oracle_.on_sent(host, receivers.empty() ? host : receivers.front(), *view,
                  packet.bytes.size() + ip_udp_bytes, now);
  Packet sent = packet;
  sent.sending = ++sendings_;
  if (tap_ != nullptr) tap_->on_sent(host, sent, now);
  for (const size_t to : receivers) {
    const bool cut = cut_ && packet.flow.source == hosts_[host]->gid();
    const Network::Fate fate = cut ? Network::Fate::kLost : network_.send(host, to, sent, now);
    if (verbose_) {
      std::printf("%12lld  %zu>%zu %s%s\n", static_cast<long long>(now.ns), host, to, line.c_str(),
                  fate_name(fate));
    }
  }
}

void Simulation::observe(size_t host, const Packet& packet) {
  const auto view = parse(packet.view());
  require(view.has_value() != packet.corrupted, [&] {
    return std::string(packet.corrupted ? "a corrupted packet passed the ICRC"
                                        : "a good packet did not parse");
  });
  if (!view) return;
  if (verbose_) {
    std::printf("%12lld   %zu< %s\n", static_cast<long long>(now_.ns), host, format(*view).c_str());
  }
  oracle_.on_received(host, *view);
}

std::optional<Instant> Simulation::next_event() const {
  std::optional<Instant> next = network_.next_arrival();
  for (const auto& host : hosts_) {
    const auto wake = host->wake_time();
    if (wake && (!next || *wake < *next)) next = wake;
  }
  return next;
}

bool Simulation::step(Instant until) {
  const auto next = next_event();
  if (!next || *next > until) return false;
  now_ = std::max(now_, *next);
  while (network_.next_arrival() && *network_.next_arrival() <= now_) {
    Network::Arrival arrival = network_.take();
    if (tap_ != nullptr) tap_->on_arrival(arrival.host, arrival.packet, now_);
    if (!hosts_[arrival.host]->arrive(std::move(arrival.packet), now_) && verbose_) {
      std::printf("%12lld   %zu  RECEIVE BUFFER FULL\n", static_cast<long long>(now_.ns),
                  arrival.host);
    }
  }
  drive_due_hosts();
  return true;
}

void Simulation::drive_due_hosts() {
  for (const auto& host : hosts_) {
    if (host->wake_time() && *host->wake_time() <= now_) host->drive(now_);
  }
}

bool Simulation::all_idle() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->idle(); });
}

void Simulation::check_memory() {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const std::string damage = hosts_[i]->memory().find_damage();
    require(damage.empty(), [&] { return text("host %zu %s", i, damage.c_str()); });
  }
}

void Simulation::cut_if_due() {
  if (cut_ || !cut_at_ || now_ < *cut_at_) return;
  cut_ = true;
  for (const auto& host : hosts_) host->on_cut();
}

void Simulation::run_safety_phase() {
  // Until the requests are used up or the time is, whichever comes first.
  const Instant end = now_ + milliseconds(static_cast<int64_t>(random_.range(2, 400)));
  const auto length = static_cast<uint64_t>((end - now_).ns);
  if (plan_.cut) cut_at_ = now_ + nanoseconds(static_cast<int64_t>(random_.below(length) / 4));
  uint64_t events = 0;
  uint64_t checked = 0;
  while (!all_idle() && step(end)) {
    cut_if_due();
    require(++events < kMaxEvents, [] { return std::string("too many events: a livelock"); });
    if (outcome_.packets - checked >= kMemoryCheckInterval) {
      checked = outcome_.packets;
      check_memory();
    }
  }
}

void Simulation::explain_stall() const {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    for (const auto& endpoint : hosts_[i]->endpoints()) {
      std::printf("host %zu %s", i, endpoint->describe().c_str());
    }
  }
}

void Simulation::finish_all() {
  const Instant end = now_ + seconds(60);
  uint64_t events = 0;
  while (!all_idle()) {
    const bool stepped = step(end);
    if (!stepped) explain_stall();
    require(stepped, [&] {
      return std::string(next_event() ? "liveness: not finished in 60 s without faults"
                                      : "liveness: nothing will ever happen again");
    });
    require(++events < kMaxEvents, [] { return std::string("too many events: a livelock"); });
  }
  // What is still on its way (duplicates, late ACKs) must do no harm.
  const Instant quiet = now_ + seconds(2);
  while (step(quiet)) {
    require(++events < kMaxEvents, [] { return std::string("too many events: a livelock"); });
  }
}

void Simulation::run_liveness_phase() {
  network_.end_faults();
  for (const auto& host : hosts_) {
    host->calm_down();
    host->wake_at(now_);
  }
  finish_all();
  // From here on even an unreliable service loses nothing.
  cut_ = false;
  network_.end_limits();
  for (const auto& host : hosts_) {
    host->post_last();
    host->wake_at(now_);
  }
  finish_all();
}

void Simulation::flush_all() {
  for (const auto& host : hosts_) host->flush(now_);
  const Instant end = now_ + seconds(1);
  while (step(end)) {
  }
  for (const auto& host : hosts_) host->check_flushed();
}

Outcome Simulation::run() {
  run_safety_phase();
  check_memory();
  run_liveness_phase();
  check_memory();
  for (const auto& host : hosts_) host->check_end();
  for (const auto& host : hosts_) {
    for (const auto& endpoint : host->endpoints()) {
      outcome_.failed_sides += endpoint->failed() ? 1 : 0;
    }
  }
  flush_all();
  check_memory();
  for (const auto& host : hosts_) {
    outcome_.completions += host->completions();
    outcome_.digest = Random::mix(outcome_.digest + host->digest());
  }
  outcome_.retransmissions = oracle_.retransmissions();
  outcome_.end = now_;
  return outcome_;
}

}  // namespace urxe::sim
