// SPDX-License-Identifier: BSD-2-Clause
// Retransmissions before the peer's time is over: sooner, but not more of them, and for as long.
#include <gtest/gtest.h>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;
constexpr Duration kFirst = milliseconds(250);
constexpr uint8_t kMostRetries = 15;

CmConfig early_config() {
  CmConfig config = Bench::default_config();
  config.first_retry = kFirst;
  return config;
}

CommId connect(Bench& bench, uint8_t retries) {
  CmReq req = request_template();
  req.max_cm_retries = retries;
  const auto id = bench.cm.connect(req, flow_between(bench.ours, bench.peer), kLifetime, bench.now);
  EXPECT_TRUE(id);
  bench.expect_sent<CmReq>();
  return *id;
}

/// When the REQ is sent again, counted from when it was sent first; the last: when it is given up.
std::vector<Duration> retry_times(Bench& bench) {
  const Instant begun = bench.now;
  std::vector<Duration> times;
  while (bench.advance_to_deadline()) {
    times.push_back(bench.now - begun);
    if (bench.sent() && bench.cm.has_event()) break;
  }
  return times;
}

TEST(CmEarlyRetry, ComesAtTwiceThePauseEachWithinTheFirstTimeout) {
  Bench bench(early_config());
  connect(bench, kMostRetries);
  const auto times = retry_times(bench);
  ASSERT_EQ(times.size(), kMostRetries + 1u);
  EXPECT_EQ(times[0], kFirst);
  EXPECT_EQ(times[1], kFirst * 3);
  EXPECT_EQ(times[2], kFirst * 7);
  for (unsigned i = 3; i < kMostRetries; ++i) {
    EXPECT_EQ(times[i], response_timeout() * (i - 2)) << i;
  }
}

TEST(CmEarlyRetry, DoesNotGiveUpEarlier) {
  Bench early(early_config());
  connect(early, kMostRetries);
  EXPECT_EQ(retry_times(early).back(), response_timeout() * (kMostRetries + 1));
  EXPECT_EQ(early.retries(CmAttribute::kReq), kMostRetries) << "no more than the peer was told";
}

TEST(CmEarlyRetry, IsNoneWhereRetriesAreFew) {
  Bench bench(early_config());
  connect(bench, kRetries);
  const auto times = retry_times(bench);
  ASSERT_EQ(times.size(), kRetries + 1u);
  for (unsigned i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], response_timeout() * (i + 1));
}

TEST(CmEarlyRetry, EndsWhenThePeerAsksForTime) {
  Bench bench(early_config());
  const CommId id = connect(bench, kMostRetries);
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.service_timeout = 23;
  bench.receive(mra, bench.transaction_id);
  bench.expect_event(Kind::kMra);
  const Duration granted = iba_time(23) + iba_time(kLifetime);
  const Instant begun = bench.now;
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.now - begun, granted);
  bench.expect_sent<CmReq>();
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.now - begun, granted + response_timeout());
}

}  // namespace
}  // namespace urxe::test
