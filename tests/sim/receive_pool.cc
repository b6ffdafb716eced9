// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/receive_pool.h"

#include <algorithm>
#include <utility>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr unsigned kNumberShift = 40;
constexpr uint32_t kGap = 40;  ///< bytes between buffers, which must not change

}  // namespace

ReceivePool::ReceivePool(const Plan& plan, Device& device, Memory& memory, PdId pd,
                         const Setup& setup, Random random, Post post)
    : memory_(memory),
      random_(random),
      max_sge_(plan.max_sge),
      late_percent_(plan.late_receives_percent),
      setup_(setup),
      post_(std::move(post)),
      next_wr_id_(kReceiveBit | uint64_t{setup.number} << kNumberShift) {
  const size_t slot = setup.bytes + kGap;
  const size_t offset = memory.reserve(slot * setup.depth);
  region_ = must_register_local(device, memory, pd, offset, slot * setup.depth);
  for (uint32_t i = 0; i < setup.depth; ++i) free_slots_.push_back(offset + slot * i);
}

void ReceivePool::post_some(bool may_be_late) {
  if (may_be_late && random_.percent(late_percent_)) return;
  while (!free_slots_.empty() && !closed_) {
    post_one();
    if (may_be_late && late_percent_ > 0 && random_.percent(50)) return;
  }
}

/// Where the message is known already its length may be met exactly.
uint32_t ReceivePool::draw_length() {
  if (!next_length_ || !random_.percent(50)) return setup_.bytes;
  return next_length_(posted_.size()).value_or(setup_.bytes);
}

void ReceivePool::post_one() {
  Receive receive;
  receive.wr_id = next_wr_id_++;
  receive.slot = free_slots_.front();
  free_slots_.pop_front();
  receive.length = draw_length();
  // New bytes: whatever is still written here on behalf of an old message shows.
  memory_.scribble(receive.slot, setup_.bytes, random_.next());
  receive.pieces = split(random_, receive.slot, receive.length, max_sge_);
  for (const Piece& piece : receive.pieces) memory_.begin_flux(piece.offset, piece.length);
  const std::vector<Sge> sges = sges_of(memory_, receive.pieces, region_->lkey);
  const uint64_t wr_id = receive.wr_id;
  posted_.push_back(std::move(receive));
  require(post_(wr_id, sges), [] { return std::string("the receive queue is full"); });
}

bool ReceivePool::posted(uint64_t wr_id) const {
  return wr_id >> kNumberShift == next_wr_id_ >> kNumberShift;
}

bool ReceivePool::promise() {
  // What a queue pair holds for a message that broke off is not for another.
  const size_t there = setup_.srq != nullptr ? setup_.srq->waiting() : posted_.size();
  if (promised_ >= there) return false;
  ++promised_;
  return true;
}

void ReceivePool::check_flushed() const {
  const size_t left = setup_.srq != nullptr ? setup_.srq->waiting() : 0;
  require(posted_.size() == left, [&] {
    return text("%zu receives have not come back and %zu wait", posted_.size(), left);
  });
}

Receive ReceivePool::take(uint64_t wr_id) {
  const auto it = std::find_if(posted_.begin(), posted_.end(),
                               [&](const Receive& receive) { return receive.wr_id == wr_id; });
  require(it != posted_.end() && (setup_.srq != nullptr || it == posted_.begin()), [&] {
    return text("receive %llx completed: it is not posted, or not the oldest",
                static_cast<unsigned long long>(wr_id));
  });
  Receive receive = std::move(*it);
  posted_.erase(it);
  return receive;
}

void ReceivePool::finish(const Receive& receive, std::span<const uint8_t> data) {
  size_t done = 0;
  for (const Piece& piece : receive.pieces) {
    const size_t length = std::min<size_t>(piece.length, data.size() - done);
    memory_.end_flux(piece.offset, piece.length);
    memory_.expect(piece.offset, data.subspan(done, length));
    done += length;
    require(memory_.matches(piece.offset, piece.length), [&] {
      return text("wrong bytes in a receive buffer of %u bytes for a message of %zu",
                  receive.length, data.size());
    });
  }
  require(done == data.size(), [] { return std::string("the receive buffer is too short"); });
  free_slots_.push_back(receive.slot);
}

void ReceivePool::finish_used(const Receive& receive, std::span<const uint8_t> data) {
  std::vector<uint8_t> found = contents(receive, receive.length);
  require(found.size() >= data.size(),
          [] { return std::string("the receive buffer is too short"); });
  std::copy(data.begin(), data.end(), found.begin());
  finish(receive, found);
}

void ReceivePool::abandon(const Receive& receive) {
  finish(receive, contents(receive, receive.length));
}

std::vector<uint8_t> ReceivePool::contents(const Receive& receive, size_t count) {
  std::vector<uint8_t> bytes;
  for (const Piece& piece : receive.pieces) {
    const size_t length = std::min<size_t>(piece.length, count - bytes.size());
    const uint8_t* at = memory_.at(piece.offset);
    bytes.insert(bytes.end(), at, at + length);
  }
  return bytes;
}

}  // namespace urxe::sim
