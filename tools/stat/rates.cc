// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/rates.h"

#include <algorithm>

#include "tools/stat/names.h"

namespace urxe::stat {
namespace {

const QpReport* find_before(const DeviceObservation& device, uint32_t qpn) {
  const auto found = std::ranges::find(device.queue_pairs, qpn, &QpReport::qpn);
  return found != device.queue_pairs.end() ? &*found : nullptr;
}

double per_second(uint64_t before, uint64_t now, double seconds) {
  return now >= before ? static_cast<double>(now - before) / seconds : 0;
}

uint64_t messages_of(const QpReport& report) {
  const QpCounters& counters = report.counters;
  return counters.sends_completed + counters.receives_completed + counters.requests_executed;
}

uint64_t rnr_naks_of(const QpReport& report) {
  return report.counters.rnr_naks_received + report.counters.rnr_naks_sent;
}

}  // namespace

Rates& Rates::operator+=(const Rates& other) {
  sent_bytes += other.sent_bytes;
  received_bytes += other.received_bytes;
  messages += other.messages;
  resent += other.resent;
  timeouts += other.timeouts;
  rnr_naks += other.rnr_naks;
  return *this;
}

Rates totals_of(const QpReport& report) {
  const QpCounters& counters = report.counters;
  return {static_cast<double>(counters.sent_bytes),
          static_cast<double>(counters.received_bytes),
          static_cast<double>(messages_of(report)),
          static_cast<double>(counters.retransmitted_packets),
          static_cast<double>(counters.ack_timeouts),
          static_cast<double>(rnr_naks_of(report))};
}

std::optional<Rates> rates_of(const Observation& before, const DeviceObservation& device,
                              const QpReport& report) {
  const auto same = std::ranges::find_if(before.devices, [&](const DeviceObservation& earlier) {
    return process_of(earlier) == process_of(device) && earlier.device == device.device &&
           earlier.started == device.started;
  });
  if (same == before.devices.end()) return std::nullopt;
  const QpReport* const was = find_before(*same, report.qpn);
  const Duration passed = device.observed - same->observed;
  if (was == nullptr || passed.ns <= 0) return std::nullopt;
  const double seconds = to_seconds(passed.ns);
  const QpCounters& old = was->counters;
  const QpCounters& now = report.counters;
  return Rates{per_second(old.sent_bytes, now.sent_bytes, seconds),
               per_second(old.received_bytes, now.received_bytes, seconds),
               per_second(messages_of(*was), messages_of(report), seconds),
               per_second(old.retransmitted_packets, now.retransmitted_packets, seconds),
               per_second(old.ack_timeouts, now.ack_timeouts, seconds),
               per_second(rnr_naks_of(*was), rnr_naks_of(report), seconds)};
}

}  // namespace urxe::stat
