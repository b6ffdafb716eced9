// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/lane_choice.h"
#include "provider/devices/device_file.h"
#include "provider/devices/interface_watcher.h"
#include "provider/runtime/device/lane.h"
#include "provider/runtime/device/xrc_domains.h"
#include "provider/runtime/memory/memory_user.h"
#include "provider/runtime/progress/progress.h"
#include "transport/device/device.h"

namespace urxe {

/// An open device of this process, shared by all contexts. It uses only memory until the first
/// queue pair is made or the connection manager is used; then start() takes a slot, an engine and a
/// thread. It has one lane, and takes further ones when threads make queue pairs (choose_lane()).
/// The first lane serves the connection manager, management agents, XRC and raw packets.
class RuntimeDevice : public std::enable_shared_from_this<RuntimeDevice> {
 public:
  explicit RuntimeDevice(const DeviceDescription& description);
  ~RuntimeDevice();
  RuntimeDevice(const RuntimeDevice&) = delete;
  RuntimeDevice& operator=(const RuntimeDevice&) = delete;

  /// Holds the locks of all lanes, as Progress::Guard holds one.
  class Guard {
   public:
    explicit Guard(RuntimeDevice& device) : device_(device) { device_.lock_lanes(); }
    ~Guard() { device_.unlock_lanes(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    RuntimeDevice& device_;
  };

  [[nodiscard]] Lane& first_lane() { return first_; }
  /// A lane that exists.
  [[nodiscard]] Lane& lane(uint32_t number) { return number == 0 ? first_ : *further_[number - 1]; }
  [[nodiscard]] uint32_t lane_count() const { return lane_count_.load(std::memory_order_acquire); }
  /// Of the first lane.
  [[nodiscard]] Progress& progress() { return first_.progress(); }
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

  // With a Guard:

  [[nodiscard]] const DeviceDescription& described() const { return description_; }
  /// The transport's first lane, by which objects are made.
  [[nodiscard]] Device& device() { return first_.device(); }
  [[nodiscard]] XrcDomains& xrc_domains() { return xrc_domains_; }
  /// Starts the first lane, unless that was done before. Prints errors on stderr.
  Expected<void, Errno> start();
  /// What queue pairs for raw packets need, after start(). EPERM: no right to packet sockets;
  /// EOPNOTSUPP: the interface's frames are not Ethernet's.
  Expected<void, Errno> start_raw_packets();
  /// Whether the interface's frames are Ethernet's.
  [[nodiscard]] bool has_raw_packets() const { return is_ethernet_; }
  /// The lane for queue pairs that the calling thread makes: see lane_choice(). Takes a further one
  /// if there is one left, or there are many slots. Only after start().
  Lane& choose_lane();
  /// Whether the number has the slot of a lane. Only after start().
  [[nodiscard]] bool is_own(Qpn qpn) const;
  /// As follow(), from the tree: another process may have seen a change first.
  void refresh_gids();
  /// A context has been opened. Asynchronous events of the port go to its socket until
  /// remove_context(). Returns its number, which observers see.
  uint32_t add_context(std::shared_ptr<EventSocket> events);
  void remove_context(uint32_t number);
  /// As Lane's. Prints errors on stderr. Only after start().
  Expected<void, Errno> open_address(const Gid& local) { return open_address(first_, local); }
  Expected<void, Errno> open_addresses() { return open_addresses(first_); }
  static Expected<void, Errno> open_address(Lane& lane, const Gid& local);
  static Expected<void, Errno> open_addresses(Lane& lane);

  // For the connection manager. To connect, it calls start() and open_address() of its own end; to
  // listen, these. The CommunicationSink gets the events of device().cm().

  void stop_listening(ListenerId listener);

  // For programs' management agents, whose events the ManagementSink gets. To send, they call
  // start() and open_addresses().

  /// Undoes take_agent_requests().
  void leave_agent_requests(const MadAgentKey& key) {
    first_.sharing().stop_listening(agent_service(key), std::nullopt);
  }

  // Without locks:

  /// Directs management requests with that key to this process, as listen() does for a service.
  Expected<void, Errno> take_agent_requests(const MadAgentKey& key);

  /// Directs REQs and SIDR_REQs for `service` to this process, whichever of the processes that
  /// share the address they reach, and there to the returned listener. On `local`, or on all
  /// addresses that the device has or will have. Starts the device. EADDRINUSE: a process of the
  /// user listens there already, or one that was stopped is in the way, for which this waits half a
  /// second; EMFILE and the like. One thread at a time, which calls stop_listening(), too.
  Expected<ListenerId, Errno> listen(ServiceId service, const std::optional<Gid>& local);

  /// The process exits: as Progress::finish_at_exit(), for each lane.
  void finish_at_exit();

  // fork():
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  void lock_lanes();
  void unlock_lanes();
  template <class Visit>
  void for_each_lane(Visit visit) {
    for (uint32_t i = 0; i < lane_count(); ++i) visit(lane(i));
  }
  Lane& next_lane(uint32_t most);
  Lane* add_lane();
  void follow_locked(const DeviceDescription& found);
  /// Says once that an address could not be opened by open_addresses().
  void report_unopened();
  void tell(ibv_event_type type);
  Expected<std::pair<ListenerId, ServiceEntry>, Errno> prepare_listening(
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

  bool said_unopened_ = false;  ///< report_unopened() has said something
  const std::string name_;
  const uint32_t ifindex_;
  const bool is_ethernet_;
  DeviceDescription description_;                   ///< under the lock
  uint32_t largest_packet_ = UINT32_MAX;            ///< that the engine promises to carry
  std::vector<OpenContext> contexts_;               ///< under the lock
  uint32_t last_context_ = 0;                       ///< its number
  std::unordered_map<uint32_t, Service> services_;  ///< listened for, by listener
  std::atomic<bool> forked_{false};
  Lane first_;
  std::array<std::unique_ptr<Lane>, kMostLanes - 1> further_;  ///< those that exist come first
  std::atomic<uint32_t> lane_count_{1};
  std::unordered_map<pthread_t, uint32_t> lane_of_thread_;
  uint32_t lanes_given_ = 0;  ///< by choose_lane()
  uid_t started_by_ = 0;      ///< the user that the process was at start()
  uint64_t started_in_ = 0;   ///< own_network_namespace() then
  XrcDomains xrc_domains_;
  MemoryUser memory_user_;
  const InterfaceWatcher::Follower follower_;
};

}  // namespace urxe
