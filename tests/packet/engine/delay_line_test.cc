// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/delay_line.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

FaultLine::Packet packet(uint8_t mark, size_t size = 1000) {
  FaultLine::Packet made;
  made.bytes.assign(size, mark);
  return made;
}

std::vector<uint8_t> marks(DelayLine& line, Instant now) {
  std::deque<FaultLine::Packet> out;
  line.take(now, out);
  std::vector<uint8_t> result;
  for (const FaultLine::Packet& one : out) result.push_back(one.bytes[0]);
  return result;
}

TEST(DelayLine, DoesNothingWithoutDelayAndRate) {
  EXPECT_FALSE(DelayLine(FaultRates{.loss = 1}).holds_packets());
  EXPECT_TRUE(DelayLine(FaultRates{.delay = nanoseconds(1)}).holds_packets());
  EXPECT_TRUE(DelayLine(FaultRates{.bits_per_second = 1}).holds_packets());
}

TEST(DelayLine, EachPacketTakesTheDelay) {
  DelayLine line(FaultRates{.delay = microseconds(50)});
  EXPECT_FALSE(line.next());
  EXPECT_TRUE(line.put(packet(1), Instant{1000}));
  EXPECT_TRUE(line.put(packet(2), Instant{3000}));
  EXPECT_EQ(line.next(), Instant{51000});
  EXPECT_EQ(marks(line, Instant{50999}), std::vector<uint8_t>{});
  EXPECT_EQ(marks(line, Instant{51000}), std::vector<uint8_t>{1});
  EXPECT_EQ(line.next(), Instant{53000});
  EXPECT_EQ(marks(line, Instant{60000}), std::vector<uint8_t>{2});
  EXPECT_FALSE(line.next());
}

TEST(DelayLine, PacketsWaitForThoseBeforeThemAtTheRate) {
  // 1000 bytes at 8 Gbit/s: a microsecond.
  DelayLine line(FaultRates{.delay = microseconds(10), .bits_per_second = 8000000000});
  for (uint8_t i = 1; i <= 3; ++i) line.put(packet(i), Instant{0});
  EXPECT_EQ(line.next(), Instant{11000});
  EXPECT_EQ(marks(line, Instant{12000}), (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(line.next(), Instant{13000});
  // A line that has been idle saves nothing up.
  line.put(packet(4), Instant{100000});
  EXPECT_EQ(marks(line, Instant{100000}), std::vector<uint8_t>{3});
  EXPECT_EQ(line.next(), Instant{111000});
}

TEST(DelayLine, AFullLineLosesPackets) {
  DelayLine line(FaultRates{.delay = seconds(1)});
  for (size_t i = 0; i < DelayLine::kMostPackets; ++i) {
    ASSERT_TRUE(line.put(packet(1, 1), Instant{0}));
  }
  EXPECT_FALSE(line.put(packet(2, 1), Instant{0}));
  std::deque<FaultLine::Packet> all;
  line.take_all(all);
  EXPECT_EQ(all.size(), DelayLine::kMostPackets);
  EXPECT_TRUE(line.put(packet(3, 1), Instant{0}));
}

}  // namespace
}  // namespace urxe::test
