// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/tx_batch.h"

#include <algorithm>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/base/check.h"
#include "packet/base/fence.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/icrc.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {
namespace {

/// Whether two packets are for queue pairs of the same process, and not one of them for QP1. The
/// segments of a datagram stay together until an engine has found their process.
bool are_for_same_process(const uint8_t* a, const uint8_t* b) {
  const Qpn first(load_be24(a + 5));
  const Qpn second(load_be24(b + 5));
  return slot_of(first) == slot_of(second) && (first == kGsiQpn) == (second == kGsiQpn);
}

}  // namespace

TxBatch::TxBatch(const Limits& limits)
    : limits_(limits), memory_(std::make_unique_for_overwrite<uint8_t[]>(limits.bytes)) {
  limits_.segments_per_message = std::max<size_t>(limits_.segments_per_message, 1);
  limits_.elsewhere_from = std::max(limits_.elsewhere_from, kLeastElsewhere);
  messages_.reserve(limits_.packets);
}

uint8_t* TxBatch::append(const Flow& flow, const Headers& headers, size_t payload_bytes) {
  if (!check(open_size_ == 0)) return nullptr;
  if (payload_bytes > limits_.bytes) return nullptr;
  const size_t size = packet_size(headers.bth.opcode, payload_bytes);
  if (packets_ == limits_.packets || size > room()) return nullptr;
  uint8_t* const start = memory_.get() + used_;
  uint8_t* const payload = start + write_headers(start, headers, payload_bytes);
  uint8_t* const end = start + size - kIcrcBytes;
  std::fill(payload + payload_bytes, end, uint8_t{0});
  open_flow_ = flow;
  open_size_ = size;
  open_is_elsewhere_ = open_changes_ = false;
  return payload;
}

bool TxBatch::append_whole(const Flow& flow, const Headers& headers,
                           std::span<const uint8_t> payload, bool changes) {
  uint8_t* const to = append(flow, headers, payload.size());
  if (to == nullptr) return false;
  open_is_elsewhere_ = payload.size() >= limits_.elsewhere_from && !(changes && limits_.seals);
  open_changes_ = open_is_elsewhere_ && changes;
  any_changes_ = any_changes_ || open_changes_;
  if (open_is_elsewhere_) {
    const auto header_bytes = static_cast<uint32_t>(to - (memory_.get() + used_));
    const Piece piece{payload.data(), static_cast<uint32_t>(payload.size()), header_bytes};
    std::memcpy(memory_.get() + used_ + open_size_ - kPieceFromEnd, &piece, sizeof piece);
  } else if (!payload.empty()) {
    std::memcpy(to, payload.data(), payload.size());
  }
  commit();
  return true;
}

void TxBatch::copy(const Message& message, const uint8_t* memory, uint8_t* to) {
  for_each_piece(message, memory, [&](std::span<const uint8_t> piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
  if (message.changes) acquire_fence();  // as in gather()
}

void TxBatch::gather() {
  for (Message& message : messages_) gather(message);
}

void TxBatch::gather_changing() {
  if (!any_changes_) return;
  any_changes_ = false;
  for (Message& message : messages_) {
    if (message.changes) gather(message);
  }
}

void TxBatch::gather(Message& message) {
  for (size_t i = 0; i < message.elsewhere; ++i) gather(message, i);
  message.elsewhere = 0;
  message.changes = false;
}

void TxBatch::gather(const Message& message, size_t segment) {
  uint8_t* const begin = memory_.get() + message.offset;
  const Piece piece = piece_of(message, begin, segment);
  uint8_t* const to = begin + segment * message.segment_size + piece.header_bytes;
  std::memcpy(to, piece.payload, piece.bytes);
  acquire_fence();  // a later READ sees nothing older
}

bool TxBatch::open_packet_joins(const Message& last) const {
  const bool is_of_its_kind = open_is_elsewhere_
                                  ? last.elsewhere == last.segments && last.changes == open_changes_
                                  : last.elsewhere == 0 || open_size_ < last.segment_size;
  return !last.closed && last.sealed == limits_.seals && is_of_its_kind &&
         last.segments < limits_.segments_per_message && open_size_ <= last.segment_size &&
         last.size + open_size_ <= limits_.message_bytes && last.flow == open_flow_ &&
         are_for_same_process(memory_.get() + last.offset, memory_.get() + used_);
}

std::span<uint8_t> TxBatch::segment(const Message& message, size_t index) {
  const size_t at = index * message.segment_size;
  return {memory_.get() + message.offset + at, std::min(message.segment_size, message.size - at)};
}

/// Member by member, in place: to build a message and then copy it takes several times as long.
void TxBatch::begin_message() {
  Message& message = messages_.emplace_back();
  message.flow = open_flow_;
  message.offset = used_;
  message.segment_size = open_size_;
  message.sealed = limits_.seals;
}

/// Computes the ICRC of a packet.
void TxBatch::seal(const Message& message, size_t segment) {
  const std::span<uint8_t> packet = this->segment(message, segment);
  if (segment >= message.elsewhere) {
    return write_icrc(message.flow, identification(segment), packet);
  }
  const Piece piece = piece_of(message, memory_.get() + message.offset, segment);
  write_icrc(message.flow, identification(segment), packet, piece.header_bytes,
             {piece.payload, piece.bytes});
}

void TxBatch::commit() {
  if (!check(open_size_ != 0)) return;
  if (messages_.empty() || !open_packet_joins(messages_.back())) {
    begin_message();
  }
  Message& message = messages_.back();
  message.size += open_size_;
  message.segments += 1;
  message.elsewhere += open_is_elsewhere_ ? 1 : 0;
  message.changes = message.changes || open_changes_;
  message.closed = open_size_ < message.segment_size;
  if (message.sealed) {
    seal(message, message.segments - 1);
  } else {
    store_le32(memory_.get() + used_ + open_size_ - kIcrcBytes, 0);
  }
  used_ += open_size_;
  packets_ += 1;
  open_size_ = 0;
}

void TxBatch::seal() {
  if (limits_.seals || !check(open_size_ == 0)) return;
  for (Message& message : messages_) {
    if (message.sealed) continue;
    message.sealed = true;
    // One packet after the other, while it is in the processor's cache.
    const size_t changing = message.changes ? message.elsewhere : 0;
    for (size_t i = 0; i < changing; ++i) {
      gather(message, i);
      write_icrc(message.flow, identification(i), segment(message, i));
    }
    for (size_t i = changing; i < message.segments; ++i) seal(message, i);
    if (message.changes) message.elsewhere = 0;
    message.changes = false;
  }
}

bool TxBatch::append_sealed(const Flow& flow, std::span<const uint8_t> packet) {
  if (!check(open_size_ == 0)) return false;
  if (packets_ == limits_.packets || packet.size() > room()) return false;
  std::copy(packet.begin(), packet.end(), memory_.get() + used_);
  messages_.push_back({flow, used_, packet.size(), packet.size(), 1, true});
  used_ += packet.size();
  packets_ += 1;
  return true;
}

void TxBatch::abandon() {
  open_size_ = 0;
}

void TxBatch::clear() {
  messages_.clear();
  used_ = 0;
  packets_ = 0;
  open_size_ = 0;
  any_changes_ = false;
}

void TxBatch::put_back(std::span<const Message> messages) {
  if (!check(open_size_ == 0)) return;
  for (const Message& message : messages) {
    messages_.push_back(message);
    any_changes_ = any_changes_ || message.changes;
    messages_.back().closed = true;  // what is appended does not lie behind it
    used_ = std::max(used_, message.offset + message.size);
  }
  count_packets();
}

void TxBatch::count_packets() {
  packets_ = 0;
  for (const Message& message : messages_) packets_ += message.segments;
  if (messages_.empty()) clear();
}

void TxBatch::keep_segments(const Message& message, size_t begin, size_t end,
                            std::vector<Message>& left) {
  if (begin == end) return;
  Message kept = message;
  kept.offset += begin * message.segment_size;
  kept.size = std::min(message.size, end * message.segment_size) - begin * message.segment_size;
  kept.segments = end - begin;
  kept.elsewhere = std::clamp(message.elsewhere, begin, end) - begin;
  kept.segment_size = std::min(kept.segment_size, kept.size);
  kept.closed = true;
  left.push_back(kept);
  for (size_t i = 0; i < kept.segments && message.sealed; ++i) {
    if (identification(i) == identification(begin + i)) break;
    seal(kept, i);
  }
}

void TxBatch::unsegment() {
  if (!check(open_size_ == 0)) return;
  const size_t grouped = messages_.size();
  messages_.resize(packets_);  // within what the constructor has reserved
  // From the end, in place: there are never fewer packets than messages.
  size_t to = packets_;
  for (size_t from = grouped; from-- > 0;) {
    const Message message = messages_[from];
    for (size_t i = message.segments; i-- > 0;) {
      Message& packet = messages_[--to] = packet_of(message, i);
      packet.closed = false;
      if (packet.sealed && identification(i) != 0) seal(packet, 0);
    }
  }
  limits_.segments_per_message = 1;
  limits_.identification = Identification::kZero;
}

}  // namespace urxe
