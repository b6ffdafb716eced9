// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/psn_line.h"

#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::Hole;
using analyze::LongPsn;
using analyze::PsnLine;

constexpr auto kMany = static_cast<LongPsn>(4 * PsnLine::kMaxHoles);

/// Holes of one PSN each: 0, 2, 4 and so on.
PsnLine with_holes(LongPsn holes) {
  PsnLine line;
  for (LongPsn psn = 0; psn < 2 * holes; psn += 2) line.open_hole(psn, Hole{psn + 1});
  return line;
}

// The defect: "PSNs never seen" was the sum of the newest 256 holes.
TEST(AnalyzePsnLine, ForgottenHolesStillCount) {
  const PsnLine line = with_holes(kMany);
  EXPECT_EQ(line.missing(), static_cast<uint64_t>(kMany));
  EXPECT_EQ(line.hole_at(0), nullptr);
  EXPECT_NE(line.hole_at(2 * kMany - 2), nullptr);
}

TEST(AnalyzePsnLine, ForgottenHolesAreAcknowledgedWithTheOthers) {
  PsnLine line = with_holes(kMany);
  EXPECT_EQ(line.close_holes_below(1), 0U) << "the place of what was forgotten is not known";
  EXPECT_EQ(line.close_holes_below(2 * kMany), static_cast<uint64_t>(kMany));
  EXPECT_EQ(line.missing(), 0U);
}

// The defect: a long hole that was filled here and there became any number of holes.
TEST(AnalyzePsnLine, PartsOfAHoleAreBoundedToo) {
  PsnLine line;
  line.open_hole(0, Hole{2 * kMany});
  for (LongPsn psn = 0; psn < 2 * kMany; psn += 2) line.fill(psn, 1);
  EXPECT_EQ(line.hole_at(1), nullptr) << "forgotten";
  EXPECT_EQ(line.missing(), static_cast<uint64_t>(kMany));
}

TEST(AnalyzePsnLine, NothingAsksForWhatUcHasLost) {
  WireScript script;
  script.use(Service::kUc);
  for (uint32_t psn = 0; psn < 20000; ++psn) {
    if (psn % 20 != 10) script.request(Operation::kWriteOnly, psn, 100, 100);
  }
  script.finish();
  EXPECT_EQ(script.flow().missing(), 1000U);
}

}  // namespace
}  // namespace urxe::test
