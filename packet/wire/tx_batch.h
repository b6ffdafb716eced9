// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "packet/wire/headers.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// How an engine numbers IPv4 packets, which the ICRC covers.
enum class Identification : uint8_t {
  kZero,       ///< every packet has 0
  kBySegment,  ///< a message of several segments numbers them 0, 1, 2, ... (UDP_SEGMENT)
};

/// Packets to send, back to back in one piece of memory. They are grouped into messages that an
/// engine can hand to the kernel as one segmented datagram: one flow, one process (or QP1),
/// segments of one size except for a shorter last one. Allocates memory only in the constructor.
///
/// A packet's payload may lie elsewhere: then the batch has its place, with room for it. All
/// packets of a message are of that kind, or all but a shorter last one.
class TxBatch {
 public:
  struct Limits {
    size_t bytes = 512 * 1024;  ///< memory for packets
    size_t packets = 512;
    size_t segments_per_message = 1;  ///< 1: no segmentation
    size_t message_bytes = 65000;     ///< largest segmented datagram's UDP payload
    Identification identification = Identification::kZero;
    /// Whether commit() computes ICRCs. False: the engine calls seal() for packets that need one.
    bool seals = true;
    /// A payload of so many bytes, and at least kLeastElsewhere, may lie elsewhere.
    size_t elsewhere_from = SIZE_MAX;
  };
  static constexpr size_t kLeastElsewhere = 64;

  struct Message {
    Flow flow;
    size_t offset = 0;  ///< into bytes()
    size_t size = 0;
    size_t segment_size = 0;  ///< size of all segments but the last
    size_t segments = 0;
    bool closed = false;   ///< its last segment was shorter, so nothing can follow
    bool sealed = true;    ///< its packets have ICRCs; false: four bytes of 0 in their place
    size_t elsewhere = 0;  ///< so many packets, the first ones, have their payload elsewhere
    bool changes = false;  ///< and it may change at any time
  };

  explicit TxBatch(const Limits& limits);

  /// Starts a packet and writes its headers and pad. Returns the place of its `payload_bytes`,
  /// which the caller fills before commit(); nullptr, and nothing is changed, if the batch is full.
  [[nodiscard]] uint8_t* append(const Flow& flow, const Headers& headers, size_t payload_bytes);

  /// The identification in the IPv4 header of segment `index` of a message.
  [[nodiscard]] uint16_t identification(size_t index) const {
    return limits_.identification == Identification::kBySegment ? static_cast<uint16_t>(index) : 0;
  }

  /// Ends the packet that append() started: computes its ICRC, if limits() say so.
  void commit();

  /// Adds a whole packet, whose payload is not copied if limits() and its size allow that: it must
  /// stay there until the packet is sent, or gather() was called. `changes`: somebody may change it
  /// meanwhile, so it is copied before an ICRC is computed. Returns false, and changes nothing, if
  /// the batch is full. No packet may be open.
  [[nodiscard]] bool append_whole(const Flow& flow, const Headers& headers,
                                  std::span<const uint8_t> payload, bool changes = false);

  /// Copies the payloads that lie elsewhere.
  void gather();
  /// The same, but only those that may change. What is read from now on is no older than they are.
  void gather_changing();

  /// Computes the ICRCs that commit() has left out.
  void seal();

  /// Adds a whole packet, with an ICRC that was made for identification 0, as a message of its own.
  /// Returns false, and changes nothing, if the batch is full. No packet may be open.
  [[nodiscard]] bool append_sealed(const Flow& flow, std::span<const uint8_t> packet);

  /// Drops the packet that append() started.
  void abandon();

  [[nodiscard]] std::span<const Message> messages() const {
    return {messages_.data(), messages_.size()};
  }
  /// Payloads that lie elsewhere are not there.
  [[nodiscard]] std::span<const uint8_t> bytes(const Message& m) const {
    return {memory_.get() + m.offset, m.size};
  }

  /// Calls `visit(bytes)` for each piece of a message, in order: 1, and 2 more for each payload
  /// that lies elsewhere. The message's offset counts from `memory`.
  template <class Visit>
  static void for_each_piece(const Message& message, const uint8_t* memory, Visit visit) {
    const uint8_t* const begin = memory + message.offset;
    size_t at = 0;
    for (size_t i = 0; i < message.elsewhere; ++i) {
      const Piece piece = piece_of(message, begin, i);
      const size_t payload = i * message.segment_size + piece.header_bytes;
      visit(std::span(begin + at, payload - at));
      visit(std::span(piece.payload, piece.bytes));
      at = payload + piece.bytes;
    }
    visit(std::span(begin + at, message.size - at));
  }
  [[nodiscard]] static size_t pieces(const Message& message) { return 2 * message.elsewhere + 1; }
  /// Copies all bytes of a message, whose offset counts from `memory`.
  static void copy(const Message& message, const uint8_t* memory, uint8_t* to);
  [[nodiscard]] size_t packets() const { return packets_; }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// Bytes that further packets may have.
  [[nodiscard]] size_t room() const { return limits_.bytes - used_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  void clear();

  /// One packet of a message, as a message.
  [[nodiscard]] static Message packet_of(const Message& message, size_t segment) {
    Message packet = message;
    packet.offset += segment * message.segment_size;
    packet.size = std::min(message.segment_size, message.size - segment * message.segment_size);
    packet.segment_size = packet.size;
    packet.segments = 1;
    packet.elsewhere = segment < message.elsewhere ? 1 : 0;
    return packet;
  }

  /// Removes the messages for which `is_done(message)` returns true. It may read their bytes. No
  /// packet may be open.
  template <class IsDone>
  void remove_if(IsDone is_done) {
    std::erase_if(messages_, is_done);
    count_packets();
  }

  /// Puts messages back that were removed, behind the others. Their bytes are still there: nothing
  /// was appended since.
  void put_back(std::span<const Message> messages);

  /// Calls `visit(message, segment, bytes)` for each packet, with bytes as bytes() has them.
  template <class Visit>
  void for_each_packet(Visit visit) const {
    for (const Message& message : messages_) {
      const std::span<const uint8_t> all = bytes(message);
      for (size_t i = 0; i < message.segments; ++i) {
        const size_t at = i * message.segment_size;
        visit(message, i, all.subspan(at, std::min(message.segment_size, message.size - at)));
      }
    }
  }

  /// Removes the packets for which `is_gone(index)` returns true; the index counts all packets of
  /// the batch. Computes the ICRCs of those behind anew, if the identification changes.
  /// Allocates. No packet may be open.
  template <class IsGone>
  void remove_packets(IsGone is_gone) {
    std::vector<Message> left;
    size_t index = 0;
    for (const Message& message : messages_) {
      size_t begin = 0;
      for (size_t i = 0; i < message.segments; ++i, ++index) {
        if (!is_gone(index)) continue;
        keep_segments(message, begin, i, left);
        begin = i + 1;
      }
      keep_segments(message, begin, message.segments, left);
    }
    messages_.assign(left.begin(), left.end());
    count_packets();
  }

  /// Splits every message into single packets with identification 0 and computes their ICRCs anew,
  /// for an engine that finds that the kernel cannot segment. From then on limits() have one
  /// segment per message and Identification::kZero. No packet may be open.
  void unsegment();

 private:
  /// A payload that lies elsewhere. The room for it in the batch has this, at its end.
  struct Piece {
    const uint8_t* payload;
    uint32_t bytes;
    uint32_t header_bytes;  ///< of the packet, before the payload
  };
  static constexpr size_t kPieceFromEnd = sizeof(Piece) + 8;  ///< of the packet: a pad, the ICRC
  static_assert(kLeastElsewhere >= kPieceFromEnd);

  [[nodiscard]] static Piece piece_of(const Message& message, const uint8_t* begin,
                                      size_t segment) {
    Piece piece;
    const size_t end = std::min((segment + 1) * message.segment_size, message.size);
    std::memcpy(&piece, begin + end - kPieceFromEnd, sizeof piece);
    return piece;
  }
  void seal(const Message& message, size_t segment);
  void gather(const Message& message, size_t segment);
  void gather(Message& message);
  [[nodiscard]] bool open_packet_joins(const Message& last) const;
  [[nodiscard]] std::span<uint8_t> segment(const Message& message, size_t index);
  void begin_message();
  void count_packets();
  void keep_segments(const Message& message, size_t begin, size_t end, std::vector<Message>& left);

  Limits limits_;
  std::unique_ptr<uint8_t[]> memory_;
  std::vector<Message> messages_;
  size_t used_ = 0;
  size_t packets_ = 0;
  size_t open_size_ = 0;  ///< of the open packet, which lies at used_; 0: none is open
  bool open_is_elsewhere_ = false;
  bool open_changes_ = false;
  bool any_changes_ = false;  ///< messages, perhaps
  Flow open_flow_;
};

}  // namespace urxe
