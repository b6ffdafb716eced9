// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "packet/base/time.h"
#include "provider/observation/stat_page.h"

namespace urxe {

/// What one process told of one device.
struct DeviceObservation {
  uint32_t pid = 0;              ///< as the process sees itself
  uint64_t process_started = 0;  ///< ProcessState::started
  uint64_t pid_namespace = 0;    ///< own_pid_namespace()
  std::string program;
  std::string device;
  std::string engine;  ///< "udp+shm": shared memory has carried packets, too
  Instant started{};
  Instant published{};       ///< when the process last wrote
  Instant observed{};        ///< when this was read
  char process_state = '?';  ///< ProcessState::state; '?': not known
  uint64_t left_out = 0;     ///< queue pairs that the file has no room for
  std::vector<QpReport> queue_pairs;
  ObjectCounts counts;
  uint64_t context_count = 0;
  uint64_t cm_id_count = 0;
  // Of each of these no more than there is room for (kDomainReports, ...).
  std::vector<DomainReport> domains;
  std::vector<RegionReport> regions;
  std::vector<CompletionQueueReport> completion_queues;
  std::vector<SharedReceiveQueueReport> shared_receive_queues;
  std::vector<uint64_t> contexts;  ///< their numbers
  std::vector<CmIdReport> cm_ids;
};

/// Tells the process from all others: several PID namespaces may have the same process ID.
inline auto process_of(const DeviceObservation& device) {
  return std::tuple(device.pid, device.pid_namespace, device.process_started);
}

/// Whether the process was stopped by a signal or a debugger: what it told is out of date.
inline bool is_stopped(const DeviceObservation& device) {
  return device.process_state == 'T' || device.process_state == 't';
}

/// A queue pair that has failed and exists no more.
struct EndedQueuePair {
  DeviceObservation device;  ///< without queue pairs
  bool process_has_ended = false;
  Instant ended{};
  QpReport report;
};

struct Observation {
  std::vector<DeviceObservation> devices;  ///< by process ID and name
  uint64_t pid_namespace = 0;              ///< of the observer
  std::vector<EndedQueuePair> ended;       ///< the newest last
  size_t unreadable = 0;                   ///< files that another build of urxe has written
  size_t without_room = 0;                 ///< files that there was no room for
  size_t unopened = 0;                     ///< StatFiles::unopened
};

/// Reads what all processes of the user tell, in this network namespace or in any. No process is
/// stopped or disturbed.
enum class Whose : uint8_t { kThisNamespace, kAll };
/// `more_places` as for open_stat_files().
Observation observe(Whose whose, const std::vector<std::string>& more_places = {});

}  // namespace urxe
