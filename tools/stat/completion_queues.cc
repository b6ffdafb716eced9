// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/completion_queues.h"

#include <fmt/format.h>

#include <map>

#include "tools/stat/columns.h"
#include "tools/stat/names.h"

namespace urxe::stat {

std::vector<UsedCq> completion_queues_of(const DeviceObservation& device) {
  std::map<uint32_t, UsedCq> queues;
  const auto add = [&](const CqReport& cq) {
    if (cq.number == 0) return;
    UsedCq& used = queues[cq.number];
    used.cq = cq;
    ++used.queue_pairs;
  };
  for (const QpReport& report : device.queue_pairs) {
    add(report.send_cq);
    if (report.receive_cq.number != report.send_cq.number) add(report.receive_cq);
  }
  std::vector<UsedCq> all;
  all.reserve(queues.size());
  for (const auto& [number, used] : queues) all.push_back(used);
  return all;
}

std::string_view cq_state(const CqReport& cq) {
  if (cq.in_error) return "overrun";
  return cq.is_armed ? "armed" : "";
}

std::string cq_report(const Observation& seen) {
  std::vector<Row> rows{{"PROGRAM", "DEVICE", "PID", "CQ", "WAITING", "SIZE", "QPS", "STATE"}};
  for (const DeviceObservation& device : seen.devices) {
    for (const auto& [cq, users] : completion_queues_of(device)) {
      rows.push_back({printable(device.program), printable(device.device),
                      fmt::format("{}", device.pid), fmt::format("{}", cq.number),
                      fmt::format("{}", cq.waiting), fmt::format("{}", cq.capacity),
                      fmt::format("{}", users), std::string(cq_state(cq))});
    }
  }
  return format_rows(std::move(rows), {.text_columns = 2, .columns = kScreen});
}

}  // namespace urxe::stat
