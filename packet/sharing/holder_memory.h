// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// A record of a HolderTable. In a bucket's chain for good once it is there; free and used in turn.
struct alignas(64) HolderCell {
  std::atomic<uint64_t> holder;  ///< 0: free; set last, and cleared first
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> what[4];
  std::atomic<uint32_t> kind;
  std::atomic<uint32_t> version;  ///< odd while the fields above change
  std::atomic<uint32_t> next;     ///< place of the next one in the chain; 0: none
};
static_assert(sizeof(HolderCell) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// The memory of a HolderTable: a file that grows, mapped at its full size from the beginning, or
/// this process's own. An empty file is an empty table. What a process that is killed was at, it
/// leaves as it was or with a record lost until the file is.
class HolderMemory {
 public:
  static constexpr uint32_t kBuckets = 4096;
  static constexpr uint32_t kMostCells = 1U << 17;

  /// What open_own_file() says; ENOSPC: no room; EINVAL: something else is in the file; ENOMEM.
  static Expected<std::unique_ptr<HolderMemory>, Errno> map(const std::string& path);
  /// ENOMEM.
  static Expected<std::unique_ptr<HolderMemory>, Errno> make_private();
  ~HolderMemory();
  HolderMemory(const HolderMemory&) = delete;
  HolderMemory& operator=(const HolderMemory&) = delete;

  [[nodiscard]] bool is_shared() const { return static_cast<bool>(file_); }
  /// The place of the first cell in the bucket's chain.
  [[nodiscard]] std::atomic<uint32_t>& first(uint32_t bucket) const;
  /// Null: 0, or no place in this memory.
  [[nodiscard]] HolderCell* cell(uint32_t place) const;
  /// The place of a cell that nobody has had; 0: there is no more room.
  uint32_t add_cell();

  /// Keeps other processes, not other threads, from changing a bucket's chain; freed by the kernel
  /// with the process. EADDRINUSE: somebody is at it for half a second, who must have been stopped;
  /// ENOLCK.
  class Lock {
   public:
    static Expected<Lock, Errno> take(HolderMemory& memory, uint32_t bucket);
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    Lock(int fd, uint32_t at) : fd_(fd), at_(at) {}
    int fd_;
    uint32_t at_;  ///< the byte of the file that stands for the bucket
  };

 private:
  struct Head;
  HolderMemory(FileDescriptor file, void* memory) : file_(std::move(file)), memory_(memory) {}
  static size_t bytes_of(uint32_t cells);
  static Expected<std::unique_ptr<HolderMemory>, Errno> map_whole(FileDescriptor file);
  [[nodiscard]] Head& head() const;
  Expected<void, Errno> begin();
  bool grow(uint32_t cells);

  FileDescriptor file_;
  void* memory_;
};

}  // namespace urxe
