// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/shm.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "packet/base/bytes.h"
#include "packet/base/fence.h"
#include "packet/host/clock.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/qpn_layout.h"
#include "packet/wire/types.h"

namespace urxe {
namespace {

/// What one receive() takes from the rings.
constexpr size_t kBytesAtOnce = size_t{192} << 10;
/// Calls of receive() between two looks at descriptors. While nobody waits on them, they are
/// watched by these alone.
constexpr uint32_t kLookInterval = 128;
/// Calls between two looks at the inner engine, each of which costs a system call, after packets
/// have come through memory: few if the inner engine had packets, too, in its last looks.
constexpr uint32_t kInnerInterval = 64;
constexpr uint32_t kInnerIntervalMixed = 8;
constexpr uint32_t kMixedLooks = 128;
/// So many bytes from memory count as a call.
constexpr size_t kBytesOfACall = 8192;
/// From then on each call looks: as many calls without packets as a process makes in some 0.2 ms.
constexpr uint32_t kQuietCalls = 4096;
/// In so many empty looks an engine has looked at all its sockets.
constexpr int kLooksAtSockets = 3;
/// Between two looks of a closing engine.
constexpr Duration kLastPause = microseconds(50);

}  // namespace

ShmEngine::ShmEngine(std::unique_ptr<PacketEngine> inner, const ShmConfig& config)
    : ForwardingEngine(std::move(inner)),
      ForwardingLane(ForwardingEngine::inner().lane(0)),
      config_(config) {
  packets_.reserve(kUsualPacketsAtOnce);
  left_.reserve(TxBatch::Limits{}.packets);
  addresses_.reserve(LinkEnd::kAddresses);
  bell_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  for (const int fd : {bell_.get(), inner_lane().wait_fd()}) {
    event.data.fd = fd;
    if (fd < 0 || !epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
  }
  epoll_ = std::move(epoll);
  links_ = std::make_unique<Links>(
      Links::Config{&config.slot->directory(), config.slot->number(), config.interface_index,
                    epoll_.get(), bell_.get(), config.patience},
      addresses_, counters_);
}

ShmEngine::~ShmEngine() {
  ShmEngine::leave();
}

int ShmEngine::wait_fd() const {
  return epoll_ ? epoll_.get() : inner_lane().wait_fd();
}

Expected<void, EngineError> ShmEngine::open_address(const Gid& local) {
  packets_.clear();
  auto opened = inner().open_address(local);
  if (!opened || links_ == nullptr || addresses_.size() == LinkEnd::kAddresses) return opened;
  if (std::ranges::find(addresses_, local) != addresses_.end()) return opened;
  addresses_.push_back(local);
  for (const auto& link : links_->all()) link->publish_new_address();
  return opened;
}

void ShmEngine::leave() {
  packets_.clear();
  if (links_ != nullptr) {
    send_rest();
    links_->close();
  }
  links_.reset();
  inner().leave();
}

/// As a socket, whose packets the kernel keeps for the receiver when the sender ends. Drops what
/// comes meanwhile: the other process may be leaving, too, and wait for room.
void ShmEngine::send_rest() {
  const Instant end = clock_now() + config_.last_wait;
  const auto waits = [](const auto& link) { return link->has_waiting(); };
  for (flush(); std::ranges::any_of(links_->all(), waits) && clock_now() < end; flush()) {
    const timespec pause{0, kLastPause.ns};
    nanosleep(&pause, nullptr);
    look_around();
    take_from_links();
    packets_.clear();
    links_->free_read();
  }
}

void ShmEngine::abandon() {
  if (links_ != nullptr) links_->abandon();
  links_.reset();
  inner().abandon();
}

size_t ShmEngine::transmit(TxBatch& batch) {
  const size_t packets = batch.packets();
  if (!left_.empty()) try_again();
  if (links_ != nullptr && !batch.empty()) {
    const bool numbered = batch.limits().identification == Identification::kBySegment;
    if (batch.limits().segments_per_message > 1 && !numbered) batch.unsegment();
    batch.remove_if([&](const TxBatch::Message& message) { return send(batch, message); });
  }
  if (!batch.empty()) {
    batch.seal();
    inner_lane().transmit(batch);
  }
  if (!left_.empty()) batch.put_back(left_);
  return packets - batch.packets();
}

void ShmEngine::try_again() {
  left_.clear();
  if (links_ == nullptr) return;
  flush();
  for (const auto& link : links_->all()) link->try_again();
}

/// False: it is the inner engine's. True: a link has it, or else left_.
bool ShmEngine::send(const TxBatch& batch, const TxBatch::Message& message) {
  const auto bytes = batch.bytes(message);
  if (bytes.size() < kMinPacketBytes || message.flow.destination.is_multicast()) return false;
  // All packets of a message are for one process.
  const Qpn qpn(load_be24(bytes.data() + 5));
  if (qpn.value() <= kGsiQpn.value() || qpn.value() == kMulticastQpn) return false;
  Link* const link = links_->find(slot_of(qpn));
  if (link == nullptr) {
    // Only a process of this host can have one of this process's addresses.
    if (std::ranges::find(addresses_, message.flow.destination) == addresses_.end()) return false;
    if (slot_of(qpn) == config_.slot->number()) {
      return send_to_self(message, bytes.data() - message.offset);
    }
    links_->ask(slot_of(qpn), clock_now());
    return false;
  }
  if (!link->reaches(message.flow, config_.interface_index)) return false;
  if (!link->may_send() && !link->begin_to_send(clock_now(), inner_lane().has_unsent()))
    return false;
  if (!link->send(message, bytes.data() - message.offset, sleeps_)) left_.push_back(message);
  return true;
}

std::span<const RxPacket> ShmEngine::receive() {
  packets_.clear();
  took_memory_ = false;
  if (links_ == nullptr) return inner_lane().receive();
  links_->free_read();
  flush();
  if (calls_until_look_-- == 0) look_around();
  const bool inner_was_read = take_own() || take_from_links();
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
  return true;
}

std::span<const RxPacket> ShmEngine::receive_from_inner() {
  const auto packets = inner_lane().receive();
  inner_has_more_ = !packets.empty();
  looks_in_vain_ = packets.empty() ? std::min(looks_in_vain_ + 1, kMixedLooks) : 0;
  return packets;
}

void ShmEngine::look_around() {
  calls_until_look_ = kLookInterval;
  std::array<epoll_event, 16> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  const Instant now = clock_now();
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd == inner_lane().wait_fd()) {
      inner_has_more_ = true;
    } else if (fd != bell_.get()) {
      links_->look_at(fd, now);
    }
  }
  // The sleeper has not seen links that are new.
  if (!sleeps_) return;
  for (const auto& link : links_->all()) link->say_asleep();
  full_fence();
}

void ShmEngine::flush() {
  for (const auto& link : links_->all()) {
    if (link->has_waiting()) link->flush();
  }
}

/// Returns whether packets of the inner engine are among those that were taken.
bool ShmEngine::take_from_links() {
  const auto& links = links_->all();
  if (links.empty()) return false;
  first_ = first_ + 1 < links.size() ? first_ + 1 : 0;
  size_t room = kBytesAtOnce;
  for (size_t i = 0; i < links.size() && room > 0; ++i) {
    const size_t at = first_ + i;
    Link& link = *links[at < links.size() ? at : at - links.size()];
    if (!link.has_next()) continue;
    if (!link.sockets_were_empty() && must_read_sockets_first(link)) return true;
    take_from(link, room);
  }
  return false;
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
  while (room > 0) {
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
  if (source == nullptr || info.destination >= addresses_.size()) return false;
  PacketRun run;
  run.flow.source = *source;
  run.flow.destination = addresses_[info.destination];
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
  run.for_each([&](std::span<const uint8_t> packet) {
    packets_.push_back({packet, run.flow, identification, sealed});
    if (numbered) ++identification;
  });
  took_memory_ = true;
  calls_without_inner_ += static_cast<uint32_t>(run.bytes.size() / kBytesOfACall);
  counters_.received_packets += run.packets();
  counters_.received_bytes += run.bytes.size();
}

bool ShmEngine::begin_wait() {
  if (inner_lane().begin_wait()) return true;
  if (links_ == nullptr) return false;
  sleeps_ = true;
  for (const auto& link : links_->all()) link->say_asleep();
  full_fence();
  const bool any = own_.has_next() || std::ranges::any_of(links_->all(), [](const auto& link) {
                     return link->has_work();
                   });
  if (any) end_wait();
  return any;
}

void ShmEngine::end_wait() {
  inner_lane().end_wait();
  if (!sleeps_) return;
  sleeps_ = false;
  calls_until_look_ = 0;
  inner_has_more_ = true;
  if (links_ == nullptr) return;
  for (const auto& link : links_->all()) link->say_awake();
  eventfd_t rings = 0;
  eventfd_read(bell_.get(), &rings);
}

EngineCounters ShmEngine::totals() const {
  EngineCounters totals = inner().totals();
  totals.send_lost += counters_.backlog_lost;
  totals.memory_sent_packets = counters_.sent_packets;
  totals.memory_sent_bytes = counters_.sent_bytes;
  totals.memory_received_packets = counters_.received_packets;
  totals.memory_received_bytes = counters_.received_bytes;
  return totals;
}

}  // namespace urxe
