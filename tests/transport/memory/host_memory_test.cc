// SPDX-License-Identifier: BSD-2-Clause
// The order in which a WRITE reaches memory that the application may watch.
#include "transport/memory/host_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace urxe::test {
namespace {

struct Piece {
  size_t at;
  size_t bytes;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The steps in which write_in_order() writes `bytes` bytes from `at` on, behind an aligned word.
std::vector<Piece> pieces_of(size_t at, size_t bytes) {
  alignas(8) static uint8_t memory[64];
  static std::vector<Piece> pieces;
  pieces.clear();
  GuardedAccess access;
  access.write = [](void* guarded, const void*, size_t size) {
    pieces.push_back({static_cast<size_t>(static_cast<uint8_t*>(guarded) - memory), size});
    return true;
  };
  const HostMemory target{memory + at, HostMemory::Kind::kGuarded};
  EXPECT_TRUE(write_in_order(access, target, std::vector<uint8_t>(bytes)));
  return pieces;
}

using Pieces = std::vector<Piece>;

TEST(WriteInOrder, AlignedWordAtTheEndIsOneStep) {
  EXPECT_EQ(pieces_of(0, 8), (Pieces{{0, 8}}));
  EXPECT_EQ(pieces_of(8, 40), (Pieces{{8, 32}, {40, 8}}));
  EXPECT_EQ(pieces_of(3, 13), (Pieces{{3, 5}, {8, 8}}));
  EXPECT_EQ(pieces_of(0, 12), (Pieces{{0, 8}, {8, 4}}));
  EXPECT_EQ(pieces_of(0, 10), (Pieces{{0, 8}, {8, 2}}));
  EXPECT_EQ(pieces_of(0, 9), (Pieces{{0, 8}, {8, 1}}));
}

TEST(WriteInOrder, ShortMessageIsAsManyStepsAsItsAlignmentNeeds) {
  EXPECT_EQ(pieces_of(0, 1), (Pieces{{0, 1}}));
  EXPECT_EQ(pieces_of(0, 2), (Pieces{{0, 2}}));
  EXPECT_EQ(pieces_of(4, 4), (Pieces{{4, 4}}));
  EXPECT_EQ(pieces_of(5, 3), (Pieces{{5, 1}, {6, 2}}));
  EXPECT_EQ(pieces_of(7, 1), (Pieces{{7, 1}}));
  EXPECT_EQ(pieces_of(1, 6), (Pieces{{1, 5}, {6, 1}}));
}

TEST(WriteInOrder, EveryByteIsWritten) {
  for (size_t at = 0; at < 16; ++at) {
    for (size_t bytes = 1; bytes <= 40; ++bytes) {
      std::vector<uint8_t> data;
      for (size_t i = 0; i < bytes; ++i) data.push_back(static_cast<uint8_t>(i + 1));
      alignas(8) uint8_t memory[64] = {};
      EXPECT_TRUE(write_in_order({}, {memory + at, HostMemory::Kind::kPlain}, data));
      for (size_t i = 0; i < sizeof memory; ++i) {
        const bool inside = i >= at && i < at + bytes;
        ASSERT_EQ(memory[i], inside ? data[i - at] : 0) << at << " " << bytes << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace urxe::test
