// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holders/holder_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "packet/host/file_size.h"
#include "packet/host/pause.h"

namespace urxe {
namespace {

constexpr uint32_t kMagic = 0x75727832;  // "urx2": to be changed with the layout
constexpr uint32_t kFirstCells = 32;
constexpr uint32_t kCellsAtOnce = 256;
constexpr int kLockAttempts = 2500;
constexpr timespec kLockPause{0, 200000};

int set_lock(int fd, short type, uint32_t at) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno;
}

}  // namespace

struct alignas(64) HolderMemory::Head {
  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> room;   ///< cells that there is memory for
  std::atomic<uint32_t> count;  ///< cells that were handed out
  std::atomic<uint32_t> written;
  std::atomic<uint32_t> first[kBuckets];
};

size_t HolderMemory::bytes_of(uint32_t cells) {
  return sizeof(Head) + cells * sizeof(HolderCell);
}

HolderMemory::Head& HolderMemory::head() const {
  return *static_cast<Head*>(memory_);
}

std::atomic<uint32_t>& HolderMemory::first(uint32_t bucket) const {
  return head().first[bucket % kBuckets];
}

std::atomic<uint32_t>& HolderMemory::written() const {
  return head().written;
}

HolderCell* HolderMemory::cell(uint32_t place) const {
  if (place == 0 || !has_room_for(place)) return nullptr;
  return reinterpret_cast<HolderCell*>(static_cast<std::byte*>(memory_) + bytes_of(place - 1));
}

/// The file never shrinks, so its size is looked at only when the table has grown.
bool HolderMemory::has_room_for(uint32_t cells) const {
  if (cells <= known_room_.load(std::memory_order_relaxed)) return true;
  const uint32_t room = std::min(head().room.load(), kMostCells);
  struct stat status {};
  if (cells > room || fstat(file_.get(), &status) != 0 ||
      static_cast<size_t>(status.st_size) < bytes_of(room)) {
    return false;
  }
  uint32_t known = known_room_.load();
  while (known < room && !known_room_.compare_exchange_weak(known, room)) {
  }
  return true;
}

int HolderMemory::reserve(int fd) {
  // Allocated, not only sized: a full file system must fail here, not as SIGBUS later.
  if (!may_grow_file_to(bytes_of(kFirstCells))) return EFBIG;
  return posix_fallocate(fd, 0, static_cast<off_t>(bytes_of(kFirstCells)));
}

Expected<std::unique_ptr<HolderMemory>, Errno> HolderMemory::map(FileDescriptor file) {
  void* const memory =
      mmap(nullptr, bytes_of(kMostCells), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return error(errno);
  std::unique_ptr<HolderMemory> made(new (std::nothrow) HolderMemory(std::move(file), memory));
  if (made == nullptr) {
    munmap(memory, bytes_of(kMostCells));
    return error(ENOMEM);
  }
  if (auto begun = made->begin(); !begun) return Unexpected<Errno>(begun.error());
  return made;
}

HolderMemory::~HolderMemory() {
  munmap(memory_, bytes_of(kMostCells));
}

/// Nothing may be read from the mapping before the file is known to be that long.
Expected<void, Errno> HolderMemory::begin() {
  if (const int full = reserve(file_.get()); full != 0) return error(full);
  uint32_t magic = 0;
  if (!head().magic.compare_exchange_strong(magic, kMagic) && magic != kMagic) return error(EINVAL);
  uint32_t room = 0;
  if (head().room.compare_exchange_strong(room, kFirstCells)) return {};
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) return error(errno);
  if (room > kMostCells || static_cast<size_t>(status.st_size) < bytes_of(room)) {
    return error(EINVAL);
  }
  return {};
}

Expected<uint32_t, Errno> HolderMemory::add_cell() {
  for (;;) {
    uint32_t count = head().count;
    if (count >= kMostCells) return error(ENOMEM);
    if (count >= head().room) {
      if (auto grown = grow(count + 1); !grown) return Unexpected<Errno>(grown.error());
    }
    if (!has_room_for(count + 1)) return error(ENOMEM);
    if (head().count.compare_exchange_weak(count, count + 1)) return count + 1;
  }
}

Expected<void, Errno> HolderMemory::grow(uint32_t cells) {
  auto lock = Lock::take(*this, kBuckets);
  // Not as if only this key were taken: with another it would be the same.
  if (!lock) return error(lock.error().value == EADDRINUSE ? EBUSY : lock.error().value);
  const uint32_t room = head().room;
  if (room >= cells) return {};
  const uint32_t wanted = std::min(std::min(room, kMostCells) + kCellsAtOnce, kMostCells);
  const auto at = static_cast<off_t>(bytes_of(room));
  if (!may_grow_file_to(bytes_of(wanted))) return error(EFBIG);
  const int failed = posix_fallocate(file_.get(), at, static_cast<off_t>(bytes_of(wanted)) - at);
  if (failed != 0) return error(failed);
  head().room = wanted;
  return {};
}

Expected<HolderMemory::Lock, Errno> HolderMemory::Lock::take(HolderMemory& memory,
                                                             uint32_t bucket) {
  const int fd = memory.file_.get();
  for (int attempt = 0;; ++attempt) {
    const int errno_value = set_lock(fd, F_WRLCK, bucket);
    if (errno_value == 0) return Lock(fd, bucket);
    if (errno_value != EAGAIN && errno_value != EACCES) return error(ENOLCK);
    if (attempt == kLockAttempts) return error(EADDRINUSE);
    pause_for(kLockPause);
  }
}

HolderMemory::Lock::Lock(Lock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), at_(other.at_) {}

HolderMemory::Lock::~Lock() {
  if (fd_ >= 0) set_lock(fd_, F_UNLCK, at_);
}

}  // namespace urxe
