// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/frame_sender.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace urxe {
namespace {

/// How long a packet waits for its first hop's link address.
constexpr Duration kResolveTime = seconds(1);

}  // namespace

bool FrameSender::has_room(size_t frames) {
  if (backlog_.size() + burst_count_ + frames > kBacklog) return false;
  return spare_count_ >= frames || refill();
}

bool FrameSender::refill() {
  const std::span<rte_mbuf*> none = std::span(spare_).subspan(spare_count_);
  if (!port_.allocate(none)) return false;
  spare_count_ = kSpare;
  return true;
}

rte_mbuf* FrameSender::allocate() {
  if (spare_count_ == 0 && !refill()) {
    ++counters_.tx_no_buffer;
    return nullptr;
  }
  return spare_[--spare_count_];
}

void FrameSender::add(rte_mbuf* frame) {
  burst_[burst_count_++] = frame;
  if (burst_count_ == burst_.size()) flush();
}

void FrameSender::add_unresolved(rte_mbuf* frame, const Gid& destination, Instant now) {
  if (unresolved_.push(frame, destination, now)) return;
  rte_pktmbuf_free(unresolved_.pop().frame);  // the oldest is the least use
  ++counters_.tx_unresolved;
  (void)unresolved_.push(frame, destination, now);
}

void FrameSender::add_local(rte_mbuf* frame) {
  if (local_.push(frame)) return;
  rte_pktmbuf_free(frame);
  ++counters_.rx_no_room;
}

rte_mbuf* FrameSender::take_local() {
  return local_.empty() ? nullptr : local_.pop().frame;
}

void FrameSender::flush() {
  while (!backlog_.empty()) {
    rte_mbuf* frame = backlog_.front().frame;
    if (port_.send({&frame, 1}) == 0) break;
    ++counters_.tx_packets;
    stall_.note_left();
    (void)backlog_.pop();
  }
  size_t sent = 0;
  while (backlog_.empty() && sent < burst_count_) {
    const size_t taken = port_.send({burst_.data() + sent, burst_count_ - sent});
    if (taken == 0) break;
    sent += taken;
  }
  counters_.tx_packets += sent;
  if (sent > 0) stall_.note_left();
  for (; sent < burst_count_; ++sent) {
    if (backlog_.push(burst_[sent])) continue;
    rte_pktmbuf_free(burst_[sent]);
    ++counters_.tx_queue_full;
  }
  burst_count_ = 0;
}

void FrameSender::serve_link(Instant now) {
  send_control_frames();
  retry_unresolved(now);
  if (burst_count_ != 0) flush();
}

void FrameSender::send_control_frames() {
  while (const auto control = services_.take_frame()) {
    rte_mbuf* const frame = allocate();
    if (frame == nullptr) return;
    std::memcpy(rte_pktmbuf_append(frame, static_cast<uint16_t>(control->size)),
                control->bytes.data(), control->size);
    add(frame);
  }
}

void FrameSender::retry_unresolved(Instant now) {
  if (unresolved_.empty()) return;
  const bool is_old = now - unresolved_.front().since > kResolveTime;
  if (services_.resolutions() == resolutions_seen_ && !is_old) return;
  resolutions_seen_ = services_.resolutions();
  for (size_t count = unresolved_.size(); count > 0; --count) {
    const auto entry = unresolved_.pop();
    const NextHop hop = services_.resolve(entry.destination, now);
    if (hop.kind == NextHop::Kind::kKnown) {
      std::memcpy(rte_pktmbuf_mtod(entry.frame, uint8_t*), hop.mac.data(), hop.mac.size());
      add(entry.frame);
    } else if (now - entry.since <= kResolveTime) {
      (void)unresolved_.push(entry.frame, entry.destination, entry.since);
    } else {
      rte_pktmbuf_free(entry.frame);
      ++counters_.tx_unresolved;
    }
  }
}

void FrameSender::drop_backlog() {
  counters_.tx_link_down += backlog_.size();
  while (!backlog_.empty()) rte_pktmbuf_free(backlog_.pop().frame);
  stall_.note_left();
}

void FrameSender::drop_all() {
  drop_backlog();
  while (!unresolved_.empty()) rte_pktmbuf_free(unresolved_.pop().frame);
  while (!local_.empty()) rte_pktmbuf_free(local_.pop().frame);
  rte_pktmbuf_free_bulk(burst_.data(), static_cast<unsigned>(std::exchange(burst_count_, 0)));
  rte_pktmbuf_free_bulk(spare_.data(), static_cast<unsigned>(std::exchange(spare_count_, 0)));
}

void FrameSender::abandon() {
  backlog_ = {};
  unresolved_ = {};
  local_ = {};
  burst_count_ = 0;
  spare_count_ = 0;
}

}  // namespace urxe
