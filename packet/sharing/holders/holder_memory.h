// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// A record of a HolderTable. Once it is in a bucket's chain it stays there; it can become free and
/// be used again.
struct alignas(64) HolderCell {
  std::atomic<uint64_t> holder;  ///< 0: free. Set last, cleared first
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> what[4];
  std::atomic<uint32_t> kind;
  std::atomic<uint32_t> version;  ///< odd while the fields above are being changed
  std::atomic<uint32_t> next;     ///< place of the next record in the chain; 0: none
};
static_assert(sizeof(HolderCell) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// The memory of a HolderTable: a file that grows and is mapped at its full size from the
/// beginning. An empty file is an empty table. A process that is killed in the middle of a change
/// leaves the table as it was, or with one record lost until the file is removed.
class HolderMemory {
 public:
  static constexpr uint32_t kBuckets = 4096;
  static constexpr uint32_t kMostCells = 1U << 17;

  /// ENOSPC: the file system is full; EINVAL: the file holds something else; ENOMEM.
  static Expected<std::unique_ptr<HolderMemory>, Errno> map(FileDescriptor file);
  /// Allocates what map() needs of a file, which may be empty. Returns 0 or the errno.
  static int reserve(int fd);
  ~HolderMemory();
  HolderMemory(const HolderMemory&) = delete;
  HolderMemory& operator=(const HolderMemory&) = delete;

  /// The place of the first cell in the bucket's chain.
  [[nodiscard]] std::atomic<uint32_t>& first(uint32_t bucket) const;
  /// Null if `place` is 0 or outside this memory. A place that was inside once stays so, whatever
  /// other processes write to the file.
  [[nodiscard]] HolderCell* cell(uint32_t place) const;
  /// Counts the records that were written: after a new one it differs.
  [[nodiscard]] std::atomic<uint32_t>& written() const;
  /// Adds a cell and returns its place. ENOMEM: there are kMostCells, or the file is damaged;
  /// ENOSPC: the file system is full; EFBIG: a limit of this process; EBUSY: a process that was
  /// stopped is in the way (after half a second); ENOLCK.
  Expected<uint32_t, Errno> add_cell();

  /// Keeps other processes, but not other threads, from changing a bucket's chain. The kernel frees
  /// it when the process ends. EADDRINUSE: another process has had it for half a second, so it must
  /// have been stopped; ENOLCK.
  class Lock {
   public:
    static Expected<Lock, Errno> take(HolderMemory& memory, uint32_t bucket);
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    Lock(int fd, uint32_t at) : fd_(fd), at_(at) {}
    int fd_;
    uint32_t at_;  ///< the byte of the file whose lock stands for the bucket
  };

 private:
  struct Head;
  HolderMemory(FileDescriptor file, void* memory) : file_(std::move(file)), memory_(memory) {}
  static size_t bytes_of(uint32_t cells);
  [[nodiscard]] Head& head() const;
  Expected<void, Errno> begin();
  Expected<void, Errno> grow(uint32_t cells);
  [[nodiscard]] bool has_room_for(uint32_t cells) const;

  FileDescriptor file_;
  void* memory_;
  mutable std::atomic<uint32_t> known_room_{0};  ///< cells that the file was seen to have
};

}  // namespace urxe
