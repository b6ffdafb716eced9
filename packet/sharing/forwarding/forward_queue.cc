// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/forward_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace urxe {
namespace {

bool is_nobody(int errno_value) {
  return errno_value == ECONNREFUSED || errno_value == ENOENT;
}

bool contains(const std::vector<UnixName>& names, const UnixName& name) {
  return std::ranges::any_of(names, [&](const UnixName& other) {
    return other.size == name.size && std::memcmp(&other.address, &name.address, name.size) == 0;
  });
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
    waiting_.push_back({to,
                        packets.flow,
                        packets.segment_size,
                        {packets.bytes.begin(), packets.bytes.end()},
                        packets.is_start,
                        now});
    if (!contains(full_, to)) full_.push_back(to);
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
  std::vector<UnixName> full;
  std::deque<Waiting> still;
  waiting_bytes_ = 0;
  for (Waiting& waiting : waiting_) {
    const PacketRun packets{waiting.flow, waiting.segment_size, waiting.bytes, waiting.is_start};
    int errno_value = EAGAIN;
    if (!contains(full, waiting.to)) {
      errno_value = forward_packets(from_fd_, waiting.to, packets);
      if (errno_value == EAGAIN) full.push_back(waiting.to);
    }
    if (errno_value == EAGAIN && now - waiting.since < kMaxWait) {
      waiting_bytes_ += waiting.bytes.size();
      still.push_back(std::move(waiting));
    } else {
      (errno_value == 0 ? counters_.forwarded : counters_.forward_lost) += packets.packets();
    }
  }
  waiting_.swap(still);
  full_.swap(full);
}

}  // namespace urxe
