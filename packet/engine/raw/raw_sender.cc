// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/raw_sender.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// A device that cannot segment refuses every message; other reasons for an error do not last.
constexpr unsigned kTolerated = 2;

/// SO_PRIORITY, by which the kernel chooses the NIC's traffic class and a VLAN's priority: the
/// service level, or else what the kernel gives the packets of UDP sockets (its ip_tos2prio).
uint8_t priority_of(const Flow& flow) {
  constexpr uint8_t kByTypeOfService[] = {0, 2, 6, 4};
  if (flow.service_level != 0) return flow.service_level;
  return flow.destination.is_ipv4() ? kByTypeOfService[flow.traffic_class >> 3 & 3] : uint8_t{0};
}

bool may_be_about_segments(int errno_value) {
  return errno_value == EINVAL || errno_value == EIO || errno_value == EOPNOTSUPP;
}

}  // namespace

RawSender::RawSender(int fd, RouteCache::Find find, Duration patience, RawCounters& counters)
    : fd_(fd), routes_(std::move(find)), counters_(counters), patience_(patience) {
  left_.reserve(TxBatch::Limits{}.packets);
}

std::span<const TxBatch::Message> RawSender::transmit(TxBatch& batch, Instant now) {
  if (is_blocked()) flush(now);
  if (backlog_ != nullptr) backlog_->try_again();
  left_.clear();
  const auto messages = batch.messages();
  const uint8_t* const memory = batch.bytes(messages[0]).data() - messages[0].offset;
  batch.remove_if([&](const TxBatch::Message& message) { return take(message, memory, now); });
  send_or_delay(memory);
  return left_;
}

bool RawSender::take(const TxBatch::Message& message, const uint8_t* memory, Instant now) {
  const RouteCache::Route& route = routes_.lookup(message.flow, now);
  if (!fits(message, route.link) || route.ask_kernel) {
    if (route.link.kind == LinkRoute::Kind::kUnresolved)
      counters_.tx_unresolved += message.segments;
    return false;
  }
  const uint8_t priority = priority_of(message.flow);
  if (!has_room_for(message) || priority != priority_) send_or_delay(memory);
  set_priority(priority);
  add(message, memory, route.link);
  return true;
}

bool RawSender::fits(const TxBatch::Message& message, const LinkRoute& route) const {
  if (route.kind != LinkRoute::Kind::kFrames || gone_) return false;
  if (message.segments > 1 && refused_segments_ >= kTolerated) return false;
  return ip_packet_bytes(message) <= route.mtu;
}

/// Whether the next system call may send it, too. That takes any message if it has none yet.
bool RawSender::has_room_for(const TxBatch::Message& message) const {
  return count_ < kBurst && 2 + TxBatch::pieces(message) <= kPieces - used_pieces_;
}

void RawSender::add(const TxBatch::Message& message, const uint8_t* memory,
                    const LinkRoute& route) {
  Headers& headers = headers_[count_];
  const size_t size =
      write_frame_headers(headers.bytes.data(), headers.vnet, message, route.to, route.from);
  msghdr& call = calls_[count_].msg_hdr;
  call.msg_iov = &pieces_[used_pieces_];
  pieces_[used_pieces_++] = {&headers.vnet, sizeof(VnetHeader)};
  pieces_[used_pieces_++] = {headers.bytes.data(), size};
  TxBatch::for_each_piece(message, memory, [&](std::span<const uint8_t> piece) {
    pieces_[used_pieces_++] = {const_cast<uint8_t*>(piece.data()), piece.size()};
  });
  call.msg_iovlen = 2 + TxBatch::pieces(message);
  messages_[count_++] = message;
}

void RawSender::set_priority(uint8_t priority) {
  if (priority == priority_) return;
  const int value = priority;
  setsockopt(fd_, SOL_SOCKET, SO_PRIORITY, &value, sizeof value);
  priority_ = priority;
}

/// How many messages were sent, or, if none was, minus the errno of the first.
int RawSender::send_from(size_t first) {
  ++counters_.tx_syscalls;
  if (count_ - first == 1) {
    return uncancelled::sendmsg(fd_, &calls_[first].msg_hdr, MSG_DONTWAIT) < 0 ? -errno : 1;
  }
  const int sent = uncancelled::sendmmsg(fd_, &calls_[first], static_cast<unsigned>(count_ - first),
                                         MSG_DONTWAIT);
  return sent > 0 ? sent : -errno;
}

/// Returns how many of the prepared messages were sent or lost: all, unless the buffer is full.
size_t RawSender::send_prepared() {
  size_t done = 0;
  while (done < count_) {
    const int sent = send_from(done);
    if (sent == -EAGAIN) break;
    if (sent == -EINTR) continue;
    if (sent > 0) {
      count_sent(done, static_cast<size_t>(sent));
      done += static_cast<size_t>(sent);
    } else {
      count_lost(messages_[done++], -sent);
    }
  }
  return done;
}

/// What waits goes first.
void RawSender::send_or_delay(const uint8_t* memory) {
  for (size_t i = is_blocked() ? 0 : send_prepared(); i < count_; ++i) delay(messages_[i], memory);
  forget_prepared();
}

void RawSender::flush(Instant now) {
  while (is_blocked()) {
    for (const TxBatch::Message& message : backlog_->messages()) {
      const LinkRoute route = routes_.lookup(message.flow, now).link;
      const uint8_t priority = priority_of(message.flow);
      if (!has_room_for(message) || !fits(message, route)) break;
      if (count_ > 0 && priority != priority_) break;
      set_priority(priority);
      add(message, backlog_->memory(), route);
    }
    const size_t prepared = count_;
    const size_t done = send_prepared();
    forget_prepared();
    if (prepared == 0) {  // its route has gone
      count_lost(backlog_->messages()[0], ENETDOWN);
      backlog_->pop(1);
    } else {
      backlog_->pop(done);
      if (done < prepared) return;
    }
  }
}

void RawSender::drop_waiting() {
  while (is_blocked()) {
    count_lost(backlog_->messages()[0], ENETDOWN);
    backlog_->pop(1);
  }
}

void RawSender::count_sent(size_t first, size_t count) {
  counters_.tx_frames += count;
  for (size_t i = first; i < first + count; ++i) {
    counters_.tx_packets += messages_[i].segments;
    if (messages_[i].segments > 1) refused_segments_ = 0;
  }
}

void RawSender::count_lost(const TxBatch::Message& message, int errno_value) {
  if (message.segments > 1 && may_be_about_segments(errno_value)) {
    ++refused_segments_;
    ++counters_.tx_unsegmented;
  }
  switch (errno_value) {
    case EMSGSIZE:
      counters_.tx_message_size += message.segments;
      break;
    case ENODEV:
    case ENXIO:
      gone_ = true;
      [[fallthrough]];
    case ENETDOWN:
      counters_.tx_unreachable += message.segments;
      break;
    case ENOBUFS:
    case ENOMEM:
      counters_.tx_buffer_full += message.segments;
      break;
    default:
      counters_.tx_failed += message.segments;
  }
}

void RawSender::delay(const TxBatch::Message& message, const uint8_t* memory) {
  try {
    if (backlog_ == nullptr) backlog_ = std::make_unique<SendBacklog>();
  } catch (const std::bad_alloc&) {
    // It is lost, as if the backlog were full.
  }
  if (backlog_ != nullptr && backlog_->push(message, memory)) {
    counters_.tx_delayed += message.segments;
  } else if (backlog_ == nullptr ||
             (!backlog_->refuses() && backlog_->gives_up(clock_now(), patience_))) {
    counters_.tx_buffer_full += message.segments;
  } else {
    left_.push_back(message);
  }
}

}  // namespace urxe
