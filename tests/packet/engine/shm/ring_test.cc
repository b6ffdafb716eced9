// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace urxe {
namespace {

using Result = RingReader::Result;

constexpr RecordInfo kInfo{1000, 0xc123, 1, 2, 0x2e, 63, true};

std::vector<uint8_t> bytes_from(uint8_t first, size_t size) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

/// Both sides of a ring in this process.
struct Ring {
  explicit Ring(size_t size, uint64_t start = 0)
      : lines(size / kCacheLine),
        freed(start),
        writer(memory(), freed, start),
        reader(memory(), freed, start) {}
  struct alignas(kCacheLine) Line {
    uint8_t bytes[kCacheLine] = {};
  };
  std::span<uint8_t> memory() { return {lines.data()->bytes, lines.size() * kCacheLine}; }

  void expect_next(const RecordInfo& info, const std::vector<uint8_t>& packets) {
    RingReader::Record record;
    ASSERT_EQ(reader.read(record), Result::kRecord);
    EXPECT_EQ(record.info, info);
    EXPECT_TRUE(std::ranges::equal(record.packets, packets));
  }
  Result read() {
    RingReader::Record record;
    return reader.read(record);
  }

  std::vector<Line> lines;
  std::atomic<uint64_t> freed;
  RingWriter writer;
  RingReader reader;
};

TEST(ShmRing, IsEmptyAtFirst) {
  Ring ring(4096);
  EXPECT_FALSE(ring.reader.has_next());
  EXPECT_EQ(ring.read(), Result::kEmpty);
  EXPECT_FALSE(ring.reader.free());
}

TEST(ShmRing, CarriesRecordsInOrder) {
  Ring ring(4096);
  const RecordInfo other{16, 4791, 63, 0, 0, 64, false};
  ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(1, 40)));
  ASSERT_TRUE(ring.writer.write(other, bytes_from(9, 1001)));
  EXPECT_TRUE(ring.reader.has_next());
  ring.expect_next(kInfo, bytes_from(1, 40));
  ring.expect_next(other, bytes_from(9, 1001));
  EXPECT_EQ(ring.read(), Result::kEmpty);
}

TEST(ShmRing, ASmallPacketTakesOneCacheLine) {
  Ring ring(4096);
  size_t records = 0;
  while (ring.writer.write(kInfo, bytes_from(0, kCacheLine - kRecordHeaderBytes))) ++records;
  EXPECT_EQ(records, 4096 / kCacheLine - 1) << "one stays clear for the next";
}

TEST(ShmRing, WhenFullTakesNothingUntilTheReaderFrees) {
  Ring ring(4096);
  for (uint8_t i = 1; i <= 3; ++i) ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(i, 1000)));
  EXPECT_FALSE(ring.writer.has_room(1000));
  EXPECT_FALSE(ring.writer.write(kInfo, bytes_from(4, 1000)));
  ring.expect_next(kInfo, bytes_from(1, 1000));
  EXPECT_FALSE(ring.writer.write(kInfo, bytes_from(4, 1000))) << "read, but not free";
  EXPECT_TRUE(ring.reader.free());
  EXPECT_TRUE(ring.writer.has_room(1000));
  EXPECT_TRUE(ring.writer.write(kInfo, bytes_from(4, 1000)));
  for (uint8_t i = 2; i <= 4; ++i) ring.expect_next(kInfo, bytes_from(i, 1000));
}

TEST(ShmRing, RefusesARecordThatNeverFits) {
  Ring ring(4096);
  EXPECT_FALSE(ring.writer.write(kInfo, bytes_from(0, 4096)));
  EXPECT_TRUE(ring.writer.write(kInfo, bytes_from(0, 100)));
}

/// A run over many rounds of the memory, against a queue. `start`: the first position.
void run_against_queue(uint64_t start, uint32_t seed, size_t ring_bytes = 8192) {
  Ring ring(ring_bytes, start);
  std::deque<std::vector<uint8_t>> expected;
  std::minstd_rand random(seed);
  size_t carried = 0;
  for (int step = 0; step < 20000; ++step) {
    const size_t size = 1 + random() % (random() % 4 == 0 ? 3000 : 120);
    auto packets = bytes_from(static_cast<uint8_t>(step), size);
    if (random() % 2 == 0 && ring.writer.write(kInfo, packets)) {
      expected.push_back(std::move(packets));
    }
    if (random() % 2 != 0) continue;
    RingReader::Record record;
    const Result result = ring.reader.read(record);
    ASSERT_EQ(result, expected.empty() ? Result::kEmpty : Result::kRecord);
    if (result == Result::kEmpty) {
      ring.reader.free();
      continue;
    }
    ASSERT_TRUE(std::ranges::equal(record.packets, expected.front())) << "step " << step;
    expected.pop_front();
    ++carried;
    if (random() % 4 == 0) ring.reader.free();
  }
  EXPECT_GT(carried, 1000U);
}

TEST(ShmRing, GoesRoundItsMemory) {
  run_against_queue(0, 1);
}

TEST(ShmRing, GoesRoundItsSequenceNumbers) {
  // The numbers repeat after 2^31 lines.
  run_against_queue((uint64_t{1} << 37) - 8192 * 5, 2);
  run_against_queue((uint64_t{1} << 38) - 8192 * 5, 3);
}

TEST(ShmRing, GoesRoundInShortRoundsAndLongOnes) {
  for (uint32_t seed = 4; seed < 12; ++seed) run_against_queue(0, seed, kShortRoundBytes * 4);
}

/// Where in the memory the next record is; it is taken, and freed.
size_t take_one(Ring& ring, size_t bytes) {
  RingReader::Record record;
  EXPECT_EQ(ring.reader.read(record), Result::kRecord);
  EXPECT_EQ(record.packets.size(), bytes);
  const auto offset = static_cast<size_t>(record.packets.data() - ring.memory().data());
  EXPECT_TRUE(ring.reader.free());
  return offset;
}

/// How far into the memory records go if each is taken before the next one is written.
size_t farthest_of_single(size_t bytes) {
  Ring ring(1 << 20);
  size_t farthest = 0;
  for (size_t sent = 0; sent < 400000; sent += bytes) {
    EXPECT_TRUE(ring.writer.write(kInfo, bytes_from(1, bytes)));
    farthest = std::max(farthest, take_one(ring, bytes) + bytes);
  }
  return farthest;
}

TEST(ShmRing, SmallRecordsStayAtTheBeginningIfTheReaderKeepsUp) {
  for (const size_t bytes : {20, 100, 1000, 2000}) {
    EXPECT_LE(farthest_of_single(bytes), kShortRoundBytes) << bytes;
  }
}

TEST(ShmRing, LargeRecordsUseAllOfTheMemory) {
  EXPECT_GT(farthest_of_single(4000), 300000U);
}

TEST(ShmRing, ARoundIsLongWhileTheReaderIsBehind) {
  Ring ring(1 << 17);
  constexpr size_t kRecords = 100;
  for (size_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(static_cast<uint8_t>(i), 1000)));
  }
  for (size_t i = 0; i < kRecords; ++i) {
    ring.expect_next(kInfo, bytes_from(static_cast<uint8_t>(i), 1000));
  }
  EXPECT_EQ(ring.read(), Result::kEmpty);
}

TEST(ShmRing, SaysWhereARecordWillEndAndHasEnded) {
  Ring ring(4096);
  for (const size_t bytes : {1000, 2000, 900, 1500}) {
    const size_t end = ring.writer.end_of_next(bytes);
    ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(1, bytes)));
    RingReader::Record record;
    ASSERT_EQ(ring.reader.read(record), Result::kRecord);
    const auto begin = static_cast<size_t>(record.packets.data() - ring.memory().data());
    EXPECT_GE(ring.reader.end_of_last(), begin + bytes);
    EXPECT_LT(ring.reader.end_of_last(), begin + bytes + kCacheLine);
    EXPECT_GE(end, ring.reader.end_of_last());
    ring.reader.free();
  }
}

TEST(ShmRing, PayloadThatLooksLikeARecordIsNone) {
  // Expect: the reader never takes what an earlier round left at the next place for a record.
  Ring ring(1024);
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<uint8_t> packets(300);
    for (size_t at = 0; at + 4 <= packets.size(); at += 4) {
      // The sequence numbers of the next round's places.
      const size_t line = (kRecordHeaderBytes + at) / kCacheLine;
      const uint32_t next = static_cast<uint32_t>((round + 4) * 5 + line) << 1 | 1;
      std::memcpy(packets.data() + at, &next, 4);
    }
    ASSERT_TRUE(ring.writer.write(kInfo, packets));
    ring.expect_next(kInfo, packets);
    ASSERT_EQ(ring.read(), Result::kEmpty) << "round " << round;
    ring.reader.free();
  }
}

TEST(ShmRing, TheWriterDoesNotBelieveEveryNumberOfTheReader) {
  for (const uint64_t freed : {uint64_t{4097}, uint64_t{1} << 63, ~uint64_t{0}}) {
    Ring ring(4096);
    while (ring.writer.write(kInfo, bytes_from(0, 200))) {
    }
    ring.freed = freed;
    EXPECT_FALSE(ring.writer.write(kInfo, bytes_from(0, 200))) << freed;
  }
}

/// The header of a record at the beginning of the memory, as its writer would write it.
struct Header {
  uint32_t sequence = 1;
  uint32_t bytes = 100;
  uint16_t segment_size = 100;
  uint16_t source_port = 0xc000;
  uint8_t indices[4] = {};
  uint32_t flags = 0;
};
static_assert(sizeof(Header) == kRecordHeaderBytes);

Result read_with(const Header& header) {
  Ring ring(1 << 17);
  std::memcpy(ring.memory().data(), &header, sizeof header);
  return ring.read();
}

TEST(ShmRing, ChecksHeaders) {
  EXPECT_EQ(read_with({}), Result::kRecord);
  EXPECT_EQ(read_with({.sequence = 3}), Result::kEmpty);
  EXPECT_EQ(read_with({.bytes = 0}), Result::kBroken);
  EXPECT_EQ(read_with({.bytes = 65536, .segment_size = 4096}), Result::kRecord);
  EXPECT_EQ(read_with({.bytes = 65537, .segment_size = 4096}), Result::kBroken);
  EXPECT_EQ(read_with({.bytes = UINT32_MAX}), Result::kBroken);
  EXPECT_EQ(read_with({.segment_size = 0}), Result::kBroken);
  EXPECT_EQ(read_with({.segment_size = 15}), Result::kBroken);
  EXPECT_EQ(read_with({.bytes = 16 * 512, .segment_size = 16}), Result::kRecord);
  EXPECT_EQ(read_with({.bytes = 16 * 512 + 1, .segment_size = 16}), Result::kBroken);
  EXPECT_EQ(read_with({.flags = 1}), Result::kBroken) << "a filler of the whole memory";
}

TEST(ShmRing, ChecksThatARecordEndsBeforeTheMemory) {
  Ring ring(4096);
  ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(0, 4000)));
  ring.expect_next(kInfo, bytes_from(0, 4000));
  // The last line, at position 4032.
  Header header{.sequence = 63 << 1 | 1, .bytes = 45, .segment_size = 45};
  std::memcpy(ring.memory().data() + 4032, &header, sizeof header);
  EXPECT_EQ(ring.read(), Result::kBroken);
  header.bytes = 44;
  std::memcpy(ring.memory().data() + 4032, &header, sizeof header);
  EXPECT_EQ(ring.read(), Result::kRecord);
}

TEST(ShmRing, AFillerLeadsToARecord) {
  Ring ring(4096);
  ASSERT_TRUE(ring.writer.write(kInfo, bytes_from(0, 2000)));
  ring.expect_next(kInfo, bytes_from(0, 2000));
  const Header filler{.sequence = 32 << 1 | 1, .flags = 1};
  std::memcpy(ring.memory().data() + 2048, &filler, sizeof filler);
  EXPECT_EQ(ring.read(), Result::kBroken) << "there is none";
}

TEST(ShmRing, TwoThreadsStream) {
  Ring ring(1 << 16);
  constexpr uint32_t kRecords = 20000;
  std::thread writer([&] {
    for (uint32_t i = 0; i < kRecords; ++i) {
      const auto packets = bytes_from(static_cast<uint8_t>(i), 1 + i * 7 % 900);
      while (!ring.writer.write(kInfo, packets)) std::this_thread::yield();
    }
  });
  uint32_t taken = 0;
  uint32_t wrong = 0;
  while (taken < kRecords) {
    RingReader::Record record;
    if (ring.reader.read(record) == Result::kEmpty) {
      ring.reader.free();
      std::this_thread::yield();
      continue;
    }
    const auto expected = bytes_from(static_cast<uint8_t>(taken), 1 + taken * 7 % 900);
    if (!std::ranges::equal(record.packets, expected)) ++wrong;
    ++taken;
    if (taken % 8 == 0) ring.reader.free();
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace urxe
