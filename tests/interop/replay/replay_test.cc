// SPDX-License-Identifier: BSD-2-Clause
// Recorded packets, replayed: what our device answers to a recorded requester and asks of a
// recorded responder agrees with what the recorded other one did.
#include <gtest/gtest.h>

#include <functional>

#include "tests/interop/replay/capture_table.h"
#include "tests/interop/replay/side_replay.h"
#include "tests/interop/replay/story.h"

namespace urxe::replay {
namespace {

class Replay : public testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] const CaptureRow& row() const { return capture_table().at(GetParam()); }

  /// Replays each side and has `check` look at it.
  void replay(const std::vector<Allowance>& allowances,
              const std::function<void(const SideReplay&, Ledger&)>& check) const {
    const Story story(row());
    ASSERT_EQ(story.error(), "");
    Ledger ledger;
    const std::vector<SidePlan> sides = plan_sides(story);
    for (const SidePlan& side : sides) {
      SideReplay replay(story, side);
      replay.run();
      check(replay, ledger);
    }
    EXPECT_EQ(ledger.verdict(allowances), "");
  }
};

TEST_P(Replay, ResponderAnswersAsRecorded) {
  replay(row().as_responder,
         [](const SideReplay& side, Ledger& ledger) { side.check_responder(ledger); });
}

TEST_P(Replay, RequesterAsksAsRecorded) {
  replay(row().as_requester,
         [](const SideReplay& side, Ledger& ledger) { side.check_requester(ledger); });
}

INSTANTIATE_TEST_SUITE_P(Captures, Replay, testing::Range<size_t>(0, capture_table().size()),
                         [](const auto& test) { return name_of(capture_table().at(test.param)); });

}  // namespace
}  // namespace urxe::replay
