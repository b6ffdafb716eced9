// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/selection.h"

#include <vector>

namespace urxe::stat {

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
