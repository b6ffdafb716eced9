// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/shm/ring.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe {

/// What one of the two processes of a link tells the other through their memory.
struct LinkEnd {
  static constexpr uint32_t kAddresses = 64;

  /// How far it has freed the ring to it (RingReader).
  alignas(kCacheLine) std::atomic<uint64_t> freed;
  /// It is about to sleep. When the other end has written to the ring to it, that end clears this
  /// and wakes it.
  alignas(kCacheLine) std::atomic<uint32_t> asleep;
  /// It sleeps, and has packets that did not fit in the ring from it. When the other end has freed
  /// some of that ring, that end clears this and wakes it.
  alignas(kCacheLine) std::atomic<uint32_t> wants_room;
  /// The addresses that it has opened. None ever goes or changes: when all places are taken, new
  /// links begin without those that were closed.
  alignas(kCacheLine) std::atomic<uint32_t> address_count;
  std::array<Gid, kAddresses> addresses;
};

/// The memory of a link: two ends and the two rings. A file without a name (memfd_create(2)) that
/// can never change its size, so that no access fails.
class LinkMemory {
 public:
  static constexpr size_t kRingBytes = size_t{1} << 20;

  /// New memory, all zeros. `fd` is for the other process. ENOMEM, EMFILE, ENFILE, ENOSYS,
  /// EFBIG (RLIMIT_FSIZE).
  static Expected<LinkMemory, Errno> create(FileDescriptor& fd);
  /// That of a descriptor that another process has made. EINVAL: it did not come from create().
  static Expected<LinkMemory, Errno> map(int fd);

  LinkMemory(LinkMemory&& other) noexcept;
  LinkMemory& operator=(LinkMemory&& other) noexcept;
  ~LinkMemory();

  /// 0: of the process that has made the memory; 1: of the other one.
  [[nodiscard]] LinkEnd& end(unsigned number) const;
  /// The ring that the process of that end writes to.
  [[nodiscard]] std::span<uint8_t> ring_from(unsigned number) const;

 private:
  explicit LinkMemory(uint8_t* memory) : memory_(memory) {}
  static Expected<LinkMemory, Errno> map_whole(int fd);

  uint8_t* memory_;
};

/// Maps the pages of a ring before they are used, many with one system call, and the first ones at
/// once. A page fault for each of them takes ten times as long.
class MappedAhead {
 public:
  explicit MappedAhead(std::span<uint8_t> ring) : ring_(ring) { use(1); }
  /// The ring is about to be used up to this offset.
  void use(size_t end) {
    if (end > mapped_) map_to(end);
  }

 private:
  void map_to(size_t end);

  std::span<uint8_t> ring_;
  size_t mapped_ = 0;
};

/// Writes the address with the number `index` of an end. They are written in order.
void publish_address(LinkEnd& end, uint32_t index, const Gid& address);

/// The addresses of the other end, as far as they have been read. What has been read stays.
class PeerAddresses {
 public:
  explicit PeerAddresses(const LinkEnd& end) : end_(&end) { known_.reserve(LinkEnd::kAddresses); }
  [[nodiscard]] std::optional<uint8_t> find(const Gid& address);
  [[nodiscard]] const Gid* at(uint8_t index);

 private:
  void read_new();

  const LinkEnd* end_;
  std::vector<Gid> known_;
};

}  // namespace urxe
