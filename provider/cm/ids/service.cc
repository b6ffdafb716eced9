// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/service.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "provider/cm/calls/commands.h"
#include "provider/cm/ids/event_response.h"
#include "provider/runtime/device_registry.h"

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
        if (file != service.files.end()) close_file(service, file->first);
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
      // Others get a turn between two rounds.
      if (!handle_events(service, *use)) service.watch.mark(device);
      break;
    }
  }
}

std::optional<Instant> next_deadline(Service& service) {
  if (service.resolutions.empty()) return std::nullopt;
  return service.resolutions.begin()->first;
}

// Out of memory it goes on: what it could not do is looked at again with the next occasion.
void* serve(void* argument) {
  auto& service = *static_cast<Service*>(argument);
  std::optional<Instant> deadline;
  for (;;) {
    const auto ready = service.watch.wait(deadline, clock_now());
    (void)Service::run([&](Service& self) -> Expected<void, Errno> {
      handle_ready(self, ready);
      handle_marked(self);
      poll_due_resolutions(self, clock_now());
      deadline = next_deadline(self);
      return {};
    });
  }
  return nullptr;
}

void mark(RuntimeDevice& device) {
  Service::instance().watch.mark(&device);
}

constexpr CommunicationSink kSink{.events = mark, .interface_changed = mark, .at_exit = end_device};

}  // namespace

// The others' handlers of fork() must be there first: prepared last to first, this lock is then
// taken before theirs, as everywhere else.
Service::Service() {
  prepare_runtime_devices();
  PortClaim::prepare();
  register_communication_sink(kSink);
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] {
                   Service& self = instance();
                   self.reset_in_child();
                   self.mutex_.unlock();
                 });
}

Service& Service::instance() {
  static auto* const service = new Service;
  return *service;
}

// The child has no thread, and what the parent has begun is the parent's to go on with. Ids and
// devices are left where they are: taking them down would speak to peers.
void Service::reset_in_child() {
  watch.after_fork_in_child();
  new IdTable<CmId>(std::move(ids));
  new std::unordered_map<std::string, std::unique_ptr<DeviceUse>>(std::move(devices));
  ids = {};
  devices.clear();
  memberships = {};
  files.clear();
  wildcard_listeners.clear();
  resolutions.clear();
  counters = {};
}

Expected<CmId*, Errno> Service::find(CmFile& file, uint32_t number) {
  CmId* id = ids.find(number);
  if (id == nullptr) return error(ENOENT);
  if (id->file != &file) return error(EINVAL);
  return id;
}

Expected<CmId*, Errno> Service::add_id(FileUse& file) {
  auto added = ids.add();
  if (!added) return Unexpected<Errno>(added.error());
  auto [number, id] = *added;
  id->number = number;
  id->file = file.file.get();
  id->psn = Psn(static_cast<uint32_t>(secret_number()));
  try {
    file.ids.insert(number);
  } catch (const std::bad_alloc&) {
    ids.remove(number);
    throw;
  }
  return id;
}

uint32_t Service::destroy_id(CmId& id) {
  cancel_resolution(*this, id);
  stop_listening(id);
  wildcard_listeners.erase(id.number);
  leave_all_groups(*this, id);
  drop_communication(id);
  detach(id);
  if (auto file = files.find(id.file); file != files.end()) {
    for (const CmFileEvent& event : id.file->take_back(id.number)) {
      if (event.new_id == 0) continue;
      if (CmId* request = ids.find(event.new_id)) destroy_id(*request);
    }
    file->second.ids.erase(id.number);
  }
  const uint32_t reported = id.events_reported;
  ids.remove(id.number);
  return reported;
}

void Service::post(CmId& id, rdma_ucm_event_resp event) {
  if (id.uid == 0) return;
  event.uid = id.uid;
  event.id = id.number;
  if (!id.file->post({.response = event, .owner = id.number, .new_id = 0})) ++counters.lost_events;
}

Expected<void, Errno> Service::post_request(CmId& listener, CmId& request,
                                            rdma_ucm_event_resp event) {
  event.uid = listener.uid;
  event.id = request.number;
  return listener.file->post(
      {.response = event, .owner = listener.number, .new_id = request.number});
}

void close_file(Service& service, const CmFile* file) {
  auto entry = service.files.find(file);
  if (entry == service.files.end()) return;
  service.watch.remove(file->own_fd());
  const std::vector<uint32_t> ids(entry->second.ids.begin(), entry->second.ids.end());
  for (uint32_t number : ids) {
    if (CmId* id = service.ids.find(number)) service.destroy_id(*id);
  }
  service.files.erase(file);
  if (service.files.empty()) service.devices.clear();
}

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
