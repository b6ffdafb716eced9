// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/service_thread.h"

#include <algorithm>
#include <optional>
#include <span>

#include "packet/host/clock.h"
#include "provider/cm/connections/device_events.h"
#include "provider/cm/ids/resolution.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

void handle_ready(Service& service, std::span<const Watch::Ready> ready) {
  for (const Watch::Ready& one : ready) {
    switch (one.what) {
      case Watch::What::kWake:
        break;
      case Watch::What::kFile: {
        auto file =
            std::find_if(service.files.begin(), service.files.end(), [&](const auto& entry) {
              return entry.first->own_fd() == static_cast<int>(one.number);
            });
        if (file != service.files.end()) service.close_file(file->first);
        break;
      }
      case Watch::What::kResolution:
        if (CmId* id = service.ids.find(one.number)) poll_resolution(service, *id, clock_now());
        break;
    }
  }
}

void handle_marked(Service& service) {
  for (const RuntimeDevice* device : service.watch.take_marked()) {
    for (auto& [name, use] : service.devices) {
      if (use->runtime.get() != device) continue;
      // Other threads can take the locks between two rounds.
      if (!handle_events(service, *use)) service.watch.mark(device);
      break;
    }
  }
}

std::optional<Instant> next_deadline(const Service& service) {
  const auto expiry = service.closed_ports.next_expiry();
  if (service.resolutions.empty()) return expiry;
  const Instant poll = service.resolutions.begin()->first;
  return std::min(poll, expiry.value_or(poll));
}

void* serve(void* argument) {
  auto& service = *static_cast<Service*>(argument);
  std::optional<Instant> deadline;
  for (;;) {
    const auto ready = service.watch.wait(deadline, clock_now());
    const auto done = Service::run([&](Service& self) -> Expected<void, Errno> {
      handle_ready(self, ready);
      handle_marked(self);
      poll_due_resolutions(self, clock_now());
      self.closed_ports.expire(clock_now());
      deadline = next_deadline(self);
      return {};
    });
    if (!done) service.watch.try_again();
  }
  return nullptr;
}

}  // namespace

Expected<void, Errno> add_file(const std::shared_ptr<CmFile>& file) {
  return Service::run([&](Service& service) -> Expected<void, Errno> {
    if (auto started = service.watch.start(serve, &service); !started) return started;
    service.files.emplace(file.get(), FileUse{file, {}});
    auto added = service.watch.add(file->own_fd(), 0, Watch::What::kFile,
                                   static_cast<uint32_t>(file->own_fd()));
    if (!added) service.files.erase(file.get());
    return added;
  });
}

}  // namespace urxe::cm
