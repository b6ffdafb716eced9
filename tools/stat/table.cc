// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/stat/names.h"
#include "tools/stat/rates.h"

namespace urxe::stat {
namespace {

using Row = std::vector<std::string>;

constexpr double kStep = 1000;
constexpr int64_t kUsNs = 1000;
constexpr int64_t kMsNs = 1'000'000;
constexpr size_t kTextColumns = 3;  // to the left; numbers are to the right

std::string amount(uint64_t total, std::optional<double> rate) {
  return rate ? short_number(*rate) + "/s" : short_number(static_cast<double>(total));
}

Row row_of(const DeviceObservation& device, const QpReport& report,
           const std::optional<Rates>& rates) {
  const QpCounters& counters = report.counters;
  const auto pick = [&](double Rates::*which) {
    return rates ? std::optional((*rates).*which) : std::nullopt;
  };
  return {printable(device.program),
          printable(device.device),
          peer_of(report),
          fmt::format("{}", device.pid),
          number_name(report.qpn),
          std::string(type_name(report.type)),
          std::string(state_name(report.state)),
          report.mtu != 0 ? fmt::format("{}", report.mtu) : "",
          amount(counters.sent_bytes, pick(&Rates::sent_bytes)),
          amount(counters.received_bytes, pick(&Rates::received_bytes)),
          amount(messages_of(report), pick(&Rates::messages)),
          amount(counters.retransmitted_packets, pick(&Rates::resent)),
          short_number(static_cast<double>(counters.ack_timeouts)),
          short_number(static_cast<double>(counters.rnr_naks_received + counters.rnr_naks_sent)),
          fmt::format("{}", report.send_queue.waiting),
          fmt::format("{}", report.receive_queue.waiting),
          report.round_trip_ns != 0 ? short_time(report.round_trip_ns) : "",
          condition_of(report)};
}

const Row& headings() {
  static const Row row{"PROGRAM",  "DEVICE", "PEER",  "PID",   "QPN",      "TYPE",
                       "STATE",    "MTU",    "SENT",  "RCVD",  "MESSAGES", "RESENT",
                       "TIMEOUTS", "RNR",    "SENDS", "RECVS", "RTT",      "WAITS FOR"};
  return row;
}

std::string format_rows(const std::vector<Row>& rows) {
  std::vector<size_t> widths(headings().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      line += i < kTextColumns ? fmt::format("{:<{}}  ", row[i], widths[i])
                               : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line += row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string short_number(double value) {
  constexpr std::string_view kUnits = " kMGTPE";
  size_t unit = 0;
  while (value >= kStep - 0.5 && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string short_time(int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < kUsNs) return fmt::format("{}ns", ns);
  if (ns < kMsNs) return fmt::format("{:.1f}us", value / static_cast<double>(kUsNs));
  return fmt::format("{:.1f}ms", value / static_cast<double>(kMsNs));
}

std::string peer_of(const QpReport& report) {
  if (!report.has_peer) return "";
  return report.remote.to_string() + " " + number_name(report.dest_qpn);
}

std::string condition_of(const QpReport& report) {
  if (report.cause.reason != ErrorReason::kNone) {
    const std::string_view check = check_name(report.cause.check);
    const std::string reason = "error: " + std::string(reason_name(report.cause.reason));
    return check.empty() ? reason : reason + " (" + std::string(check) + ")";
  }
  return std::string(wait_name(report.waits_for));
}

std::string table_report(const Observation& seen, const Observation* before) {
  std::vector<Row> rows{headings()};
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      const auto rates = before != nullptr ? rates_of(*before, device, report) : std::nullopt;
      rows.push_back(row_of(device, report, rates));
    }
  }
  return format_rows(rows);
}

}  // namespace urxe::stat
