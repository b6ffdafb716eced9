// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/selection.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "tools/stat/names.h"

namespace urxe::stat {

std::string describe(const Selection& selection) {
  std::string text;
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", option, value);
  };
  if (selection.pid) add("--pid", std::to_string(*selection.pid));
  if (selection.device) add("--device", *selection.device);
  if (selection.qpn) add("--qp", qpn_name(*selection.qpn));
  return text;
}

void select(Observation& seen, const Selection& selection) {
  std::erase_if(seen.devices, [&](const DeviceObservation& device) {
    return (selection.pid && device.pid != *selection.pid) ||
           (selection.device && device.device != *selection.device);
  });
  std::erase_if(seen.ended, [&](const EndedQueuePair& ended) {
    return (selection.pid && ended.device.pid != *selection.pid) ||
           (selection.device && ended.device.device != *selection.device) ||
           (selection.qpn && ended.report.qpn != *selection.qpn);
  });
  if (!selection.qpn) return;
  for (DeviceObservation& device : seen.devices) {
    std::erase_if(device.queue_pairs,
                  [&](const QpReport& report) { return report.qpn != *selection.qpn; });
  }
  std::erase_if(seen.devices,
                [](const DeviceObservation& device) { return device.queue_pairs.empty(); });
}

}  // namespace urxe::stat
