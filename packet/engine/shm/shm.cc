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
#include "packet/host/uncancelled.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/qpn_layout.h"
#include "packet/wire/types.h"

namespace urxe {
namespace {

/// Calls of receive() between two looks at descriptors. While nobody waits on them, they are
/// watched by these alone.
constexpr uint32_t kLookInterval = 128;
/// Between two looks of a closing engine.
constexpr Duration kLastPause = microseconds(50);

}  // namespace

ShmEngine::ShmEngine(std::unique_ptr<PacketEngine> inner, const ShmConfig& config)
    : ForwardingEngine(std::move(inner)),
      ForwardingLane(ForwardingEngine::inner().lane(0)),
      config_(config),
      gathers_for_inner_(ForwardingEngine::inner().promises().elsewhere_from == SIZE_MAX) {
  packets_.reserve(kPacketsReserved);
  left_.reserve(TxBatch::Limits{}.packets);
  addresses_.reserve(LinkEnd::kAddresses);
  closed_.reserve(LinkEnd::kAddresses);
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
  if (opened) std::erase(closed_, local);
  if (!opened || links_ == nullptr) return opened;
  if (std::ranges::find(addresses_, local) != addresses_.end()) return opened;
  if (addresses_.size() == LinkEnd::kAddresses) forget_closed();
  if (addresses_.size() == LinkEnd::kAddresses) return opened;
  addresses_.push_back(local);
  for (const auto& link : links_->all()) link->add_address(local);
  return opened;
}

void ShmEngine::close_address(const Gid& local) {
  packets_.clear();
  const bool is_known = std::ranges::find(addresses_, local) != addresses_.end();
  if (is_known && std::ranges::find(closed_, local) == closed_.end()) closed_.push_back(local);
  inner().close_address(local);
}

/// Makes places for new addresses. What a link's memory says of them never changes, so it takes new
/// links; packets go by the inner engine meanwhile.
void ShmEngine::forget_closed() {
  if (closed_.empty()) return;
  flush();
  links_->begin_anew();
  std::erase_if(addresses_, [this](const Gid& address) {
    return std::ranges::find(closed_, address) != closed_.end();
  });
  closed_.clear();
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
    take_from_links(false);
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
    if (gathers_for_inner_) batch.gather();
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
  if (std::ranges::find(closed_, message.flow.destination) != closed_.end()) return false;
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

void ShmEngine::look_around() {
  calls_until_look_ = kLookInterval;
  std::array<epoll_event, 16> events;
  const int count = uncancelled::epoll_wait(epoll_.get(), events);
  const Instant now = clock_now();
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd == inner_lane().wait_fd()) {
      inner_has_more_ = true;
      // As after a wait: what has come may be at any of its sockets.
      (void)inner_lane().begin_wait();
      inner_lane().end_wait();
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
  uncancelled::silence_bell(bell_.get());
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
