// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packet/base/time.h"
#include "provider/observation/stat_directory.h"
#include "provider/observation/stat_page.h"
#include "transport/device/device.h"

namespace urxe {

/// Writes what there is to say of a device's queue pairs into the process's file. If the file
/// cannot be made or has no room, nothing is told; traffic does not depend on it. Not thread-safe.
class StatWriter {
 public:
  StatWriter() = default;
  /// Takes a file that make_stat_file() has made.
  StatWriter(StatFile file, std::string_view device, std::string_view engine, Instant now);
  /// As end().
  ~StatWriter();
  StatWriter(StatWriter&& other) noexcept;
  StatWriter& operator=(StatWriter&& other) noexcept;
  StatWriter(const StatWriter&) = delete;
  StatWriter& operator=(const StatWriter&) = delete;

  [[nodiscard]] bool is_open() const { return memory_ != nullptr; }
  /// Whether the next call of publish() begins with the first record.
  [[nodiscard]] bool begins_anew() const { return next_ == 0; }
  /// Writes the next records, so many that this takes some microseconds. False: some are left,
  /// whose turn comes with the next calls.
  bool publish(const Device& device, Instant now);
  /// How many packets shared memory has carried, beside the engine.
  void tell_memory_packets(uint64_t packets);
  /// The numbers of the contexts that are open, no more than kContextReports of the `count`.
  void tell_contexts(std::span<const uint32_t> numbers, size_t count);
  /// A new id of the connection manager, or a known one that has changed.
  void tell_cm_id(const CmIdReport& report);
  /// The id of that number is not bound to the device any more.
  void forget_cm_id(uint32_t number);
  /// The queue pair in the place is going to be destroyed: keeps what there is to say of it, if it
  /// has failed.
  void end_queue_pair(const Device& device, size_t place, Instant now);
  /// The process ends, or leaves the device: removes the file, unless it tells of a failure.
  void end(Instant now);
  /// In the child of a fork(): the file is the parent's.
  void abandon();

 private:
  [[nodiscard]] StatHeader& header() const { return *static_cast<StatHeader*>(memory_); }
  template <class Shared>
  [[nodiscard]] Shared& at(size_t offset) const {
    return *reinterpret_cast<Shared*>(static_cast<uint8_t*>(memory_) + offset);
  }
  void describe(std::string_view device, std::string_view engine, Instant now);
  bool make_room(size_t places);
  void publish_objects(const Device& device);
  void write(size_t offset, const QpReport* report, Instant ended);
  void write_cm_id(size_t place, const CmIdReport* report);

  StatFile file_;
  void* memory_ = nullptr;
  size_t room_ = 0;              ///< records that the file has space for
  size_t next_ = 0;              ///< the place to write next
  uint64_t object_changes_ = 0;  ///< Device::object_changes() of what is written
  std::unordered_map<uint32_t, size_t> cm_id_places_;  ///< by number; those beyond have no room
  std::vector<size_t> free_cm_id_places_;              ///< of the room
};

}  // namespace urxe
