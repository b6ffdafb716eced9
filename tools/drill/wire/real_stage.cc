// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/real_stage.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "packet/host/clock.h"

namespace urxe::drill {
namespace {

constexpr Duration kBetweenQuestions = milliseconds(2);
/// So often the agent hears of a client that only waits.
constexpr Duration kSignOfLife = seconds(1);

}  // namespace

size_t index_in(const Script& script, const Statement& statement) {
  const auto found = std::find_if(script.statements.begin(), script.statements.end(),
                                  [&](const Statement& s) { return s.line == statement.line; });
  return static_cast<size_t>(found - script.statements.begin());
}

Outcome send_packet(WireSocket& socket, std::span<const uint8_t> packet) {
  const int wrong = socket.send(packet);
  if (wrong == 0) return {};
  if (wrong == EMSGSIZE) {
    return {Outcome::Kind::kImpossible,
            fmt::format("an MTU of the path that takes packets of {} bytes", packet.size())};
  }
  return {Outcome::Kind::kRefused, fmt::format("it cannot be sent: {}", std::strerror(wrong))};
}

Instant RealStage::now() const {
  return clock_now();
}

void RealStage::take_reports() {
  const auto reports = agent_.poll();
  completions.insert(completions.end(), reports.completions.begin(), reports.completions.end());
  events.insert(events.end(), reports.events.begin(), reports.events.end());
}

void RealStage::settle() {
  take_packets();
  take_reports();
}

void RealStage::wait(Instant end) {
  const Duration left = std::clamp(end - clock_now(), Duration{}, kSignOfLife);
  pollfd entries[] = {{socket_.fd(), POLLIN, 0}, {agent_.fd(), POLLIN, 0}};
  const timespec limit{left.ns / 1'000'000'000, left.ns % 1'000'000'000};
  const int ready = ppoll(entries, std::size(entries), &limit, nullptr);
  if (ready > 0 && entries[1].revents != 0) agent_.fail("it has left");
  take_packets();
}

void RealStage::pass_until(Instant end, bool until_sent) {
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

void RealStage::await(const std::function<bool()>& holds) {
  await_until(clock_now() + patience_, holds);
}

void RealStage::await_event(Instant end) {
  await_until(end + patience_, [this] { return !events.empty(); });
}

void RealStage::await_until(Instant end, const std::function<bool()>& holds) {
  for (;;) {
    settle();
    if (holds() || clock_now() >= end) return;
    // A packet ends a wait early, which does no harm.
    wait(clock_now() + kBetweenQuestions);
  }
}

Window RealStage::window(const std::optional<When>& when, Instant base) {
  if (!when) return {base, base + patience_};
  return {base + nanoseconds(when->earliest.ns / 2),
          base + when->latest + nanoseconds(when->latest.ns / 2) + patience_};
}

}  // namespace urxe::drill
