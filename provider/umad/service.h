// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "packet/base/expected.h"
#include "provider/cm/ids/watch.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/umad/lids.h"
#include "provider/umad/umad_file.h"

namespace urxe::umad {

/// A device's port, as this process uses it for management.
struct Port {
  explicit Port(std::string device) : name(std::move(device)) {}

  /// The agent of a file; of none: the performance management agent.
  struct Owner {
    UmadFile* file = nullptr;
    uint32_t number = 0;
  };

  const std::string name;
  Lids lids;
  std::shared_ptr<RuntimeDevice> runtime;  ///< null: nothing had to be sent or received yet
  std::map<MadAgentId, Owner> owners;
  std::map<MadAgentKey, size_t> served;  ///< agents of files with that key that get requests
  std::optional<MadAgentId> performance;
};

/// What the umad files of this process have in common, and its lock: umad is the provider's part
/// for programs that exchange management datagrams. A thread of its own delivers what the devices
/// receive for agents, and sees that files are closed.
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

  /// The same, with a file that was found before the lock was taken. EBADF: it has been closed
  /// since.
  template <class Work>
  static auto run_for(const UmadFile& file, Work work) -> decltype(work(std::declval<Service&>())) {
    return run([&](Service& self) -> decltype(work(self)) {
      if (!self.has(file)) return error(EBADF);
      return work(self);
    });
  }

  // With the lock held:

  /// Whether the file was taken in, and not closed.
  [[nodiscard]] bool has(const UmadFile& file) const;
  /// Takes a new file in, and forgets those that were closed unnoticed.
  void add_file(const std::shared_ptr<UmadFile>& file);
  /// The application has closed the file.
  void close_file(UmadFile& file);
  Port& port(const UmadFile& file);
  /// Starts the port's device, if that was not done, and makes its addresses usable. ENODEV: its
  /// interface is gone; the errors of RuntimeDevice::start() and open_addresses().
  Expected<void, Errno> start(Port& port);
  /// Gives the file's agent its part of the device, if it has none. ENOMEM; for one that gets
  /// requests: EINVAL, another agent gets them, here or in another process.
  Expected<void, Errno> attach(UmadFile& file, uint32_t number);
  /// Undoes attach().
  void detach(UmadFile& file, uint32_t number);
  /// Gives the files' programs, and the performance management agents, what the device has received
  /// for them.
  void deliver(Port& port);
  /// A closed file, or one that has room again.
  void handle_file(int own_fd);
  void handle_marks();
  /// The port's interface is gone.
  void end_files(const Port& port);

  cm::Watch watch;

 private:
  Service();
  void reset_in_child();
  Expected<MadAgentId, Errno> add_agent(Port& port, const FileAgent& agent, Port::Owner owner);
  Expected<void, Errno> serve(Port& port, const MadAgentKey& key);
  void stop_serving(Port& port, const MadAgentKey& key);
  void serve_performance(Port& port);
  void stop_performance(Port& port);
  void wait_for_room(const UmadFile& file);

  std::mutex mutex_;
  std::unordered_map<int, std::shared_ptr<UmadFile>> files_;  ///< by own_fd()
  std::unordered_map<std::string, std::unique_ptr<Port>> ports_;
};

}  // namespace urxe::umad
