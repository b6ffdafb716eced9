// SPDX-License-Identifier: BSD-2-Clause
// What comes: from other processes, from this one, and by the inner engine.
#include <algorithm>

#include "packet/engine/shm/shm.h"

namespace urxe {
namespace {

/// What one receive() takes from the rings.
constexpr size_t kBytesAtOnce = size_t{192} << 10;
constexpr size_t kMostFromLinks = 2048;  ///< packets, those of the process itself with them
static_assert(OwnPackets::kMostAtOnce + kMaxRecordPackets <= kMostFromLinks);
static_assert(kMostFromLinks + kUsualPacketsAtOnce < ShmEngine::kPacketsReserved);
// After packets have come through memory, calls between two looks whether the inner engine has
// packets, which cost a system call each.
constexpr uint32_t kInnerInterval = 128;     ///< then epoll tells whether there are any
constexpr uint32_t kInnerIntervalMixed = 8;  ///< if there were some in the last looks
constexpr uint32_t kMixedLooks = 128;
/// So many bytes from memory count as a call.
constexpr size_t kBytesOfACall = 8192;
/// From then on each call looks: as many calls without packets as a process makes in some 0.2 ms.
constexpr uint32_t kQuietCalls = 4096;
/// In so many empty looks an engine has looked at all its sockets.
constexpr int kLooksAtSockets = 3;
}  // namespace

std::span<const RxPacket> ShmEngine::receive() {
  packets_.clear();
  took_memory_ = false;
  if (links_ == nullptr) return inner_lane().receive();
  links_->free_read();
  flush();
  if (calls_until_look_-- == 0) look_around();
  const bool own_were_in_sockets = take_own();
  const bool inner_was_read = take_from_links(own_were_in_sockets);
  if (took_memory_) quiet_calls_ = 0;
  if (inner_was_read || !is_inners_turn()) return packets_;
  const auto others = receive_from_inner();
  if (packets_.empty()) return others;
  packets_.insert(packets_.end(), others.begin(), others.end());
  return packets_;
}

bool ShmEngine::is_inners_turn() {
  if (!took_memory_ && quiet_calls_ < kQuietCalls) ++quiet_calls_;
  const uint32_t interval = quiet_calls_ >= kQuietCalls    ? 1
                            : looks_in_vain_ < kMixedLooks ? kInnerIntervalMixed
                                                           : kInnerInterval;
  if (!inner_has_more_ && ++calls_without_inner_ < interval) return false;
  calls_without_inner_ = 0;
  if (inner_has_more_ || interval != kInnerInterval) return true;
  // One system call for all descriptors. The rings that packets_ lie in stay until the next call.
  look_around();
  return inner_has_more_;
}

std::span<const RxPacket> ShmEngine::receive_from_inner() {
  const auto packets = inner_lane().receive();
  inner_has_more_ = !packets.empty();
  looks_in_vain_ = packets.empty() ? std::min(looks_in_vain_ + 1, kMixedLooks) : 0;
  return packets;
}

/// Returns whether packets of the inner engine are among those that were taken, now or before:
/// then it must not be read again.
bool ShmEngine::take_from_links(bool inner_was_read) {
  const auto& links = links_->all();
  if (links.empty()) return inner_was_read;
  first_ = first_ + 1 < links.size() ? first_ + 1 : 0;
  size_t room = kBytesAtOnce;
  for (size_t i = 0; i < links.size() && room > 0; ++i) {
    const size_t at = first_ + i;
    Link& link = *links[at < links.size() ? at : at - links.size()];
    if (!link.has_next()) continue;
    if (!link.sockets_were_empty()) {
      if (inner_was_read) continue;
      if (must_read_sockets_first(link)) return true;
    }
    take_from(link, room);
  }
  return inner_was_read;
}

/// What was sent by UDP before the link's first record comes before it.
bool ShmEngine::must_read_sockets_first(Link& link) {
  if (read_sockets_first()) return true;
  link.note_sockets_empty();
  return false;
}

/// False: the sockets are empty.
bool ShmEngine::read_sockets_first() {
  for (int look = 0; look < kLooksAtSockets; ++look) {
    const auto others = receive_from_inner();
    if (others.empty()) continue;
    packets_.insert(packets_.end(), others.begin(), others.end());
    return true;
  }
  return false;
}

void ShmEngine::take_from(Link& link, size_t& room) {
  while (room > 0 && packets_.size() <= kMostFromLinks - kMaxRecordPackets) {
    RingReader::Record record;
    const auto result = link.read(record);
    if (result == RingReader::Result::kEmpty) return;
    if (result == RingReader::Result::kBroken || !take(link, record)) {
      return links_->break_off(link);
    }
    room -= std::min(room, record.packets.size());
  }
}

bool ShmEngine::take(Link& link, const RingReader::Record& record) {
  const RecordInfo& info = record.info;
  const Gid* const source = link.peer_address(info.source);
  const Gid* const destination = link.own_address(info.destination);
  if (source == nullptr || destination == nullptr) return false;
  PacketRun run;
  run.flow.source = *source;
  run.flow.destination = *destination;
  run.flow.source_port = info.source_port;
  run.flow.traffic_class = info.traffic_class;
  run.flow.hop_limit = info.hop_limit;
  run.segment_size = info.segment_size;
  run.bytes = record.packets;
  hand_on(run, info.numbered, info.sealed);
  return true;
}

void ShmEngine::hand_on(const PacketRun& run, bool numbered, bool sealed) {
  uint16_t identification = 0;
  run.for_each([&](std::span<const uint8_t> bytes) {
    // In place: to build a packet and then copy it takes several times as long.
    RxPacket& packet = packets_.emplace_back();
    packet.bytes = bytes;
    packet.flow = run.flow;
    packet.ipv4_identification = identification;
    packet.has_icrc = sealed;
    packet.through_memory = true;
    if (numbered) ++identification;
  });
  took_memory_ = true;
  calls_without_inner_ += static_cast<uint32_t>(run.bytes.size() / kBytesOfACall);
  counters_.received_packets += run.packets();
  counters_.received_bytes += run.bytes.size();
}

}  // namespace urxe
