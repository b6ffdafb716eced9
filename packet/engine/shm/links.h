// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/shm/hello.h"
#include "packet/engine/shm/link.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {

/// The links of a process to others, one a slot: opens and accepts them, and notices their end.
///
/// Each process listens at a socket in the shared directory. A process that wants a link connects
/// to the other's, makes the memory, and sends it with its bell; the other one answers with its own
/// bell. Nobody waits: until the answer is there, packets go by UDP. If both ask at once, the
/// process with the lower slot refuses what it is asked for. The connection stays, because its end
/// tells that the other process has ended. (A child of fork() that has not closed it yet delays
/// that.)
class Links {
 public:
  /// Each has 2 MiB of memory and two descriptors.
  static constexpr size_t kMostLinks = 64;

  struct Config {
    const SharingDirectory* directory = nullptr;  ///< outlives this
    uint32_t slot = 0;                            ///< this process's
    uint32_t interface_index = 0;
    int epoll = -1;  ///< is told of all descriptors to watch, with the descriptor as data
    int bell = -1;   ///< wakes this process
    Duration patience = kUsualPatience;  ///< with a process that takes nothing
  };

  /// Both outlive this.
  Links(const Config& config, const std::vector<Gid>& addresses, ShmCounters& counters);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  /// The link to the process with that slot, if it is up.
  [[nodiscard]] Link* find(uint32_t slot) const {
    Link* const link = by_slot_[slot];
    return link != nullptr && link->state() == Link::State::kUp ? link : nullptr;
  }
  /// Asks the process for a link, unless that was done lately. Does nothing if that fails: the next
  /// attempt comes after a pause.
  void ask(uint32_t slot, Instant now);
  /// Something has happened at a descriptor that may be one of these. New links are up after this.
  void look_at(int fd, Instant now);

  /// All that are to be read, up or ending.
  [[nodiscard]] const std::vector<std::unique_ptr<Link>>& all() const { return links_; }
  /// Closes a link whose peer has broken the rules.
  void break_off(Link& link);
  /// Frees what has been read of all rings, and removes links that have ended and are empty.
  void free_read();

  /// Ends all. What the other processes have written is still read, and new links are asked for as
  /// packets want them.
  void begin_anew();
  /// Ends all, and listens no more.
  void close();
  /// In a forked child: closes only descriptors, and tells nobody.
  void abandon();

 private:
  struct Attempt {
    Instant again{INT64_MIN};
    Duration pause{};
  };

  [[nodiscard]] LinkHello own_hello() const {
    return {LinkHello::kMagic, config_.slot, config_.interface_index};
  }
  [[nodiscard]] bool watch(int fd) const;
  void unwatch(int fd) const;
  Expected<void, Errno> try_to_ask(uint32_t slot);
  void accept_callers(Instant now);
  void give_up_listening_if(int errno_value);
  bool hear(FileDescriptor& caller, Instant now);
  void accept(FileDescriptor caller, HeardHello& heard, Instant now);
  void read_connection(Link& link, Instant now);
  void end(Link& link);
  Link* add(std::unique_ptr<Link> link);

  Config config_;
  const std::vector<Gid>& addresses_;
  ShmCounters& counters_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> callers_;  ///< connected, and have said nothing yet
  std::vector<std::unique_ptr<Link>> links_;
  std::array<Link*, kSlots> by_slot_{};  ///< null, or one that was asked for or is up
  std::array<Attempt, kSlots> attempts_{};
};

}  // namespace urxe
