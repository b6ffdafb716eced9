// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/detail.h"

#include <fmt/format.h>

#include <sstream>

#include "packet/wire/ack_timeout.h"
#include "tools/stat/completion_queues.h"
#include "tools/stat/names.h"
#include "tools/stat/table.h"
#include "tools/stat/why.h"

namespace urxe::top {
namespace {

constexpr size_t kIndent = 12;

std::string fill_text(const QueueFill& fill) {
  return fmt::format("{} of {}", fill.waiting, fill.capacity);
}

std::string fill_text(const CqReport& cq) {
  if (cq.number == 0) return "none";
  return fmt::format("{} of {} (queue {}{})", cq.waiting, cq.capacity, cq.number,
                     cq.in_error ? ", overrun" : "");
}

std::string timeout_of(const QpReport& report) {
  if (report.timeout == 0 || report.timeout > kMaxTimeout) return "none";
  return stat::short_time(ack_timeout_of(report.timeout).ns);
}

std::string path_text(const QpReport& report) {
  if (!report.has_peer) return "none";
  return fmt::format("from {}, UDP port {}{}", report.local.to_string(), report.source_port,
                     report.is_paced ? ", at a limited rate" : "");
}

std::vector<std::string> facts_of(const QpReport& report) {
  const QpCounters& counters = report.counters;
  return {
      fmt::format("queues      send {}, receive {}{}", fill_text(report.send_queue),
                  fill_text(report.receive_queue), report.uses_srq ? " (shared)" : ""),
      fmt::format("completions send {}, receive {} not polled", fill_text(report.send_cq),
                  fill_text(report.receive_cq)),
      fmt::format("address     {}", path_text(report)),
      fmt::format("path        MTU {}, window {} of {} B used, round trip {}", report.mtu,
                  report.window_used, report.window,
                  report.round_trip_ns != 0 ? stat::short_time(report.round_trip_ns) : "unknown"),
      fmt::format("requests    {} packets outstanding, oldest PSN {}, next PSN {}",
                  report.outstanding, report.unacked_psn, report.next_psn),
      fmt::format("responder   expects PSN {}, {} READs and atomics to answer", report.expected_psn,
                  report.reads_owed),
      fmt::format("retries     ACK timeout {}, retry_cnt {}, rnr_retry {}", timeout_of(report),
                  report.retry_count, report.rnr_retry),
      fmt::format("sent        {} packets, {} B, {} requests completed", counters.sent_packets,
                  counters.sent_bytes, counters.sends_completed),
      fmt::format("received    {} packets, {} B, {} receives completed, {} requests executed",
                  counters.received_packets, counters.received_bytes, counters.receives_completed,
                  counters.requests_executed),
      fmt::format("trouble     {} packets sent again, {} timeouts, {} sequence NAKs",
                  counters.retransmitted_packets, counters.ack_timeouts,
                  counters.sequence_naks_received),
      fmt::format("            RNR NAKs: {} received, {} sent", counters.rnr_naks_received,
                  counters.rnr_naks_sent),
  };
}

/// Breaks the text if it is too long, and indents what follows.
void add_text(const std::string& text, size_t columns, std::vector<Line>& lines) {
  const size_t width = std::max(columns, 2 * kIndent);
  std::istringstream input(text);
  std::string line;
  while (std::getline(input, line)) {
    while (line.size() > width) {
      size_t cut = line.rfind(' ', width);
      if (cut == std::string::npos || cut <= kIndent) cut = width;
      lines.push_back({line.substr(0, cut), {}});
      line = std::string(kIndent, ' ') + line.substr(line[cut] == ' ' ? cut + 1 : cut);
    }
    lines.push_back({line, {}});
  }
}

void add_completion_queues(const DeviceObservation& device, size_t columns,
                           std::vector<Line>& lines) {
  for (const auto& [cq, users] : stat::completion_queues_of(device)) {
    const std::string_view state = stat::cq_state(cq);
    add_text(
        fmt::format("completion queue {}: {} of {} not polled, of {} queue pairs{}{}", cq.number,
                    cq.waiting, cq.capacity, users, state.empty() ? "" : ", ", state),
        columns, lines);
  }
}

void add_device(const DeviceObservation& device, const Looks& looks, size_t columns,
                std::vector<Line>& lines) {
  add_text(fmt::format("{}, process {}, device {}, engine {}: {} queue pairs",
                       stat::printable(device.program), device.pid, stat::printable(device.device),
                       stat::printable(device.engine), device.queue_pairs.size()),
           columns, lines);
  add_text("last told " + stat::age_of(device) + " ago" +
               (is_stopped(device) ? ": the process is stopped" : ""),
           columns, lines);
  add_completion_queues(device, columns, lines);
  lines.emplace_back();
  lines.push_back({headings(Lines::kQueuePairs, columns), Style::kHeading});
  for (const Row& one : rows_of(looks, device)) {
    lines.push_back({cells(one, columns), one.has_failed ? Style::kError : Style::kPlain});
  }
}

void add_sum(const Row& row, const Looks& looks, size_t columns, std::vector<Line>& lines) {
  for (const DeviceObservation* device : row.group) {
    if (device != row.group.front()) lines.emplace_back();
    add_device(*device, looks, columns, lines);
  }
}

}  // namespace

void add_detail(const Row& row, const Looks& looks, size_t columns, std::vector<Line>& lines) {
  if (row.report == nullptr) return add_sum(row, looks, columns, lines);
  add_text(stat::explain(*row.group.front(), *row.report), columns, lines);
  lines.emplace_back();
  for (const std::string& fact : facts_of(*row.report)) add_text(fact, columns, lines);
}

}  // namespace urxe::top
