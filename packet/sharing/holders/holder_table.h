// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "packet/sharing/holders/holder.h"
#include "packet/sharing/holders/holder_memory.h"

namespace urxe {

/// The thing that an entry of the table is about.
struct HolderKey {
  enum class Kind : uint32_t {
    kPort = 1,     ///< a port number of librdmacm's port spaces
    kService = 2,  ///< a service at QP1: service_directory.h
  };
  Kind kind;
  uint64_t value = 0;
};

/// Port and service ownership: a table that the processes of a user share in each network
/// namespace, in a mapped file of their SharingDirectory. A record counts as long as its Holder is
/// alive; the record of a dead holder counts as free. A process needs only a few descriptors,
/// whatever the number of its records. Thread-safe.
class HolderTable {
 public:
  /// Details of an entry, which its kind defines.
  using Words = std::array<uint64_t, 4>;
  struct Record {
    uint64_t holder = 0;
    Words what{};
  };
  using Conflict = std::function<bool(const Words& other)>;

  /// The table of the directory. It is never destroyed, and stays valid in a forked child. EMFILE,
  /// ENFILE, ENOMEM; otherwise as HolderMemory::map().
  static Expected<HolderTable*, Errno> open(const SharingDirectory& directory);
  /// The table in a file, whose holders are those of the directory, which outlives it. Errors as
  /// HolderMemory::map().
  static Expected<std::unique_ptr<HolderTable>, Errno> map(FileDescriptor file,
                                                           const SharingDirectory& directory);
  /// Registers the handlers of fork(). A module that uses tables while it holds a lock of its own
  /// calls this before it registers its own handlers.
  static void prepare();

  [[nodiscard]] const SharingDirectory& directory() const { return directory_; }

  /// Adds a record and returns its place. EADDRINUSE: a living holder has a record of the same key
  /// for which `conflict` returns true, or a process that was stopped in the middle of a change is
  /// in the way (after half a second); otherwise as HolderMemory::add_cell().
  Expected<uint32_t, Errno> take(HolderKey key, const Record& record, const Conflict& conflict);
  /// Replaces the holder's own record, unless another one is in conflict with the new one. Errors
  /// as take().
  Expected<void, Errno> change(uint32_t place, HolderKey key, const Record& record,
                               const Conflict& conflict);
  /// Removes the holder's own record.
  void release(uint32_t place, uint64_t holder);

  /// The records of that key, including those of dead holders. Takes no lock, so it misses a record
  /// that is being changed.
  [[nodiscard]] std::vector<Record> find(HolderKey key) const;
  /// Changes whenever a record is added. To be read before find().
  [[nodiscard]] uint32_t changes() const { return memory_->written(); }
  [[nodiscard]] bool lives(uint64_t holder) const { return is_alive(directory_, holder); }

 private:
  class Chain;
  HolderTable(std::unique_ptr<HolderMemory> memory, const SharingDirectory& directory)
      : memory_(std::move(memory)), directory_(directory) {}
  bool is_taken(const Chain& chain, HolderKey key, uint64_t besides, const Conflict& conflict);
  uint32_t find_free(const Chain& chain, uint64_t own);
  bool forget_if_dead(HolderCell& cell);

  std::unique_ptr<HolderMemory> memory_;
  const SharingDirectory& directory_;
};

}  // namespace urxe
