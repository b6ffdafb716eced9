// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tools/stat/columns.h"
#include "tools/stat/names.h"
#include "tools/stat/rates.h"
#include "tools/stat/table.h"

namespace urxe::stat {
namespace {

bool belong_together(const DeviceObservation& a, const DeviceObservation& b, GroupBy by) {
  return by == GroupBy::kProcess ? process_of(a) == process_of(b) : a.device == b.device;
}

template <class Count>
size_t sum_of(const Group& group, Count count) {
  size_t sum = 0;
  for (const DeviceObservation* device : group) sum += count(*device);
  return sum;
}

Rates amounts_of(const Group& group, const Observation* before) {
  Rates sum;
  for (const DeviceObservation* device : group) {
    for (const QpReport& report : device->queue_pairs) {
      if (before == nullptr) {
        sum += totals_of(report);
      } else if (const auto rates = rates_of(*before, *device, report)) {
        sum += *rates;
      }
    }
  }
  return sum;
}

std::string number(size_t value) {
  return fmt::format("{}", value);
}

Row row_of(const Group& group, const Observation* before, GroupBy by) {
  const bool is_process = by == GroupBy::kProcess;
  const DeviceObservation& first = *group.front();
  Row row{printable(is_process ? first.program : first.device)};
  if (is_process) row.push_back(fmt::format("{}", first.pid));
  row.push_back(number(is_process ? count_devices(group) : count_processes(group)));
  row.push_back(number(count_queue_pairs(group)));
  row.push_back(number(count_failed(group)));
  const Rates amounts = amounts_of(group, before);
  for (const double each :
       {amounts.sent_bytes, amounts.received_bytes, amounts.messages, amounts.resent}) {
    row.push_back(short_number(each));
  }
  row.push_back(stopped_in(group));
  return row;
}

}  // namespace

std::vector<Group> groups_of(const Observation& seen, GroupBy by) {
  std::vector<Group> groups;
  for (const DeviceObservation& device : seen.devices) {
    const auto found = std::ranges::find_if(
        groups, [&](const Group& group) { return belong_together(*group.front(), device, by); });
    if (found != groups.end()) {
      found->push_back(&device);
    } else {
      groups.push_back({&device});
    }
  }
  return groups;
}

size_t count_processes(const Group& group) {
  std::set<decltype(process_of(*group.front()))> processes;
  for (const DeviceObservation* device : group) processes.insert(process_of(*device));
  return processes.size();
}

size_t count_devices(const Group& group) {
  std::set<std::string_view> names;
  for (const DeviceObservation* device : group) names.insert(device->device);
  return names.size();
}

size_t count_queue_pairs(const Group& group) {
  return sum_of(group, [](const DeviceObservation& one) { return one.queue_pairs.size(); });
}

size_t count_failed(const Group& group) {
  return sum_of(group, [](const DeviceObservation& one) {
    return std::ranges::count_if(one.queue_pairs,
                                 [](const QpReport& report) { return is_failure(report.cause); });
  });
}

std::string stopped_in(const Group& group) {
  std::set<decltype(process_of(*group.front()))> stopped;
  const DeviceObservation* last = nullptr;
  for (const DeviceObservation* device : group) {
    if (!is_stopped(*device)) continue;
    stopped.insert(process_of(*device));
    last = device;
  }
  if (stopped.empty()) return "";
  if (count_processes(group) == 1) return "stopped " + age_of(*last);
  return fmt::format("{} stopped", stopped.size());
}

std::string group_report(const Observation& seen, const Observation* before, GroupBy by) {
  const Row process{"PROGRAM", "PID", "DEVICES"};
  const Row device{"DEVICE", "PROCESSES"};
  Row headings = by == GroupBy::kProcess ? process : device;
  for (const char* each : {"QPS", "FAILED", "SENT", "RCVD", "MSGS", "RESENT", "STATE"}) {
    headings.emplace_back(each);
  }
  std::vector<Row> rows{std::move(headings)};
  for (const Group& group : groups_of(seen, by)) rows.push_back(row_of(group, before, by));
  return format_rows(std::move(rows), {.text_columns = 1, .columns = kScreen});
}

}  // namespace urxe::stat
