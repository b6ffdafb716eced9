// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
constexpr size_t kWider = 140;
/// The last error, too.
constexpr size_t kWidest = 160;
/// Packets without an answer and the window, too.
constexpr size_t kWidestOfAll = 180;

Row row_of(const Looks& looks, const DeviceObservation& device, const QpReport& report) {
  Row row;
  row.group = {&device};
  row.report = &report;
  row.name = stat::printable(device.program);
  row.process = fmt::format("{}", device.pid);
  row.device = stat::printable(device.device);
  row.rates = stat::rates_of(looks.before, device, report).value_or(stat::Rates{});
  row.round_trip_ns = report.round_trip_ns;
  row.last_error = stat::last_error_of(device, report);
  row.condition = stat::condition_of(device, report);
  row.long_condition = stat::long_condition_of(device, report);
  row.has_failed = is_failure(report.cause);
  return row;
}

std::string name_or_count(const std::string& name, size_t count) {
  return count == 1 ? name : fmt::format("{}", count);
}

/// The sum of a process's queue pairs, or of a device's.
Row sum_of(const Looks& looks, const stat::Group& group, Lines lines) {
  const DeviceObservation& first = *group.front();
  Row sum;
  sum.group = group;
  sum.name = stat::printable(lines == Lines::kProcesses ? first.program : first.device);
  sum.process = lines == Lines::kProcesses ? fmt::format("{}", first.pid)
                                           : fmt::format("{}", stat::count_processes(group));
  sum.device = name_or_count(stat::printable(first.device), stat::count_devices(group));
  sum.queue_pairs = stat::count_queue_pairs(group);
  for (const DeviceObservation* device : group) {
    for (const Row& one : rows_of(looks, *device)) {
      sum.rates += one.rates;
      sum.round_trip_ns = std::max(sum.round_trip_ns, one.round_trip_ns);
    }
  }
  const size_t failed = stat::count_failed(group);
  sum.has_failed = failed != 0;
  if (failed != 0) sum.condition = fmt::format("{} failed", failed);
  if (const std::string stopped = stat::stopped_in(group); !stopped.empty()) {
    sum.condition = stopped;
  }
  sum.long_condition = sum.condition;
  return sum;
}

double traffic_of(const Row& row) {
  return row.rates.sent_bytes + row.rates.received_bytes;
}

/// What tells lines apart, and orders those that are equal otherwise.
auto name_of(const Row& row) {
  const DeviceObservation& first = *row.group.front();
  return std::tuple(process_of(first), std::string_view(first.device),
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
      return std::tuple(std::string_view(a.name), name_of(a)) <
             std::tuple(std::string_view(b.name), name_of(b));
    case Order::kProcess:
      return name_of(a) < name_of(b);
    default:
      return compare(traffic_of);
  }
}

std::string rate(double value) {
  return value != 0 ? stat::short_number(value) : "-";
}

/// Of a queue pair, or of a sum, which has no type and no state, and more room for the name.
struct Begin {
  std::string name, process, number, type, state;
  bool is_sum = false;
};

std::string format_begin(const Begin& begin) {
  if (begin.is_sum) {
    return fmt::format("{:<22.22} {:>7} {:>8} ", begin.name, begin.process, begin.number);
  }
  return fmt::format("{:<10.10} {:>7} {:>8} {:<5} {:<5} ", begin.name, begin.process, begin.number,
                     begin.type, begin.state);
}

/// On wide screens.
struct Middle {
  std::string device, peer, last_error, outstanding, window;
};

std::string format_middle(const Middle& middle, size_t columns) {
  std::string text;
  if (columns >= kWide) text += fmt::format("{:<12.12} {:<26.26} ", middle.device, middle.peer);
  if (columns >= kWidest) text += fmt::format("{:<18.18} ", middle.last_error);
  if (columns >= kWidestOfAll) {
    text += fmt::format("{:>5} {:>9} ", middle.outstanding, middle.window);
  }
  return text;
}

Middle middle_of(const Row& row) {
  if (row.report == nullptr) return {row.device, "", row.last_error, "", ""};
  return {row.device, stat::peer_of(*row.report), row.last_error,
          stat::short_number(row.report->outstanding), stat::window_of(*row.report)};
}

std::string format_end(const std::array<std::string, 6>& end) {
  return fmt::format("{:>4} {:>4} {:>4} {:>5} {:>5} {}", end[0], end[1], end[2], end[3], end[4],
                     end[5]);
}

}  // namespace

std::string name_of(const Row& row, Lines lines) {
  if (lines == Lines::kDevices) return row.device;
  const DeviceObservation& first = *row.group.front();
  std::string process =
      fmt::format("{} {} {}", first.pid, first.pid_namespace, first.process_started);
  if (row.report == nullptr) return process;
  return fmt::format("{} {} {}", process, row.device, row.report->qpn);
}

std::vector<Row> rows_of(const Looks& looks, const DeviceObservation& device) {
  std::vector<Row> rows;
  for (const QpReport& report : device.queue_pairs) rows.push_back(row_of(looks, device, report));
  return rows;
}

std::vector<Row> make_rows(const View& view, const Looks& looks) {
  std::vector<Row> rows;
  if (view.lines == Lines::kQueuePairs) {
    for (const DeviceObservation& device : looks.now.devices) {
      std::ranges::move(rows_of(looks, device), std::back_inserter(rows));
    }
  } else {
    const bool by_process = view.lines == Lines::kProcesses;
    const auto by = by_process ? stat::GroupBy::kProcess : stat::GroupBy::kDevice;
    for (const stat::Group& group : stat::groups_of(looks.now, by)) {
      rows.push_back(sum_of(looks, group, view.lines));
    }
  }
  std::erase_if(rows, [&](const Row& row) {
    return cells(row, SIZE_MAX).find(view.filter) == std::string::npos;
  });
  std::ranges::sort(rows,
                    [&](const Row& a, const Row& b) { return comes_before(view.order, a, b); });
  return rows;
}

std::string headings(Lines lines, size_t columns) {
  const bool is_sum = lines != Lines::kQueuePairs;
  const bool by_device = lines == Lines::kDevices;
  return format_begin({by_device ? "DEVICE" : "PROGRAM", by_device ? "PROCS" : "PID",
                       is_sum ? "QPS" : "QPN", "TYPE", "STATE", is_sum}) +
         format_middle({"DEVICE", "PEER", "LAST ERROR", "OUT", "WINDOW"}, columns) +
         format_end({"SENT", "RCVD", "MSGS", "AGAIN", "RTT", is_sum ? "STATE" : "WAITS FOR"});
}

std::string cells(const Row& row, size_t columns) {
  const QpReport* const report = row.report;
  const bool is_sum = report == nullptr;
  return format_begin({row.name, row.process,
                       is_sum ? fmt::format("{}", row.queue_pairs) : stat::qpn_name(report->qpn),
                       std::string(is_sum ? "" : type_name(report->type)),
                       std::string(is_sum ? "" : state_name(report->state)), is_sum}) +
         format_middle(middle_of(row), columns) +
         format_end({rate(row.rates.sent_bytes), rate(row.rates.received_bytes),
                     rate(row.rates.messages), rate(row.rates.resent),
                     row.round_trip_ns != 0 ? stat::brief_time(row.round_trip_ns) : "-",
                     columns >= kWider ? row.long_condition : row.condition});
}

}  // namespace urxe::top
