// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "tools/stat/names.h"
#include "tools/stat/table.h"

namespace urxe::top {
namespace {

/// The addresses have room on wide screens only.
constexpr size_t kWide = 120;
/// The check that failed, too.
constexpr size_t kWidest = 140;

Row row_of(const Looks& looks, const DeviceObservation& device, const QpReport& report) {
  Row row;
  row.device = &device;
  row.report = &report;
  row.rates = stat::rates_of(looks.before, device, report).value_or(stat::Rates{});
  row.round_trip_ns = report.round_trip_ns;
  row.condition = stat::condition_of(device, report);
  row.long_condition = stat::long_condition_of(device, report);
  row.has_failed = is_failure(report.cause);
  return row;
}

void add(stat::Rates& sum, const stat::Rates& rates) {
  sum.sent_bytes += rates.sent_bytes;
  sum.received_bytes += rates.received_bytes;
  sum.messages += rates.messages;
  sum.resent += rates.resent;
}

Row sum_of(const Looks& looks, const DeviceObservation& device) {
  Row sum;
  sum.device = &device;
  sum.queue_pairs = device.queue_pairs.size();
  size_t failed = 0;
  for (const QpReport& report : device.queue_pairs) {
    const Row one = row_of(looks, device, report);
    add(sum.rates, one.rates);
    sum.round_trip_ns = std::max(sum.round_trip_ns, one.round_trip_ns);
    failed += one.has_failed ? 1 : 0;
  }
  sum.has_failed = failed != 0;
  if (failed != 0) sum.condition = fmt::format("{} failed", failed);
  if (is_stopped(device)) sum.condition = "stopped " + stat::age_of(device);
  sum.long_condition = sum.condition;
  return sum;
}

double traffic_of(const Row& row) {
  return row.rates.sent_bytes + row.rates.received_bytes;
}

/// What tells lines apart, and orders those that are equal otherwise.
auto name_of(const Row& row) {
  return std::tuple(row.device->pid, std::string_view(row.device->device),
                    row.report != nullptr ? row.report->qpn : 0);
}

bool comes_before(Order order, const Row& a, const Row& b) {
  const auto compare = [&](auto&& key) {
    return std::tuple(-key(a), name_of(a)) < std::tuple(-key(b), name_of(b));
  };
  switch (order) {
    case Order::kMessages:
      return compare([](const Row& row) { return row.rates.messages; });
    case Order::kResent:
      return compare([](const Row& row) { return row.rates.resent; });
    case Order::kRoundTrip:
      return compare([](const Row& row) { return row.round_trip_ns; });
    case Order::kProgram:
      return std::tuple(std::string_view(a.device->program), name_of(a)) <
             std::tuple(std::string_view(b.device->program), name_of(b));
    case Order::kProcess:
      return name_of(a) < name_of(b);
    default:
      return compare(traffic_of);
  }
}

std::string rate(double value) {
  return value != 0 ? stat::short_number(value) : "-";
}

std::string queue_pair_cell(const Row& row) {
  return row.report != nullptr ? stat::qpn_name(row.report->qpn)
                               : fmt::format("{}", row.queue_pairs);
}

std::string format_line(const std::vector<std::string>& cells, bool is_wide) {
  std::string line = fmt::format("{:<10.10} {:>7} {:>8} {:<5} {:<5} ", cells[0], cells[1], cells[2],
                                 cells[3], cells[4]);
  if (is_wide) line += fmt::format("{:<12.12} {:<26.26} ", cells[5], cells[6]);
  return line + fmt::format("{:>4} {:>4} {:>4} {:>5} {:>5} {}", cells[7], cells[8], cells[9],
                            cells[10], cells[11], cells[12]);
}

}  // namespace

std::vector<Row> rows_of(const Looks& looks, const DeviceObservation& device) {
  std::vector<Row> rows;
  for (const QpReport& report : device.queue_pairs) rows.push_back(row_of(looks, device, report));
  return rows;
}

std::vector<Row> make_rows(const View& view, const Looks& looks) {
  std::vector<Row> rows;
  for (const DeviceObservation& device : looks.now.devices) {
    if (view.by_device) {
      rows.push_back(sum_of(looks, device));
      continue;
    }
    std::ranges::move(rows_of(looks, device), std::back_inserter(rows));
  }
  std::erase_if(rows, [&](const Row& row) {
    return cells(row, SIZE_MAX).find(view.filter) == std::string::npos;
  });
  std::ranges::sort(rows,
                    [&](const Row& a, const Row& b) { return comes_before(view.order, a, b); });
  return rows;
}

std::string headings(const View& view, size_t columns) {
  return format_line({"PROGRAM", "PID", view.by_device ? "QPS" : "QPN", "TYPE", "STATE", "DEVICE",
                      "PEER", "SENT", "RCVD", "MSGS", "AGAIN", "RTT", "WAITS FOR"},
                     columns >= kWide);
}

std::string cells(const Row& row, size_t columns) {
  const QpReport* const report = row.report;
  return format_line(
      {stat::printable(row.device->program), fmt::format("{}", row.device->pid),
       queue_pair_cell(row), std::string(report != nullptr ? type_name(report->type) : ""),
       std::string(report != nullptr ? state_name(report->state) : ""),
       stat::printable(row.device->device), report != nullptr ? stat::peer_of(*report) : "",
       rate(row.rates.sent_bytes), rate(row.rates.received_bytes), rate(row.rates.messages),
       rate(row.rates.resent), row.round_trip_ns != 0 ? stat::brief_time(row.round_trip_ns) : "-",
       columns >= kWidest ? row.long_condition : row.condition},
      columns >= kWide);
}

}  // namespace urxe::top
