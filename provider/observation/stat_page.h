// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "packet/wire/qpn_layout.h"
#include "provider/observation/cm_id_report.h"
#include "transport/observation/object_report.h"
#include "transport/observation/qp_report.h"

namespace urxe {

// The file in which a process tells of one device's queue pairs: a header, records of queue pairs
// that have failed and ended, the newest of them, other objects, contexts, ids of the connection
// manager, and a record for each place (Device::report()).
// The process writes, and any number of observers map the file and read: neither ever waits for the
// other. All of it is written in words, as atomics; a record's `turn` is odd while the record is
// being written, so that an observer can tell a torn one. A file that tells of a failure is kept
// for some time after the process has ended (stat_directory.h).

inline constexpr uint64_t kStatMagic = 0x3774'6174'7378'7275;  ///< "urxstat7"
inline constexpr size_t kStatRecords = kQpIndices;
inline constexpr size_t kEndedRecords = 16;
inline constexpr size_t kStatHeaderBytes = 4096;
/// Objects beyond these are only counted.
inline constexpr size_t kDomainReports = 128;
inline constexpr size_t kRegionReports = 1024;
inline constexpr size_t kCompletionQueueReports = 256;
inline constexpr size_t kSharedReceiveQueueReports = 256;
inline constexpr size_t kContextReports = 64;
inline constexpr size_t kCmIdReports = 256;

struct StatRecord {
  uint64_t turn = 0;
  uint64_t used = 0;     ///< 1: there is a queue pair
  int64_t ended_ns = 0;  ///< when it was destroyed, or its process has ended
  QpReport report;
};

struct StatHeader {
  uint64_t magic = 0;
  uint64_t record_bytes = sizeof(StatRecord);  ///< tells apart builds with different reports
  uint64_t pid = 0;
  int64_t started_ns = 0;          ///< on the clock of Instant
  std::array<char, 64> device{};   ///< name, ends with a null
  std::array<char, 32> program{};  ///< the same
  std::array<char, 16> engine{};   ///< the same
  uint64_t network_namespace = 0;  ///< own_network_namespace()
  uint64_t process_started = 0;    ///< ProcessState::started
  uint64_t pid_namespace = 0;      ///< own_pid_namespace()
  // These change.
  int64_t published_ns = 0;     ///< when the process last wrote
  uint64_t places = 0;          ///< records that mean something: no more than the file has room for
  uint64_t memory_packets = 0;  ///< that shared memory has carried
  uint64_t left_out = 0;        ///< places for which there is no room
  uint64_t cm_ids = 0;          ///< ids, also those for which there is no room
  uint64_t has_failures = 0;    ///< 1: some record tells, or has told, of a failure
  uint64_t ended = 0;           ///< queue pairs that have failed and ended
  int64_t ended_ns = 0;         ///< when the process has ended, or left the device; 0: it has not
};
static_assert(sizeof(StatHeader) <= kStatHeaderBytes);

/// The objects that are no queue pairs: as many of the reports mean something as there are objects.
/// `turn` as in a record.
struct StatObjects {
  uint64_t turn = 0;
  ObjectCounts counts;
  std::array<DomainReport, kDomainReports> domains{};
  std::array<RegionReport, kRegionReports> regions{};
  std::array<CompletionQueueReport, kCompletionQueueReports> completion_queues{};
  std::array<SharedReceiveQueueReport, kSharedReceiveQueueReports> shared_receive_queues{};
};

/// The contexts of the device that the process has open, by their numbers.
struct StatContexts {
  uint64_t turn = 0;
  uint64_t count = 0;
  std::array<uint64_t, kContextReports> numbers{};
};

/// The place of an id.
struct StatCmId {
  uint64_t turn = 0;
  uint64_t used = 0;  ///< 1: there is one
  CmIdReport report;
};

inline constexpr size_t kObjectsOffset = kStatHeaderBytes + kEndedRecords * sizeof(StatRecord);
inline constexpr size_t kContextsOffset = kObjectsOffset + sizeof(StatObjects);
inline constexpr size_t kCmIdsOffset = kContextsOffset + sizeof(StatContexts);
/// Where the records of places begin.
inline constexpr size_t kPlacesOffset = kCmIdsOffset + kCmIdReports * sizeof(StatCmId);
inline constexpr size_t kStatBytes = kPlacesOffset + kStatRecords * sizeof(StatRecord);
/// The size of a file for which there was no room: it only says that.
inline constexpr size_t kNoRoomBytes = 1;

/// Copies a value of whole words to shared memory, or from it. What was stored before is visible
/// before the copy is, and what is loaded after is not older.
template <class Value>
void copy_words(const Value& from, Value& to) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(uint64_t) == 0);
  auto* const source = reinterpret_cast<uint64_t*>(const_cast<Value*>(&from));
  auto* const target = reinterpret_cast<uint64_t*>(&to);
  for (size_t i = 0; i < sizeof(Value) / sizeof(uint64_t); ++i) {
    const uint64_t word = std::atomic_ref(source[i]).load(std::memory_order_acquire);
    std::atomic_ref(target[i]).store(word, std::memory_order_release);
  }
}

}  // namespace urxe
