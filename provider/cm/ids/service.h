// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/host/closed_ports.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/ids/cm_id.h"
#include "provider/cm/ids/device_use.h"
#include "provider/cm/ids/id_report.h"
#include "provider/cm/ids/id_table.h"
#include "provider/cm/ids/watch.h"

namespace urxe::cm {

/// An open file and the ids whose events go there.
struct FileUse {
  std::shared_ptr<CmFile> file;
  std::unordered_set<uint32_t> ids;
};

/// The connection manager of this process: files, ids and the devices that they use, behind one
/// lock. Order of locks: this one, a device's, all others. A device reports events with its lock
/// held, so the report only wakes the service's thread (see Watch and service_thread.h).
class Service {
 public:
  /// Made by the first call and never destroyed.
  static Service& instance();

  /// Runs `work(Service&)` with the lock held. ENOMEM: it threw std::bad_alloc.
  template <class Work>
  static auto run(Work work) -> decltype(work(std::declval<Service&>())) {
    try {
      Service& self = instance();
      std::lock_guard lock(self.mutex_);
      return work(self);
    } catch (const std::bad_alloc&) {
      return error(ENOMEM);
    }
  }
  /// Runs `work(Service&, CmId&)` with the id of that number. ENOENT: there is none; EINVAL: it is
  /// another file's; EIO: its device is gone.
  template <class Work>
  static auto run(CmFile& file, uint32_t number, Work work)
      -> decltype(work(std::declval<Service&>(), std::declval<CmId&>())) {
    return run([&](Service& self) -> decltype(work(self, std::declval<CmId&>())) {
      auto id = self.find(file, number);
      if (!id) return Unexpected<Errno>(id.error());
      if ((*id)->state == IdState::kDeviceGone) return error(EIO);
      auto result = work(self, **id);
      if (CmId* const left = self.ids.find(number)) tell_observers(*left);
      return result;
    });
  }

  // With the lock held:

  Expected<CmId*, Errno> find(CmFile& file, uint32_t number);
  /// A new id in the file. ENOMEM.
  Expected<CmId*, Errno> add_id(FileUse& file);
  /// Ends all that the id does, takes its unread events back and forgets it. Unread connection
  /// requests of a listener are rejected. Returns how many of its events were read.
  uint32_t destroy_id(CmId& id);
  /// Posts an event of the id to its file, unless the application has not accepted the id yet.
  /// One that finds no room is lost.
  void post(CmId& id, rdma_ucm_event_resp event);
  /// The same for the event that a call is going to promise. ENOMEM: it found no room.
  Expected<void, Errno> post_result(CmId& id, rdma_ucm_event_resp event);
  /// Posts a connection request, the new id, to the listener's file. ENOMEM.
  Expected<void, Errno> post_request(CmId& listener, CmId& request, rdma_ucm_event_resp event);

  /// The application has closed its last descriptor of the file: destroys the file's ids.
  void close_file(const CmFile* file);

  IdTable<CmId> ids;
  IdTable<Membership> memberships;
  std::unordered_map<const CmFile*, FileUse> files;
  std::unordered_map<std::string, std::unique_ptr<DeviceUse>> devices;
  /// Address resolutions under way, by the time of their next poll.
  std::set<std::pair<Instant, uint32_t>> resolutions;
  Watch watch;
  ClosedPorts closed_ports;
  /// The GIDs of all devices, as they were when they were last listed.
  std::vector<Gid> own_gids;
  Instant own_gids_until{};  ///< to be listed again then

 private:
  Service();
  void leave_all_groups(CmId& id);
  void reset_in_child();
  static bool end_device(RuntimeDevice& device);

  std::mutex mutex_;
};

}  // namespace urxe::cm
