// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urxe {

// A ring of records between one writer and one reader, which may be two processes. It is a piece of
// memory, and a number beside it: how many bytes the reader has freed.
//
// Positions count the bytes of all records since the beginning. A record begins on a cache line and
// never goes round the end of the memory: a filler takes the rest if a record does not fit there.
// A filler also takes the rest if the writer begins a new round before, see starts_over().
//
//     | sequence | bytes | segment size, port | indices, class, hops | flags | packets ... | pad
//     0          4       8                    12                     16      20
//
// The sequence number tells that a record is complete. It follows from the record's position, and
// the writer clears the place of the next one before it writes it, so what is left of an earlier
// round does not look like a record. So a small packet costs the reader one cache line.
//
// Neither side trusts the other: the reader copies a header before it checks it, and the packets
// may change while they are looked at; the writer checks how much the reader says it has freed.

inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kRecordHeaderBytes = 20;
inline constexpr size_t kMaxRecordBytes = 65536;  ///< packets of one record
inline constexpr size_t kMaxRecordPackets = 512;
inline constexpr size_t kMinPacketBytes = 16;  ///< all but the last of a record have at least that
/// A round of small records, while the reader keeps up.
inline constexpr size_t kShortRoundBytes = 32768;
inline constexpr size_t kSmallRecordBytes = 2048;  ///< at most, with its header

/// What a record says about its packets.
struct RecordInfo {
  uint16_t segment_size = 0;  ///< of all packets but the last, which may be shorter
  uint16_t source_port = 0;
  uint8_t source = 0;       ///< index of an address of the writer
  uint8_t destination = 0;  ///< index of an address of the reader
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  bool numbered = false;  ///< the packets' identifications count from 0; false: all are 0
  bool sealed = false;    ///< the packets have ICRCs
  friend bool operator==(const RecordInfo&, const RecordInfo&) = default;
};

/// The writer's side. `memory` is aligned to a cache line, and its size is a power of two. `freed`
/// is written by the reader. Both outlive this. A ring that was not used yet is all zeros, but for
/// `freed`, which is `start`.
class RingWriter {
 public:
  RingWriter(std::span<uint8_t> memory, const std::atomic<uint64_t>& freed, uint64_t start = 0);

  /// Appends a record of 1 to kMaxRecordBytes bytes of packets. False, and nothing is written: the
  /// ring is too full.
  [[nodiscard]] bool write(const RecordInfo& info, std::span<const uint8_t> packets);
  /// The same in two steps: begin() returns the place for the packets, or nullptr; end() appends
  /// the record with what was written there.
  [[nodiscard]] uint8_t* begin(const RecordInfo& info, size_t bytes);
  void end();
  /// Whether write() would have room for a record of `bytes`.
  [[nodiscard]] bool has_room(size_t bytes) { return has_space(space_for(bytes)); }
  /// How far into the memory write() would go with a record of `bytes` behind the last one: the
  /// place of the next record is cleared, too. At most the end of the memory.
  [[nodiscard]] size_t end_of_next(size_t bytes) const;

 private:
  /// The bytes of a record and the filler before it.
  struct Space {
    size_t filler;
    size_t record;
  };
  [[nodiscard]] Space space_for(size_t bytes) const;
  [[nodiscard]] bool has_space(const Space& space);
  [[nodiscard]] bool starts_over(size_t record);
  [[nodiscard]] size_t offset() const { return position_ & (memory_.size() - 1); }

  std::span<uint8_t> memory_;
  const std::atomic<uint64_t>& freed_;
  uint64_t position_;     ///< where the next record begins
  uint64_t known_freed_;  ///< freed_ when it was looked at last
  Space open_{};          ///< of the record that was begun
};

/// The reader's side; as RingWriter.
class RingReader {
 public:
  enum class Result : uint8_t { kRecord, kEmpty, kBroken };
  struct Record {
    RecordInfo info;
    std::span<const uint8_t> packets;  ///< in the ring
  };

  RingReader(std::span<uint8_t> memory, std::atomic<uint64_t>& freed, uint64_t start = 0);

  /// Whether read() would return something else than kEmpty.
  [[nodiscard]] bool has_next() const;
  /// Takes the next record. It stays where it is until free(). kBroken: no writer of ours has
  /// written what is there; the ring is of no use from now on.
  [[nodiscard]] Result read(Record& record);
  /// Where in the memory the record ends that was taken last.
  [[nodiscard]] size_t end_of_last() const { return ((position_ - 1) & (memory_.size() - 1)) + 1; }
  /// Gives the space of all records that were taken back to the writer. Returns false if there were
  /// none.
  bool free();

 private:
  std::span<uint8_t> memory_;
  std::atomic<uint64_t>& freed_;
  uint64_t position_;        ///< of the next record
  uint64_t freed_position_;  ///< written to freed_
};

}  // namespace urxe
