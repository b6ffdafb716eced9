// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/link.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <utility>

#include "packet/base/fence.h"
#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"
#include "packet/wire/types.h"

namespace urxe {
namespace {

constexpr Duration kQuiet = microseconds(100);
constexpr Duration kLongEnough = milliseconds(2);
constexpr Duration kAnyway = milliseconds(50);

}  // namespace

bool is_bell(int fd) {
  struct stat status {};
  // An eventfd is no file, pipe, socket or device.
  if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != 0) return false;
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

Link::Link(uint32_t slot, FileDescriptor connection, LinkMemory memory, unsigned number,
           const std::vector<Gid>& addresses, Duration patience, ShmCounters& counters)
    : slot_(slot),
      connection_(std::move(connection)),
      memory_(std::move(memory)),
      patience_(patience),
      counters_(counters),
      own_(memory_.end(number)),
      peer_(memory_.end(1 - number)),
      writer_(memory_.ring_from(number), peer_.freed),
      reader_(memory_.ring_from(1 - number), own_.freed),
      mapped_to_write_(memory_.ring_from(number)),
      mapped_to_read_(memory_.ring_from(1 - number)),
      peer_addresses_(peer_) {
  addresses_.reserve(LinkEnd::kAddresses);
  for (const Gid& address : addresses) add_address(address);
}

void Link::add_address(const Gid& address) {
  if (addresses_.size() == LinkEnd::kAddresses) return;
  publish_address(own_, static_cast<uint32_t>(addresses_.size()), address);
  addresses_.push_back(address);
}

void Link::come_up(FileDescriptor bell, uint32_t interface_index, Instant now) {
  bell_ = std::move(bell);
  peer_interface_ = interface_index;
  up_since_ = last_by_udp_ = now;
  state_ = State::kUp;
}

void Link::end() {
  connection_.reset();
  backlog_.reset();
  state_ = state_ == State::kUp ? State::kEnding : State::kEnded;
}

bool Link::reaches(const Flow& flow, uint32_t interface_index) {
  // Hosts of two networks may have the same link-local address.
  if (flow.destination.is_ipv6_link_local() && peer_interface_ != interface_index) return false;
  return peer_addresses_.find(flow.destination) &&
         std::ranges::find(addresses_, flow.source) != addresses_.end();
}

bool Link::begin_to_send(Instant now, bool udp_waits) {
  const Duration up = now - up_since_;
  may_send_ = now - last_by_udp_ > kQuiet || (up > kLongEnough && !udp_waits) || up > kAnyway;
  last_by_udp_ = now;
  return may_send_;
}

bool Link::send(const TxBatch::Message& message, const uint8_t* memory, bool asleep) {
  // Packets that wait are not overtaken.
  if (backlog_ != nullptr && backlog_->refuses()) return false;
  if (!has_waiting() && write(message, memory)) return true;
  const bool taken = delay(message, memory);
  if (!asleep) return taken;
  own_.wants_room.store(1, std::memory_order_relaxed);
  full_fence();
  flush();
  return taken;
}

bool Link::write(const TxBatch::Message& message, const uint8_t* memory) {
  const Flow& flow = message.flow;
  RecordInfo info;
  info.segment_size = static_cast<uint16_t>(message.segment_size);
  info.source_port = flow.source_port;
  info.source =
      static_cast<uint8_t>(std::ranges::find(addresses_, flow.source) - addresses_.begin());
  info.destination = peer_addresses_.find(flow.destination).value_or(0);
  info.traffic_class = flow.traffic_class;
  info.hop_limit = flow.hop_limit == 0 ? kDefaultHopLimit : flow.hop_limit;
  info.numbered = message.segments > 1;
  info.sealed = message.sealed;
  mapped_to_write_.use(writer_.end_of_next(message.size));
  uint8_t* const to = writer_.begin(info, message.size);
  if (to == nullptr) return false;
  TxBatch::copy(message, memory, to);
  writer_.end();
  counters_.sent_packets += message.segments;
  counters_.sent_bytes += message.size;
  full_fence();
  wake_peer(peer_.asleep);
  return true;
}

bool Link::delay(const TxBatch::Message& message, const uint8_t* memory) {
  try {
    if (!backlog_) backlog_ = std::make_unique<SendBacklog>();
  } catch (const std::bad_alloc&) {
    counters_.backlog_lost += message.segments;
    return true;
  }
  if (backlog_->push(message, memory)) {
    counters_.delayed += message.segments;
    return true;
  }
  if (!backlog_->gives_up(clock_now(), patience_)) return false;
  counters_.backlog_lost += message.segments;
  return true;
}

void Link::flush() {
  while (has_waiting()) {
    if (!write(backlog_->messages()[0], backlog_->memory())) return;
    backlog_->pop(1);
  }
}

void Link::free() {
  if (!reader_.free()) return;
  full_fence();
  wake_peer(peer_.wants_room);
}

void Link::say_asleep() {
  own_.asleep.store(1, std::memory_order_relaxed);
  if (has_waiting()) own_.wants_room.store(1, std::memory_order_relaxed);
}

void Link::say_awake() {
  if (own_.asleep.load(std::memory_order_relaxed) != 0) own_.asleep.store(0);
  if (own_.wants_room.load(std::memory_order_relaxed) != 0) own_.wants_room.store(0);
}

bool Link::has_work() {
  return has_next() || (has_waiting() && writer_.has_room(backlog_->messages()[0].size));
}

/// A fence comes before. `word`: one of the peer's.
void Link::wake_peer(std::atomic<uint32_t>& word) {
  if (word.load(std::memory_order_relaxed) == 0 || word.exchange(0) == 0) return;
  ++counters_.wakeups;
  uncancelled::ring_bell(bell_.get());
}

}  // namespace urxe
