// SPDX-License-Identifier: BSD-2-Clause
// Messages are counted right in whatever order their packets come.
#include <gtest/gtest.h>

#include <numeric>

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

// The defect: M2, M1, F made two messages.
TEST(AnalyzeOvertaken, TheFirstPacketComesBehindTwoOthers) {
  const Line line = {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendMiddle,
                     Operation::kSendLast};
  EXPECT_EQ(count(Service::kRc, line, {2, 1, 0, 3}, MessageKind::kSend), 1U);
}

TEST(AnalyzeOvertaken, PacketsOfTwoMessagesComeInAnyOrder) {
  const Line line = {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast,
                     Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast};
  std::vector<size_t> order = in_order(line.size());
  do {
    ASSERT_EQ(count(Service::kRc, line, order, MessageKind::kSend), 2U)
        << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
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

}  // namespace
}  // namespace urxe::test
