// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/holder_memory.h"

namespace urxe {

/// What a thing is that can be held.
struct HolderKey {
  enum class Kind : uint32_t {
    kPort = 1,     ///< of the connection manager: provider/cm/port_use.h
    kService = 2,  ///< at QP1: packet/engine/service_directory.h
  };
  Kind kind;
  uint64_t value = 0;
};

/// Who of a user's processes holds what in a network namespace: records in memory that they share,
/// in a file of the user. A record is good for as long as its Holder lives; that of a dead one is
/// as good as none. However many records a process has, it costs a few descriptors.
///
/// Processes that find no directory in common, such as those of containers that share nothing but
/// the network, do not see each other's records. Thread-safe.
class HolderTable {
 public:
  /// What more there is to say of a holding.
  using Words = std::array<uint64_t, 4>;
  struct Record {
    uint64_t holder = 0;
    Words what{};
  };
  using Conflict = std::function<bool(const Words& other)>;

  /// The table of the calling thread's network namespace, for as long as the process lives; in a
  /// forked child too. Where no file is to be had it is this process's alone. EMFILE, ENFILE,
  /// ENOMEM.
  static Expected<HolderTable*, Errno> open();
  /// The table in a file; errors as HolderMemory::map(), EMFILE.
  static Expected<std::unique_ptr<HolderTable>, Errno> map(const std::string& path);
  /// To be called before the handlers of fork() are registered of who uses tables with a lock held.
  static void prepare();

  [[nodiscard]] bool is_shared() const { return memory_->is_shared(); }

  /// Adds a record unless there is one of the same key that is in conflict with it, of a living
  /// holder. Answers its place. EADDRINUSE: there is one, or somebody who was stopped in the middle
  /// of a change is in the way (after half a second); ENOMEM: no room.
  Expected<uint32_t, Errno> take(HolderKey key, const Record& record, const Conflict& conflict);
  /// Has the holder's own record say something else, unless another's is in conflict with that.
  /// Errors as take().
  Expected<void, Errno> change(uint32_t place, HolderKey key, const Record& record,
                               const Conflict& conflict);
  /// Ends the holder's own record.
  void release(uint32_t place, uint64_t holder);

  /// The records of that key, of dead holders too. Waits for nobody, and so does not see one that
  /// is changing just now.
  [[nodiscard]] std::vector<Record> find(HolderKey key) const;
  [[nodiscard]] bool lives(uint64_t holder);

 private:
  class Chain;
  HolderTable(std::unique_ptr<HolderMemory> memory, FileDescriptor probe)
      : memory_(std::move(memory)), probe_(std::move(probe)) {}
  static Expected<std::unique_ptr<HolderTable>, Errno> make(std::unique_ptr<HolderMemory> memory);
  static Expected<std::unique_ptr<HolderTable>, Errno> make_for(uint64_t network_namespace);
  bool is_taken(const Chain& chain, HolderKey key, uint64_t besides, const Conflict& conflict);
  uint32_t find_free(const Chain& chain, uint64_t own);
  bool forget_if_dead(HolderCell& cell);
  bool is_alive(uint64_t holder) const;

  std::unique_ptr<HolderMemory> memory_;
  FileDescriptor probe_;  ///< connects to holders, to see whether they are there
};

}  // namespace urxe
