// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/service.h"

#include <pthread.h>

#include <cerrno>
#include <vector>

#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "provider/cm/ids/resolution.h"
#include "provider/runtime/device/device_registry.h"

namespace urxe::cm {
namespace {

void mark(RuntimeDevice& device) {
  Service::instance().watch.mark(&device);
}

}  // namespace

// Handlers of fork() run last to first. The others' are registered first, so this lock is taken
// before theirs, as everywhere else.
Service::Service() {
  prepare_runtime_devices();
  PortClaim::prepare();
  static constexpr CommunicationSink kSink{
      .events = mark, .interface_changed = mark, .at_exit = end_device};
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

// The child has no thread, and the parent goes on with its connections. The child leaks ids and
// devices, because destroying them would send messages to peers.
void Service::reset_in_child() {
  watch.after_fork_in_child();
  new IdTable<CmId>(std::move(ids));
  new std::unordered_map<std::string, std::unique_ptr<DeviceUse>>(std::move(devices));
  ids = {};
  devices.clear();
  memberships = {};
  files.clear();
  resolutions.clear();
  closed_ports = {};
}

/// Sends the last messages of an exiting process's connections. The device's lock is held, which
/// the holder of the service's lock may wait for. False: nothing is done yet.
bool Service::end_device(RuntimeDevice& device) {
  Service& service = instance();
  if (!service.mutex_.try_lock()) return false;
  for (auto& [name, use] : service.devices) {
    if (use->runtime.get() != &device) continue;
    for (auto [comm, id] : use->communications) {
      device.device().cm().destroy(CommId(comm), clock_now());
    }
    use->communications.clear();
  }
  service.mutex_.unlock();
  return true;
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
  leave_all_groups(id);
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

void Service::leave_all_groups(CmId& id) {
  for (uint32_t number : id.memberships) memberships.remove(number);
  id.memberships.clear();
}

void Service::post(CmId& id, rdma_ucm_event_resp event) {
  (void)post_result(id, event);
}

Expected<void, Errno> Service::post_result(CmId& id, rdma_ucm_event_resp event) {
  if (id.uid == 0) return {};
  event.uid = id.uid;
  event.id = id.number;
  return id.file->post({.response = event, .owner = id.number, .new_id = 0});
}

Expected<void, Errno> Service::post_request(CmId& listener, CmId& request,
                                            rdma_ucm_event_resp event) {
  event.uid = listener.uid;
  event.id = request.number;
  return listener.file->post(
      {.response = event, .owner = listener.number, .new_id = request.number});
}

void Service::close_file(const CmFile* file) {
  auto entry = files.find(file);
  if (entry == files.end()) return;
  watch.remove(file->own_fd());
  const std::vector<uint32_t> numbers(entry->second.ids.begin(), entry->second.ids.end());
  for (uint32_t number : numbers) {
    if (CmId* id = ids.find(number)) destroy_id(*id);
  }
  files.erase(file);
  if (files.empty()) devices.clear();
}

}  // namespace urxe::cm
