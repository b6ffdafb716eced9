// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/slots/slots.h"
#include "provider/devices/device_file.h"
#include "provider/observation/stat_directory.h"
#include "provider/runtime/device/local_addresses.h"
#include "provider/runtime/progress/progress.h"
#include "transport/device/device.h"

namespace urxe {

/// What a lane tells others of itself goes into these files.
struct LaneFiles {
  FileDescriptor counters;
  StatFile reports;
};
LaneFiles open_lane_files(const std::string& device);

/// A lane of a device of this process: queue pairs that one thread drives at a time, with a lock,
/// an engine and a background thread of their own. To other processes, and to the network, each
/// lane looks like a process: it has a slot, by which its packets come to it.
///
/// Until start() a lane uses only memory. With the locks of all lanes held, except where a function
/// says so.
class Lane {
 public:
  /// The first lane of `owner`.
  Lane(const DeviceConfig& config, RuntimeDevice& owner, LaneFiles files);
  /// A further one, with a number above 0.
  Lane(Lane& first, uint32_t number, LaneFiles files);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] Progress& progress() { return progress_; }
  [[nodiscard]] bool is_started() { return progress_.engine() != nullptr; }
  [[nodiscard]] AddressSharing& sharing() { return *sharing_; }

  /// Takes a slot and an engine and starts the thread, unless that was done before.
  Expected<void, EngineError> start(const DeviceDescription& description);

  // After start():

  [[nodiscard]] uint32_t slot() const { return slot_->number(); }
  /// The next queue pair number, which was not used lately.
  Qpn next_qpn() { return slot_->next_qpn(); }
  /// Makes a local address usable, for QP1 too.
  Expected<void, EngineError> open_address(const Gid& local);
  /// Makes all local addresses usable, because datagrams may come to any. If none can be, returns
  /// the first one's error.
  Expected<void, EngineError> open_addresses();
  /// Why the last open_addresses() could not open one of them; nullopt: it could, or the kernel has
  /// not confirmed the address yet.
  [[nodiscard]] const std::optional<EngineError>& unopened() const { return unopened_; }
  /// Tries again to open what could not be opened.
  void open_missing();
  /// As PacketEngine. An address stays open while a port of it is claimed, even if the interface
  /// has lost it: it may come back while queue pairs still repeat their requests.
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted);
  void release_source_port(const Gid& local, uint16_t port);

  /// The interface, or what is known of it, has changed.
  void follow(const DeviceDescription& now, bool has_new_addresses);
  void after_fork_in_child();

 private:
  Expected<std::unique_ptr<PacketEngine>, EngineError> make_engine(const DeviceDescription& of);
  Expected<std::unique_ptr<PacketEngine>, EngineError> make_carrier(const DeviceDescription& of);
  void configure_cm(uint64_t ca_guid);
  Expected<void, EngineError> open(const Gid& local, bool asked_for);
  void close_lost_addresses();

  const uint32_t number_;
  bool opens_addresses_ = false;  ///< open_addresses() was called
  bool lacks_addresses_ = false;  ///< and could not open all
  std::optional<EngineError> unopened_;
  LaneFiles files_;  ///< until the lane has started
  Device device_;
  std::optional<Slot> slot_;
  std::optional<AddressSharing> sharing_;
  LocalAddresses addresses_;
  Progress progress_;
};

}  // namespace urxe
