// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/forward_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace urxe {
namespace {

bool is_nobody(int errno_value) {
  return errno_value == ECONNREFUSED || errno_value == ENOENT;
}

/// Its index; the number of names: it is none of them.
size_t find(std::span<const UnixName> names, const UnixName& name) {
  const auto found = std::ranges::find_if(names, [&](const UnixName& other) {
    return other.size == name.size && std::memcmp(&other.address, &name.address, name.size) == 0;
  });
  return static_cast<size_t>(found - names.begin());
}

bool contains(std::span<const UnixName> names, const UnixName& name) {
  return find(names, name) != names.size();
}

}  // namespace

bool ForwardQueue::send(const UnixName& to, const PacketRun& packets, Instant now) {
  // Packets that wait for the same process go first.
  int errno_value = EAGAIN;
  if (!contains(full_, to)) errno_value = forward_packets(from_fd_, to, packets);
  if (is_nobody(errno_value)) return false;
  if (errno_value == 0) {
    counters_.forwarded += packets.packets();
  } else if (errno_value != EAGAIN || !keep(to, packets, now)) {
    counters_.forward_lost += packets.packets();
  }
  return true;
}

bool ForwardQueue::keep(const UnixName& to, const PacketRun& packets, Instant now) {
  const size_t bytes = packets.bytes.size();
  if (waiting_.size() >= kMaxWaiting || waiting_bytes_ + bytes > kMaxWaitingBytes) return false;
  try {
    if (!contains(full_, to)) full_.push_back(to);
    waiting_.push_back({to,
                        packets.flow,
                        packets.segment_size,
                        {packets.bytes.begin(), packets.bytes.end()},
                        packets.is_start,
                        now});
  } catch (const std::bad_alloc&) {
    return false;
  }
  waiting_bytes_ += bytes;
  return true;
}

void ForwardQueue::clear() {
  waiting_.clear();
  full_.clear();
  waiting_bytes_ = 0;
}

void ForwardQueue::retry(Instant now) {
  // In place: memory may have run out. Those that are full stand first in full_.
  size_t full = 0;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const PacketRun packets{waiting.flow, waiting.segment_size, waiting.bytes, waiting.is_start};
    int errno_value = EAGAIN;
    if (!contains(std::span(full_).first(full), waiting.to)) {
      errno_value = forward_packets(from_fd_, waiting.to, packets);
      if (errno_value == EAGAIN) std::swap(full_[full++], full_[find(full_, waiting.to)]);
    }
    if (errno_value == EAGAIN && now - waiting.since < kMaxWait) return false;
    (errno_value == 0 ? counters_.forwarded : counters_.forward_lost) += packets.packets();
    waiting_bytes_ -= waiting.bytes.size();
    return true;
  });
  full_.resize(full);
}

}  // namespace urxe
