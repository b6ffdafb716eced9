// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/slots/slots.h"
#include "provider/devices/device_file.h"
#include "provider/devices/interface_watcher.h"
#include "provider/observation/stat_directory.h"
#include "provider/runtime/device/xrc_domains.h"
#include "provider/runtime/memory/memory_user.h"
#include "provider/runtime/progress/progress.h"
#include "transport/device/device.h"

namespace urxe {

/// An open device of this process, shared by all contexts. It uses only memory until the first
/// queue pair is made or the connection manager is used; then start() takes a slot, an engine and a
/// thread.
class RuntimeDevice : public std::enable_shared_from_this<RuntimeDevice> {
 public:
  explicit RuntimeDevice(const DeviceDescription& description);
  ~RuntimeDevice();
  RuntimeDevice(const RuntimeDevice&) = delete;
  RuntimeDevice& operator=(const RuntimeDevice&) = delete;

  [[nodiscard]] Progress& progress() { return progress_; }
  /// Whether this is the copy of a parent's device in a forked child, which must not be used.
  [[nodiscard]] bool is_forked() const { return forked_.load(std::memory_order_relaxed); }
  /// Counts that the transport does not keep: address handles, and bytes of ibv_alloc_dm(3).
  std::atomic<int> address_handles{0};
  std::atomic<uint64_t> device_memory{0};

  [[nodiscard]] MemoryUser& memory_user() { return memory_user_; }

  /// The device and its interface as they are now.
  [[nodiscard]] DeviceDescription description();
  /// Takes over the state of the interface, and sends events to the contexts.
  void follow(const DeviceDescription& now);

  // With the lock of progress() held:

  [[nodiscard]] const DeviceDescription& described() const { return description_; }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] XrcDomains& xrc_domains() { return xrc_domains_; }
  /// Takes a slot and an engine and starts the thread, unless that was done before. Prints errors
  /// on stderr.
  Expected<void, Errno> start();
  /// What queue pairs for raw packets need, after start(). EPERM: no right to packet sockets;
  /// EOPNOTSUPP: the interface's frames are not Ethernet's.
  Expected<void, Errno> start_raw_packets();
  /// Whether the interface's frames are Ethernet's.
  [[nodiscard]] bool has_raw_packets() const { return is_ethernet_; }
  /// The next queue pair number, which was not used lately. Only after start().
  Qpn next_qpn();
  /// Whether the number has this process's slot. Only after start().
  [[nodiscard]] bool is_own(Qpn qpn) const;
  /// As follow(), from the tree: another process may have seen a change first.
  void refresh_gids();
  /// A context has been opened. Asynchronous events of the port go to its socket until
  /// remove_context(). Returns its number, which observers see.
  uint32_t add_context(std::shared_ptr<EventSocket> events);
  void remove_context(uint32_t number);
  /// Makes a local address usable, for QP1 too. Prints errors on stderr. Only after start().
  Expected<void, Errno> open_address(const Gid& local);
  /// Makes all local addresses usable, because datagrams may come to any. If none can be, returns
  /// the first one's error and prints it on stderr. Only after start().
  Expected<void, Errno> open_addresses();

  // For the connection manager. To connect, it calls start() and open_address() of its own end; to
  // listen, these. The CommunicationSink gets the events of device().cm().

  void stop_listening(ListenerId listener);

  // For programs' management agents, whose events the ManagementSink gets. To send, they call
  // start() and open_addresses().

  /// Undoes take_agent_requests().
  void leave_agent_requests(const MadAgentKey& key) {
    sharing_->stop_listening(agent_service(key), std::nullopt);
  }

  // Without the lock:

  /// Directs management requests with that key to this process, as listen() does for a service.
  Expected<void, Errno> take_agent_requests(const MadAgentKey& key);

  /// Directs REQs and SIDR_REQs for `service` to this process, whichever of the processes that
  /// share the address they reach, and there to the returned listener. On `local`, or on all
  /// addresses that the device has or will have. Starts the device. EADDRINUSE: a process of the
  /// user listens there already, or one that was stopped is in the way, for which this waits half a
  /// second; EMFILE and the like. One thread at a time, which calls stop_listening(), too.
  Expected<ListenerId, Errno> listen(ServiceId service, const std::optional<Gid>& local);

  // fork():
  void before_fork() { progress_.before_fork(); }
  void after_fork_in_parent() { progress_.after_fork_in_parent(); }
  void after_fork_in_child();

 private:
  Expected<std::unique_ptr<PacketEngine>, Errno> make_carrier();
  Expected<std::unique_ptr<PacketEngine>, Errno> make_dpdk_engine();
  Expected<std::unique_ptr<PacketEngine>, Errno> make_engine();
  void follow_locked(const DeviceDescription& found);
  void keep_within(const EnginePromises& promises);
  void tell(ibv_event_type type);
  void configure_cm();
  Expected<void, EngineError> open_in_engine(const Gid& local);
  Expected<std::pair<ListenerId, ServiceEntry>, Errno> begin_listening(
      ServiceId service, const std::optional<Gid>& local);

  void tell_contexts();

  struct OpenContext {
    uint32_t number = 0;
    std::shared_ptr<EventSocket> events;
  };
  struct Service {
    ServiceId service;
    std::optional<Gid> local;
  };

  const std::string name_;
  const uint32_t ifindex_;
  const bool is_ethernet_;
  DeviceDescription description_;                   ///< under the lock
  uint32_t largest_packet_ = UINT32_MAX;            ///< that the engine promises to carry
  std::vector<OpenContext> contexts_;               ///< under the lock
  uint32_t last_context_ = 0;                       ///< its number
  std::unordered_map<uint32_t, Service> services_;  ///< listened for, by listener
  bool opens_addresses_ = false;                    ///< open_addresses() was called
  std::atomic<bool> forked_{false};
  FileDescriptor counter_file_;  ///< until the device has started
  StatFile stat_file_;           ///< until then, too
  Device device_;
  XrcDomains xrc_domains_;
  std::optional<Slot> slot_;
  std::optional<AddressSharing> sharing_;
  Progress progress_;
  MemoryUser memory_user_{progress_};
  const InterfaceWatcher::Follower follower_;
};

}  // namespace urxe
