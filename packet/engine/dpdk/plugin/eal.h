// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/engine/dpdk/arguments.h"
#include "packet/engine/dpdk/plugin/connect_attempt.h"
#include "packet/engine/dpdk/plugin/device_lock.h"

struct rte_mempool;

namespace urxe {

/// DPDK's environment (EAL) in this process: it is started once and stays until the process ends.
/// Thread-safe.
class Eal {
 public:
  /// Starts it with the options of `arguments`, in a thread of its own that then ends: the caller
  /// keeps its affinity. If the process has started EAL itself, that one is used, and the
  /// options are not. The error says what DPDK has logged.
  static Expected<Eal*, EngineError> start(const DpdkArguments& arguments);

  /// The port with the name. Adds its device again if close_port() has removed it. EBUSY: it was
  /// left (leave_port()), and its memif's server still takes no connection.
  Expected<uint16_t, EngineError> open_port(const std::string& name);
  /// Stops the port and removes its device, so that another process can have it. False: the device
  /// stays, and may still have buffers.
  bool close_port(const std::string& name);
  /// Takes a port that is to be closed while an attempt to connect it is under way, with its
  /// buffers. open_port() closes it once the attempt has ended.
  void leave_port(const std::string& name, ConnectAttempt attempt, rte_mempool* pool);
  /// Whether the device connects to another process's socket.
  [[nodiscard]] bool is_memif_client(const std::string& name) const;
  /// Keeps what the driver has open for a memif from programs that this process executes. Without
  /// effect on other ports.
  void close_on_exec(const std::string& name) const;
  /// Lets go of the devices that no port was opened of.
  void release_devices() { locks_.clear(); }
  /// For a forked child: lets go of the locks' copies, and touches nothing of DPDK.
  void abandon();

 private:
  struct LeftPort {
    ConnectAttempt attempt;
    rte_mempool* pool;
  };

  bool remove_port(const std::string& name);
  bool remove_in_interrupt_thread(const std::string& name);
  [[nodiscard]] Expected<void, EngineError> remove_left(const std::string& name);
  Expected<void, EngineError> initialize(const std::vector<std::string>& given);
  [[nodiscard]] Expected<void, EngineError> check_devices(const std::string& logged) const;
  Expected<void, EngineError> lock_device(const std::string& device);
  /// The lock that this process has on a device with that key; null: none.
  [[nodiscard]] std::shared_ptr<DeviceLock> lock_of(const DeviceKey& key) const;
  [[nodiscard]] const std::string* device_named(const std::string& name) const;

  std::mutex mutex_;
  bool is_ours_ = false;  ///< started here
  bool started_ = false;
  /// Of an earlier start: EAL may then refuse another one, as if it had been started.
  std::optional<EngineError> failure_;
  std::atomic<pid_t> started_by_{0};  ///< the process; a child of it has none of the threads
  std::vector<std::string> devices_;  ///< as the options name them
  /// By name. Servers of one memif socket share one.
  std::map<std::string, std::shared_ptr<DeviceLock>> locks_;
  std::map<std::string, LeftPort> left_;  ///< by name
};

/// The names of all ports, at most kMostDpdkPorts.
std::vector<std::string> port_names();

}  // namespace urxe
