// SPDX-License-Identifier: BSD-2-Clause
// Messages are counted right in whatever order their packets come.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::MessageKind;

constexpr uint32_t kBefore = 4;  ///< the PSN of a message of one packet

/// All operations of a line of messages, whose first packet has the PSN behind kBefore.
using Line = std::vector<Operation>;

/// Feeds one packet, and then those of `line` in the given order. Returns how many messages were
/// counted of the kind, without the first one.
uint64_t count(Service service, const Line& line, const std::vector<size_t>& order,
               MessageKind kind) {
  WireScript script;
  script.use(service);
  script.request(Operation::kSendOnly, kBefore);
  for (const size_t i : order) {
    const bool ends = opcode_info(Opcode(service, line.at(i))).ends_message;
    script.request(line.at(i), kBefore + 1 + static_cast<uint32_t>(i), ends ? 100 : 256, 600);
  }
  script.finish();
  const auto& counts = script.flow().messages().counts().at(static_cast<size_t>(kind));
  return counts.sent - (kind == MessageKind::kSend ? 1 : 0);
}

std::vector<size_t> in_order(size_t packets) {
  std::vector<size_t> order(packets);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

constexpr Service kServices[] = {Service::kRc, Service::kUc};

// The defect: M2, M1, F made two messages.
TEST(AnalyzeOvertaken, TheFirstPacketComesBehindTwoOthers) {
  const Line line = {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendMiddle,
                     Operation::kSendLast};
  EXPECT_EQ(count(Service::kRc, line, {2, 1, 0, 3}, MessageKind::kSend), 1U);
}

TEST(AnalyzeOvertaken, PacketsOfTwoMessagesComeInAnyOrder) {
  const Line line = {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast,
                     Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast};
  for (const Service service : kServices) {
    std::vector<size_t> order = in_order(line.size());
    do {
      ASSERT_EQ(count(service, line, order, MessageKind::kSend), 2U)
          << testing::PrintToString(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(AnalyzeOvertaken, PacketsOfTwoKindsComeInAnyOrder) {
  const Line line = {Operation::kWriteFirst, Operation::kWriteLast, Operation::kSendOnly,
                     Operation::kWriteFirst, Operation::kWriteLast, Operation::kSendOnly};
  std::vector<size_t> order = in_order(line.size());
  do {
    ASSERT_EQ(count(Service::kRc, line, order, MessageKind::kWrite), 2U)
        << testing::PrintToString(order);
    ASSERT_EQ(count(Service::kRc, line, order, MessageKind::kSend), 2U)
        << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Each packet cuts a message in three: the queue grows by two.
TEST(AnalyzeOvertaken, MessagesThatAreCutAreBounded) {
  WireScript script;
  script.request(Operation::kSendFirst, 0, 256);
  script.request(Operation::kSendMiddle, 60'000, 256);
  for (uint32_t psn = 2; psn < 20'000; psn += 2) script.request(Operation::kSendOnly, psn);
  EXPECT_LE(script.flow().messages().outstanding().size(), analyze::MessageQueue::kMaxOutstanding);
}

// The defect: of UC only a message that had not ended was known, and a late packet of another one
// began a message more.
TEST(AnalyzeOvertaken, LatePacketsOfUcBelongToTheirMessages) {
  constexpr size_t kMessages = 300;
  constexpr size_t kFurthest = 40;
  Line line;
  for (size_t i = 0; i < kMessages; ++i) {
    line.insert(line.end(), {Operation::kWriteFirst, Operation::kWriteMiddle,
                             Operation::kWriteMiddle, Operation::kWriteLast});
  }
  std::mt19937 random(1);  // the same numbers everywhere
  for (int round = 0; round < 5; ++round) {
    std::vector<size_t> order = in_order(line.size());
    for (size_t i = 0; i + kFurthest < order.size(); ++i) {
      if (random() % 20 != 0) continue;
      const auto begin = order.begin() + static_cast<ptrdiff_t>(i);
      std::rotate(begin, begin + 1, begin + 1 + static_cast<ptrdiff_t>(random() % kFurthest));
    }
    EXPECT_EQ(count(Service::kUc, line, order, MessageKind::kWrite), kMessages);
  }
}

/// Only a message that has not ended is open at the end, and no silence is the responder's.
TEST(AnalyzeOvertaken, MessagesOfUcAreBounded) {
  WireScript script;
  script.use(Service::kUc);
  for (uint32_t psn = 0; psn < 10'000; ++psn) script.request(Operation::kWriteOnly, psn, 0, 0);
  EXPECT_LE(script.flow().messages().outstanding().size(), analyze::MessageQueue::kMaxUnanswered);
  EXPECT_EQ(script.flow().turn(), analyze::RequestFlow::Turn::kNobody);
  script.request(Operation::kWriteFirst, 10'000, 256, 600);
  EXPECT_EQ(script.flow().turn(), analyze::RequestFlow::Turn::kRequester);
  script.finish();
  EXPECT_EQ(script.flow().messages().outstanding().size(), 1U);
  EXPECT_EQ(script.flow().messages().given_up(), 0U);
}

}  // namespace
}  // namespace urxe::test
