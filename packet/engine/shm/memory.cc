// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "packet/host/file_size.h"

namespace urxe {
namespace {

constexpr size_t kEndBytes = 4096;
constexpr size_t kMemoryBytes = 2 * kEndBytes + 2 * LinkMemory::kRingBytes;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

static_assert(sizeof(LinkEnd) <= kEndBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr size_t whole_rounds(size_t end) {
  return (end + kShortRoundBytes - 1) / kShortRoundBytes * kShortRoundBytes;
}

}  // namespace

Expected<LinkMemory, Errno> LinkMemory::create(FileDescriptor& fd) {
  if (!may_grow_file_to(kMemoryBytes)) return error(EFBIG);
  fd = FileDescriptor(memfd_create("urxe-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), kMemoryBytes) != 0) return error(errno);
  if (fcntl(fd.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return error(errno);
  return map_whole(fd.get());
}

Expected<LinkMemory, Errno> LinkMemory::map(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return error(errno);
  if (!S_ISREG(status.st_mode) || status.st_size != static_cast<off_t>(kMemoryBytes)) {
    return error(EINVAL);
  }
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return error(EINVAL);
  return map_whole(fd);
}

Expected<LinkMemory, Errno> LinkMemory::map_whole(int fd) {
  void* const memory = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return error(errno);
  return LinkMemory(static_cast<uint8_t*>(memory));
}

LinkMemory::LinkMemory(LinkMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

LinkMemory& LinkMemory::operator=(LinkMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

LinkMemory::~LinkMemory() {
  if (memory_ != nullptr) munmap(memory_, kMemoryBytes);
}

LinkEnd& LinkMemory::end(unsigned number) const {
  return *reinterpret_cast<LinkEnd*>(memory_ + number * kEndBytes);
}

std::span<uint8_t> LinkMemory::ring_from(unsigned number) const {
  return {memory_ + 2 * kEndBytes + number * kRingBytes, kRingBytes};
}

/// If the kernel cannot, each page faults when it is used.
void MappedAhead::map_to(size_t end) {
  const size_t to = std::min(whole_rounds(end), ring_.size());
  (void)madvise(ring_.data() + mapped_, to - mapped_, kPopulateWrite);
  mapped_ = to;
}

void publish_address(LinkEnd& end, uint32_t index, const Gid& address) {
  if (index >= LinkEnd::kAddresses) return;
  end.addresses[index] = address;
  end.address_count.store(index + 1, std::memory_order_release);
}

void PeerAddresses::read_new() {
  const uint32_t count =
      std::min(end_->address_count.load(std::memory_order_acquire), LinkEnd::kAddresses);
  while (known_.size() < count) known_.push_back(end_->addresses[known_.size()]);
}

std::optional<uint8_t> PeerAddresses::find(const Gid& address) {
  read_new();
  const auto found = std::ranges::find(known_, address);
  if (found == known_.end()) return std::nullopt;
  return static_cast<uint8_t>(found - known_.begin());
}

const Gid* PeerAddresses::at(uint8_t index) {
  if (index >= known_.size()) read_new();
  return index < known_.size() ? &known_[index] : nullptr;
}

}  // namespace urxe
