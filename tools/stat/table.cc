// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "provider/observation/explanation.h"
#include "tools/stat/columns.h"
#include "tools/stat/names.h"
#include "tools/stat/rates.h"

namespace urxe::stat {
namespace {

constexpr double kStep = 1000;

/// What is counted: what is so far, or what there was in a second.
struct Amounts {
  std::string sent, received, messages, resent, timeouts, rnr_naks;
};

Amounts amounts_of(const Observation* before, const DeviceObservation& device,
                   const QpReport& report) {
  const auto rates = before != nullptr ? rates_of(*before, device, report) : totals_of(report);
  if (!rates) return {"-", "-", "-", "-", "-", "-"};
  return {short_number(rates->sent_bytes), short_number(rates->received_bytes),
          short_number(rates->messages),   short_number(rates->resent),
          short_number(rates->timeouts),   short_number(rates->rnr_naks)};
}

std::string round_trip_of(const QpReport& report) {
  return report.round_trip_ns != 0 ? brief_time(report.round_trip_ns) : "";
}

Row row_of(const DeviceObservation& device, const QpReport& report, const Amounts& amounts) {
  return {printable(device.program),
          fmt::format("{}", device.pid),
          qpn_name(report.qpn),
          std::string(type_name(report.type)),
          std::string(state_name(report.state)),
          amounts.sent,
          amounts.received,
          amounts.messages,
          amounts.resent,
          round_trip_of(report),
          condition_of(device, report)};
}

Row wide_row_of(const DeviceObservation& device, const QpReport& report, const Amounts& amounts) {
  return {printable(device.program),
          printable(device.device),
          peer_of(report),
          fmt::format("{}", device.pid),
          qpn_name(report.qpn),
          std::string(type_name(report.type)),
          std::string(state_name(report.state)),
          report.mtu != 0 ? fmt::format("{}", report.mtu) : "",
          amounts.sent,
          amounts.received,
          amounts.messages,
          amounts.resent,
          amounts.timeouts,
          amounts.rnr_naks,
          fmt::format("{}", report.send_queue.waiting),
          fmt::format("{}", report.receive_queue.waiting),
          fmt::format("{}", report.outstanding),
          window_of(report),
          round_trip_of(report),
          last_error_of(device, report),
          long_condition_of(device, report)};
}

std::string make_table(const Observation& seen, const Observation* before, Row headings,
                       const Layout& layout,
                       Row (*make_row)(const DeviceObservation&, const QpReport&, const Amounts&)) {
  std::vector<Row> rows{std::move(headings)};
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      rows.push_back(make_row(device, report, amounts_of(before, device, report)));
    }
  }
  return format_rows(std::move(rows), layout);
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
  ShortText text;
  add_time(text, ns);
  return std::string(text.view());
}

std::string brief_time(int64_t ns) {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {1e3, "ns"}, {1e3, "us"}, {1e3, "ms"}, {100, "s"}, {60, "m"}, {48, "h"}, {1e9, "d"}};
  constexpr double kSizes[] = {1, 1e3, 1e6, 1e9, 60e9, 3600e9, 86400e9};
  size_t unit = 0;
  const auto value = [&] { return static_cast<double>(ns) / kSizes[unit]; };
  while (unit + 1 < std::size(kUnits) && value() >= kUnits[unit].first - 0.5) ++unit;
  const bool has_fraction = unit > 0 && value() < 9.95;
  return fmt::format("{:.{}f}{}", value(), has_fraction ? 1 : 0, kUnits[unit].second);
}

std::string window_of(const QpReport& report) {
  if (report.window == 0) return "";
  return short_number(static_cast<double>(report.window_used)) + "/" +
         short_number(static_cast<double>(report.window));
}

std::string age_of(const DeviceObservation& device) {
  return brief_time(std::max<int64_t>((device.observed - device.published).ns, 0));
}

std::string peer_of(const QpReport& report) {
  if (!report.has_peer) return "";
  return report.remote.to_string() + " " + qpn_name(report.dest_qpn);
}

std::string condition_of(const DeviceObservation& device, const QpReport& report) {
  if (is_stopped(device)) return "stopped " + age_of(device);
  if (report.cause.reason != ErrorReason::kNone) {
    return std::string(reason_name(report.cause.reason));
  }
  return std::string(wait_name(report.waits_for));
}

std::string long_condition_of(const DeviceObservation& device, const QpReport& report) {
  std::string condition = condition_of(device, report);
  if (is_stopped(device) || report.cause.reason == ErrorReason::kNone) return condition;
  const std::string_view check = check_name(report.cause.check);
  return "error: " + condition + (check.empty() ? "" : " (" + std::string(check) + ")");
}

std::string last_error_of(const DeviceObservation& device, const QpReport& report) {
  const ErrorCause* last = &report.cause;
  for (const ErrorCause* other : {&report.last_error, &report.trouble}) {
    if (!is_failure(*last) || (is_failure(*other) && other->at > last->at)) last = other;
  }
  if (!is_failure(*last)) return "";
  return fmt::format("{} {}", reason_name(last->reason),
                     brief_time(std::max<int64_t>((device.observed - last->at).ns, 0)));
}

std::string table_report(const Observation& seen, const Observation* before) {
  return make_table(seen, before,
                    {"PROGRAM", "PID", "QPN", "TYPE", "STATE", "SENT", "RCVD", "MSGS", "RESENT",
                     "RTT", "WAITS FOR"},
                    {.text_columns = 1, .gap = 1, .columns = kScreen}, row_of);
}

std::string wide_report(const Observation& seen, const Observation* before) {
  return make_table(seen, before,
                    {"PROGRAM", "DEVICE", "PEER", "PID",    "QPN",    "TYPE",       "STATE",
                     "MTU",     "SENT",   "RCVD", "MSGS",   "RESENT", "TIMEOUTS",   "RNR",
                     "SENDS",   "RECVS",  "OUT",  "WINDOW", "RTT",    "LAST ERROR", "WAITS FOR"},
                    {.text_columns = 3}, wide_row_of);
}

}  // namespace urxe::stat
