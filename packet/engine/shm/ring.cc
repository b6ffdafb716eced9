// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/ring.h"

#include <algorithm>
#include <cstring>

namespace urxe {
namespace {

constexpr uint32_t kFiller = 1;
constexpr uint32_t kNumbered = 2;
constexpr uint32_t kSealed = 4;

struct RecordHeader {
  uint32_t sequence;
  uint32_t bytes;
  uint16_t segment_size;
  uint16_t source_port;
  uint8_t source;
  uint8_t destination;
  uint8_t traffic_class;
  uint8_t hop_limit;
  uint32_t flags;
};
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes);

/// Never 0, which is what an empty place has.
uint32_t sequence_at(uint64_t position) {
  return static_cast<uint32_t>(position / kCacheLine) << 1 | 1;
}

constexpr size_t round_up(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::atomic_ref<uint32_t> sequence_of(std::span<uint8_t> memory, uint64_t position) {
  return std::atomic_ref(
      *reinterpret_cast<uint32_t*>(memory.data() + (position & (memory.size() - 1))));
}

/// Writes all of a header but the sequence number.
void store(uint8_t* place, const RecordHeader& header) {
  constexpr size_t kAfter = sizeof header.sequence;
  std::memcpy(place + kAfter, reinterpret_cast<const uint8_t*>(&header) + kAfter,
              sizeof header - kAfter);
}

/// A copy that stays as it is, whatever the writer does to the original.
RecordHeader load(const uint8_t* place) {
  RecordHeader header;
  std::memcpy(&header, place, sizeof header);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler does not read it again
  return header;
}

bool is_valid(const RecordHeader& header, size_t room) {
  if (header.bytes == 0 || header.bytes > kMaxRecordBytes) return false;
  if (kRecordHeaderBytes + header.bytes > room) return false;
  if (header.segment_size < kMinPacketBytes) return false;
  return (header.bytes + header.segment_size - 1) / header.segment_size <= kMaxRecordPackets;
}

RecordInfo info_of(const RecordHeader& header) {
  return {header.segment_size,
          header.source_port,
          header.source,
          header.destination,
          header.traffic_class,
          header.hop_limit,
          (header.flags & kNumbered) != 0,
          (header.flags & kSealed) != 0};
}

}  // namespace

RingWriter::RingWriter(std::span<uint8_t> memory, const std::atomic<uint64_t>& freed,
                       uint64_t start)
    : memory_(memory), freed_(freed), position_(start), known_freed_(start) {}

RingWriter::Space RingWriter::space_for(size_t bytes) const {
  const size_t record = round_up(kRecordHeaderBytes + bytes);
  const size_t to_end = memory_.size() - offset();
  return {record <= to_end ? 0 : to_end, record};
}

/// The place that is cleared for the record after this one must be free, too.
bool RingWriter::has_space(const Space& space) {
  const size_t wanted = space.filler + space.record + kCacheLine;
  if (wanted > memory_.size()) return false;
  const auto fits = [&] { return position_ - known_freed_ <= memory_.size() - wanted; };
  if (fits()) return true;
  known_freed_ = freed_.load(std::memory_order_acquire);
  // A number that no reader of ours would write gives a huge difference.
  return fits();
}

size_t RingWriter::end_of_next(size_t bytes) const {
  return std::min(offset() + space_for(bytes).record + kCacheLine, memory_.size());
}

/// Whether the writer begins a new round though there is room behind the last record. While the
/// reader has taken all and records are small, as in a ping-pong, rounds are short: then few pages
/// are touched, and they stay in the caches. The number that the reader writes comes from another
/// processor's cache, so it is looked at rarely.
bool RingWriter::starts_over(size_t record) {
  const bool ends_round = offset() / kShortRoundBytes != (offset() + record) / kShortRoundBytes;
  if (!ends_round || offset() < kSmallRecordBytes || record > kSmallRecordBytes) return false;
  known_freed_ = freed_.load(std::memory_order_acquire);
  return known_freed_ == position_;
}

bool RingWriter::write(const RecordInfo& info, std::span<const uint8_t> packets) {
  uint8_t* const to = begin(info, packets.size());
  if (to == nullptr) return false;
  std::memcpy(to, packets.data(), packets.size());
  end();
  return true;
}

uint8_t* RingWriter::begin(const RecordInfo& info, size_t bytes) {
  Space space = space_for(bytes);
  if (space.filler == 0 && starts_over(space.record)) space.filler = memory_.size() - offset();
  if (!has_space(space)) return nullptr;
  const uint64_t at = position_ + space.filler;
  uint8_t* const place = memory_.data() + (at & (memory_.size() - 1));
  const uint32_t flags = (info.numbered ? kNumbered : 0U) | (info.sealed ? kSealed : 0U);
  store(place, {0, static_cast<uint32_t>(bytes), info.segment_size, info.source_port, info.source,
                info.destination, info.traffic_class, info.hop_limit, flags});
  open_ = space;
  return place + kRecordHeaderBytes;
}

void RingWriter::end() {
  const Space space = open_;
  const uint64_t at = position_ + space.filler;
  sequence_of(memory_, at + space.record).store(0, std::memory_order_relaxed);
  sequence_of(memory_, at).store(sequence_at(at), std::memory_order_release);
  if (space.filler != 0) {
    // The reader comes to the record only by way of the filler.
    RecordHeader filler{};
    filler.flags = kFiller;
    store(memory_.data() + (position_ & (memory_.size() - 1)), filler);
    sequence_of(memory_, position_).store(sequence_at(position_), std::memory_order_release);
  }
  position_ = at + space.record;
}

RingReader::RingReader(std::span<uint8_t> memory, std::atomic<uint64_t>& freed, uint64_t start)
    : memory_(memory), freed_(freed), position_(start), freed_position_(start) {}

bool RingReader::has_next() const {
  return sequence_of(memory_, position_).load(std::memory_order_acquire) == sequence_at(position_);
}

RingReader::Result RingReader::read(Record& record) {
  if (!has_next()) return Result::kEmpty;
  const size_t mask = memory_.size() - 1;
  RecordHeader header = load(memory_.data() + (position_ & mask));
  if ((header.flags & kFiller) != 0) {
    // It ends at the end of the memory, and the record after it is complete.
    if ((position_ & mask) == 0) return Result::kBroken;
    position_ += memory_.size() - (position_ & mask);
    if (!has_next()) return Result::kBroken;
    header = load(memory_.data());
    if ((header.flags & kFiller) != 0) return Result::kBroken;
  }
  const size_t offset = position_ & mask;
  if (!is_valid(header, memory_.size() - offset)) return Result::kBroken;
  record.info = info_of(header);
  record.packets = {memory_.data() + offset + kRecordHeaderBytes, header.bytes};
  position_ += round_up(kRecordHeaderBytes + header.bytes);
  return Result::kRecord;
}

bool RingReader::free() {
  if (freed_position_ == position_) return false;
  freed_position_ = position_;
  freed_.store(position_, std::memory_order_release);
  return true;
}

}  // namespace urxe
