// SPDX-License-Identifier: BSD-2-Clause
// What peers should still learn of a process that exits.
#include <vector>

#include "packet/host/clock.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {

// Without the lock nothing is said: its holder may be a thread that is no more.
void end_device(RuntimeDevice& device) {
  Service& service = Service::instance();
  if (!service.try_lock()) return;
  for (auto& [name, use] : service.devices) {
    if (use->runtime.get() != &device) continue;
    for (auto [comm, id] : use->communications) {
      device.device().cm().destroy(CommId(comm), clock_now());
    }
    use->communications.clear();
  }
  service.unlock();
}

}  // namespace urxe::cm
