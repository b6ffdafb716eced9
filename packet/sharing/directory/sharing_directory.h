// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/unix_name.h"
#include "packet/sharing/directory/beacon.h"
#include "packet/sharing/directory/network_directory.h"

namespace urxe {

/// Bytes of the file "locks" that stand for something a process can have; none needs to exist. The
/// first one stands for the use of the directory; SlotMarks has those of slots.
constexpr uint64_t holder_lock(uint64_t holder) {
  return (uint64_t{1} << 61) + holder % (uint64_t{1} << 61);
}
/// `hash`: of the name of anything else.
constexpr uint64_t name_lock(uint64_t hash) {
  return (uint64_t{1} << 62) + hash % (uint64_t{1} << 61);
}

/// The directory through which the processes of a user share the addresses of a network namespace:
/// their sockets, tables and locks are in it.
///
/// No other user can reach it (see UserDirectory), so no datagram that is sent through it needs to
/// be checked, by either side. Who the user is, is decided when the process first needs the
/// directory: it stays the same if the process changes its user. Thread-safe.
class SharingDirectory {
 public:
  /// The directory of the calling thread's network namespace. It is never destroyed, and is valid
  /// in a forked child. The error names the directories that were tried, and why they failed.
  static Expected<SharingDirectory*, EngineError> here();
  /// The directory of the network namespace with that network_identity(). If processes of the user
  /// live there, the one that they share (EBUSY: they have none that this process can use);
  /// otherwise the one in the first of `places` that has one, or else in the first in which it can
  /// be made.
  static Expected<std::unique_ptr<SharingDirectory>, EngineError> open(
      const std::vector<std::string>& places, const std::string& network);
  /// Registers the handlers of fork(). A module that uses the directory while it holds a lock of
  /// its own calls this before it registers its own handlers.
  static void prepare();

  /// Empty if it has none here, because processes with another file system have made it.
  [[nodiscard]] const std::string& path() const { return directory_.path; }
  /// Lets processes of the user that this process has now, if they cannot see the path, find the
  /// directory, for as long as the beacon exists.
  [[nodiscard]] Beacon make_beacon() const;
  /// Whether all processes that can be found, of the directory's user and of the one that this
  /// process has now, share this directory. If not, neither they nor this one can receive what
  /// comes for them: the error (EBUSY) says so.
  [[nodiscard]] Expected<void, EngineError> check_alone() const;
  /// The socket of the process that has the slot.
  [[nodiscard]] UnixName slot_name(uint32_t slot) const {
    return name(SlotMarks::Socket::kSlot, slot);
  }
  /// The socket of that process for requests to its services.
  [[nodiscard]] UnixName services_name(uint32_t slot) const {
    return name(SlotMarks::Socket::kServices, slot);
  }
  /// The socket at which that process waits for others that offer it shared memory.
  [[nodiscard]] UnixName links_name(uint32_t slot) const {
    return name(SlotMarks::Socket::kLinks, slot);
  }
  /// The byte that the owner of the slot has locked.
  [[nodiscard]] uint64_t slot_lock(uint32_t slot) const { return directory_.marks.lock(slot); }
  /// Whether the process at the other end of the socket is of the directory's user, or of the one
  /// that this process has become since.
  [[nodiscard]] bool is_member(int socket) const;

  /// A file that is there from the beginning, for reading and writing.
  [[nodiscard]] Expected<FileDescriptor, Errno> open_file(const char* file) const;
  /// Locks a byte of the file "locks", until the descriptor is closed. EADDRINUSE: it is locked.
  [[nodiscard]] Expected<FileDescriptor, Errno> take(uint64_t byte) const;
  /// Whether take() would return EADDRINUSE. True if that cannot be found out.
  [[nodiscard]] bool is_taken(uint64_t byte) const;

 private:
  SharingDirectory(NetworkDirectory directory, uid_t user)
      : directory_(std::move(directory)), user_(user) {}
  [[nodiscard]] UnixName name(SlotMarks::Socket kind, uint32_t slot) const;

  NetworkDirectory directory_;
  uid_t user_;
};

}  // namespace urxe
