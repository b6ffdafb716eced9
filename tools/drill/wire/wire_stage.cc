// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/wire_stage.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/host/clock.h"
#include "packet/wire/icrc.h"
#include "tools/drill/qp_attributes.h"

namespace urxe::drill {
namespace {

constexpr Duration kBetweenQuestions = milliseconds(2);
/// So often the agent hears of a client that only waits.
constexpr Duration kSignOfLife = seconds(1);
constexpr size_t kMostPackets = 4096;

uint32_t destination_of(const std::vector<uint8_t>& packet) {
  return load_be32(packet.data() + 4) & 0xffffffU;
}

}  // namespace

WireStage::WireStage(const Script& script, AgentClient& agent, WireSocket& socket,
                     uint32_t peer_qpn, Duration patience)
    : script_(script), agent_(agent), socket_(socket), peer_qpn_(peer_qpn), patience_(patience) {
  agent_.begin(script, peer_qpn, socket.flow().source);
}

Instant WireStage::now() const {
  return clock_now();
}

Names WireStage::names() const {
  const auto key_of = [this](const Word& word) {
    const auto found = keys_.find(word.text);
    return found == keys_.end() ? static_cast<uint32_t>(word.number) : found->second;
  };
  return {key_of, qpn_, peer_qpn_};
}

Outcome WireStage::act(const Statement& statement) {
  if (statement.verb == Verb::kIn) return packet_in(statement);
  const auto found = std::find_if(script_.statements.begin(), script_.statements.end(),
                                  [&](const Statement& s) { return s.line == statement.line; });
  const auto done = agent_.do_statement(static_cast<size_t>(found - script_.statements.begin()));
  if (statement.verb == Verb::kQp) {
    qpn_ = done.value;
    qkey_ = attributes(statement, {}, 0).qkey;
  }
  if (statement.verb == Verb::kRegion) keys_[statement.subject] = done.value;
  return done.outcome;
}

Outcome WireStage::packet_in(const Statement& statement) {
  Headers defaults;
  defaults.bth.dest_qp = Qpn{qpn_};
  defaults.aeth.syndrome = 0x1f;  // no credits
  defaults.deth = {QKey(qkey_), Qpn{peer_qpn_}};
  const auto bytes = build_packet(statement, socket_.flow(), defaults, names());
  const int wrong = socket_.send(bytes);
  if (wrong == 0) return {};
  if (wrong == EMSGSIZE) {
    return {Outcome::Kind::kImpossible,
            fmt::format("an MTU of the path that takes packets of {} bytes", bytes.size())};
  }
  return {Outcome::Kind::kRefused, fmt::format("it cannot be sent: {}", std::strerror(wrong))};
}

bool WireStage::is_repeat(const SentPacket& packet) {
  std::string bytes(packet.bytes.begin(), packet.bytes.end());
  if (bytes.size() < kBthBytes + kIcrcBytes || !opcode_info(Opcode(packet.bytes[0])).is_request) {
    return false;
  }
  // AckReq may be another one; the ICRC covers the identification, which counts.
  bytes[8] = static_cast<char>(bytes[8] & 0x7f);
  bytes.resize(bytes.size() - kIcrcBytes);
  return !requests_.insert(std::move(bytes)).second;
}

void WireStage::take_packets() {
  while (auto packet = socket_.receive()) {
    const bool is_ours =
        packet->bytes.size() >= kBthBytes && destination_of(packet->bytes) == peer_qpn_;
    if (!is_ours || sent.size() >= kMostPackets) continue;
    packet->is_repeat = is_repeat(*packet);
    sent.push_back(std::move(*packet));
  }
}

void WireStage::take_reports() {
  const auto reports = agent_.poll();
  completions.insert(completions.end(), reports.completions.begin(), reports.completions.end());
  events.insert(events.end(), reports.events.begin(), reports.events.end());
}

void WireStage::settle() {
  take_packets();
  take_reports();
}

void WireStage::wait(Instant end) {
  const Duration left = std::clamp(end - clock_now(), Duration{}, kSignOfLife);
  pollfd entries[] = {{socket_.fd(), POLLIN, 0}, {agent_.fd(), POLLIN, 0}};
  const timespec limit{left.ns / 1'000'000'000, left.ns % 1'000'000'000};
  const int ready = ppoll(entries, std::size(entries), &limit, nullptr);
  if (ready > 0 && entries[1].revents != 0) agent_.fail("it has left");
  take_packets();
}

void WireStage::pass_until(Instant end, bool until_sent) {
  take_packets();
  Instant last_sign = clock_now();
  while (!(until_sent && !sent.empty())) {
    const Instant now = clock_now();
    if (now >= end) break;
    if (now - last_sign >= kSignOfLife) {
      take_reports();
      last_sign = now;
    }
    wait(end);
  }
  if (!until_sent) settle();
}

void WireStage::await(const std::function<bool()>& holds) {
  const Instant end = clock_now() + patience_;
  for (;;) {
    settle();
    if (holds() || clock_now() >= end) return;
    // A packet ends a wait early, which does no harm.
    wait(clock_now() + kBetweenQuestions);
  }
}

Window WireStage::window(const std::optional<When>& when, Instant base) {
  if (!when) return {base, base + patience_};
  return {base + nanoseconds(when->earliest.ns / 2),
          base + when->latest + nanoseconds(when->latest.ns / 2) + patience_};
}

}  // namespace urxe::drill
