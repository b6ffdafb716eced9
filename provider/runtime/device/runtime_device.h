// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "packet/base/expected.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/slots.h"
#include "provider/devices/device_file.h"
#include "provider/devices/interface_watcher.h"
#include "provider/runtime/device/xrc_domains.h"
#include "provider/runtime/progress/progress.h"
#include "transport/device/device.h"

namespace urxe {

/// A device of this process, shared by all contexts that have opened it. Nothing but memory is used
/// until the first queue pair is made, or the connection manager is used; then it takes a slot, an
/// engine and a thread.
class RuntimeDevice : public std::enable_shared_from_this<RuntimeDevice> {
 public:
  explicit RuntimeDevice(const DeviceDescription& description);
  ~RuntimeDevice();
  RuntimeDevice(const RuntimeDevice&) = delete;
  RuntimeDevice& operator=(const RuntimeDevice&) = delete;

  [[nodiscard]] Progress& progress() { return progress_; }
  /// This is the copy of a parent's device in the child of a fork(): nothing may be done with it.
  [[nodiscard]] bool is_forked() const { return forked_.load(std::memory_order_relaxed); }
  /// Address handles in use: not the transport's to count.
  std::atomic<int> address_handles{0};
  /// Bytes of ibv_alloc_dm(3): neither.
  std::atomic<uint64_t> device_memory{0};

  /// The device and its interface as they are now.
  [[nodiscard]] DeviceDescription description();
  /// Takes over what its interface has become, and tells the contexts.
  void follow(const DeviceDescription& now);

  // With the lock of progress() held:

  [[nodiscard]] const DeviceDescription& described() const { return description_; }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] XrcDomains& xrc_domains() { return xrc_domains_; }
  /// Takes slot and engine and starts the thread, if that has not been done. Says on stderr what
  /// went wrong.
  Expected<void, Errno> start();
  /// A queue pair number that was not used lately. Only after start().
  Qpn next_qpn();
  /// Whether the number can be one of this process's. Only after start().
  [[nodiscard]] bool is_own(Qpn qpn) const;
  /// As follow(), with what the tree says: another process may have seen a change first.
  void refresh_gids();
  /// A context's asynchronous events, which those of the port go to as long as it is listed.
  void add_listener(std::shared_ptr<EventSocket> events);
  void remove_listener(const std::shared_ptr<EventSocket>& events);
  /// Makes a local address usable, for QP1 too. Says on stderr what went wrong. Only after start().
  Expected<void, Errno> open_address(const Gid& local);
  /// Makes all that can be usable: datagrams may come to any. An error, of the first, and words on
  /// stderr where none can.
  Expected<void, Errno> open_addresses();

  // For the consumer of device().cm(), which connects after start() and open_address() of its own
  // end, and listens by these. All that has happened is told to the CommunicationSink.

  /// Has REQs and SIDR_REQs for `service` come to this process, whichever of those that share the
  /// address they reach, and to the listener in the answer. On `local`, or on all addresses that
  /// the device has or will have. Starts the device where need be. EADDRINUSE: another process of
  /// the user listens there, or this one; EMFILE and such.
  Expected<ListenerId, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ListenerId listener);

  // fork():
  void before_fork() { progress_.before_fork(); }
  void after_fork_in_parent() { progress_.after_fork_in_parent(); }
  void after_fork_in_child();

 private:
  Expected<std::unique_ptr<PacketEngine>, Errno> make_engine();
  void follow_locked(const DeviceDescription& now);
  void tell(ibv_event_type type);
  void configure_cm();
  Expected<void, EngineError> open_in_engine(const Gid& local);

  struct Service {
    ServiceId service;
    std::optional<Gid> local;
  };

  const std::string name_;
  const uint32_t ifindex_;
  DeviceDescription description_;                        ///< under the lock
  std::vector<std::shared_ptr<EventSocket>> listeners_;  ///< under the lock
  std::unordered_map<uint32_t, Service> services_;  ///< that this process listens for, by listener
  bool opens_addresses_ = false;                    ///< open_addresses() was called
  std::atomic<bool> forked_{false};
  Device device_;
  XrcDomains xrc_domains_;
  std::optional<Slot> slot_;
  std::optional<AddressSharing> sharing_;
  Progress progress_;
  const InterfaceWatcher::Follower follower_;
};

/// The largest path MTU whose packets fit an interface of `interface_mtu` bytes.
ibv_mtu path_mtu_for(uint32_t interface_mtu);

}  // namespace urxe
