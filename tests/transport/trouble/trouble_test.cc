// SPDX-License-Identifier: BSD-2-Clause
// Errors, deregistration, SQD, SQE and RESET while a bad network loses, repeats and reorders
// packets. Each seed is a chain of troubles; the queue pairs begin anew after each, and what is
// still on its way must not disturb them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/trouble/world.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe::test::trouble_test {
namespace {

constexpr uint64_t kSeeds = 100;
constexpr int kRounds = 6;

class Trouble {
 public:
  Trouble(uint64_t seed, ibv_qp_type type) : world_(seed, type) {}
  TroubledWorld& world() { return world_; }

  /// Posts `count` good requests.
  void post_good(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) post(world_.draw());
  }
  void post(const sim::SendRequest& request) {
    posted_.push_back(request);
    world_.post(request);
  }
  void begin_anew() {
    world_.connect();
    posted_.clear();
  }
  uint32_t some() { return world_.random.range32(0, 20); }

  /// All requests complete: `good` of them with success and as they should, then one with `status`,
  /// the others flushed. `good` nullopt: any number.
  void expect_failure(ibv_wc_status status, std::optional<size_t> good) {
    ASSERT_TRUE(world_.run_until([&] { return world_.completions.size() >= posted_.size(); }));
    ASSERT_EQ(world_.completions.size(), posted_.size());
    size_t succeeded = 0;
    for (size_t i = 0; i < posted_.size(); ++i) {
      const ibv_wc& wc = world_.completions[i];
      ASSERT_EQ(wc.wr_id, posted_[i].wr_id);
      if (i == succeeded && wc.status == IBV_WC_SUCCESS) {
        ++succeeded;
        expect_executed(posted_[i]);
      } else {
        ASSERT_EQ(wc.status, i == succeeded ? status : IBV_WC_WR_FLUSH_ERR) << "request " << i;
      }
    }
    if (good) {
      EXPECT_EQ(succeeded, *good);
    }
  }
  /// The same, as the responder finds. It says so once: if that is lost, with ACKs before it, the
  /// oldest request without an answer runs out of retries.
  void expect_remote_failure(size_t good) {
    ASSERT_TRUE(world_.run_until([&] { return world_.completions.size() >= posted_.size(); }));
    const auto failed = std::ranges::find_if(
        world_.completions, [](const ibv_wc& wc) { return wc.status != IBV_WC_SUCCESS; });
    const auto first = static_cast<size_t>(failed - world_.completions.begin());
    ASSERT_LE(first, good);
    const bool lost = failed->status == IBV_WC_RETRY_EXC_ERR;
    named += lost ? 0 : 1;
    expect_failure(lost ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_ACCESS_ERR, lost ? first : good);
  }
  int named = 0;  ///< times that it was said what was wrong
  void expect_success() {
    ASSERT_TRUE(world_.run_until([&] { return world_.completions.size() >= posted_.size(); }));
    for (size_t i = 0; i < posted_.size(); ++i) {
      ASSERT_EQ(world_.completions[i].wr_id, posted_[i].wr_id);
      ASSERT_EQ(world_.completions[i].status, IBV_WC_SUCCESS);
      expect_executed(posted_[i]);
    }
  }

 private:
  void expect_executed(const sim::SendRequest& request) {
    if (world_.qp(0).service != Service::kRc || request.opcode == IBV_WR_SEND) return;
    EXPECT_TRUE(world_.is_executed(request)) << "request " << request.wr_id;
  }
  TroubledWorld world_;
  std::vector<sim::SendRequest> posted_;
};

// --- One request of several is wrong.

void wrong_remote_key(Trouble& trouble) {
  const uint32_t before = trouble.some();
  trouble.post_good(before);
  sim::SendRequest wrong = trouble.world().draw();
  if (wrong.opcode == IBV_WR_SEND) wrong.opcode = IBV_WR_RDMA_WRITE;
  if (trouble.world().random.percent(50)) {
    wrong.rkey = RKey{wrong.rkey.value() ^ 0x100};
  } else {
    wrong.remote_addr += 1 << 30;
  }
  trouble.post(wrong);
  trouble.post_good(trouble.some());
  trouble.expect_remote_failure(before);
  // The responder's end is in error, too, and has said so once.
  trouble.world().run_for(milliseconds(1));
  EXPECT_EQ(trouble.world().qp(1).state(), IBV_QPS_ERR);
  EXPECT_EQ(std::ranges::count(trouble.world().events[1], IBV_EVENT_QP_ACCESS_ERR), 1);
}

void wrong_local_key(Trouble& trouble) {
  const uint32_t before = trouble.some();
  trouble.post_good(before);
  sim::SendRequest wrong = trouble.world().draw();
  wrong.opcode = IBV_WR_RDMA_WRITE;
  wrong.sges[0].lkey = LKey{wrong.sges[0].lkey.value() ^ 0x100};
  trouble.post(wrong);
  trouble.post_good(trouble.some());
  trouble.expect_failure(IBV_WC_LOC_PROT_ERR, before);
  EXPECT_EQ(trouble.world().qp(0).state(), IBV_QPS_ERR);
}

// --- The target's memory goes.

void remote_deregistered(Trouble& trouble) {
  TroubledWorld& world = trouble.world();
  trouble.post_good(30);
  world.run_for(microseconds(static_cast<int64_t>(world.random.range(0, 200))));
  world.deregister_remote();
  // SENDs need memory of the receiver's, too, and then it is the receiver that has failed.
  ASSERT_TRUE(world.run_until([&] { return world.completions.size() >= 30; }));
  size_t good = 0;
  while (good < 30 && world.completions[good].status == IBV_WC_SUCCESS) ++good;
  if (good < 30) {
    const ibv_wc_status status = world.completions[good].status;
    EXPECT_TRUE(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR ||
                status == IBV_WC_RETRY_EXC_ERR)
        << status;
    trouble.expect_failure(status, good);
  }
  world.register_remote();
}

// --- Transitions.

void reset(Trouble& trouble) {
  TroubledWorld& world = trouble.world();
  trouble.post_good(30);
  world.run_for(microseconds(static_cast<int64_t>(world.random.range(0, 200))));
  const size_t before = world.completions.size();
  const int side = static_cast<int>(world.random.below(2));
  ASSERT_EQ(world.move(side, IBV_QPS_RESET), 0);
  if (side == 1) {
    ASSERT_TRUE(world.run_until([&] { return world.completions.size() >= 30; }));
    const ibv_wc_status last = world.completions.back().status;
    EXPECT_TRUE(last == IBV_WC_SUCCESS || last == IBV_WC_WR_FLUSH_ERR ||
                last == IBV_WC_RETRY_EXC_ERR)
        << last;
    return;
  }
  const uint64_t sent = world.sent_packets(0);
  world.run_for(milliseconds(300));
  EXPECT_EQ(world.completions.size(), before) << "a queue pair that was reset completes";
  EXPECT_EQ(world.sent_packets(0), sent);
}

void drained(Trouble& trouble) {
  TroubledWorld& world = trouble.world();
  trouble.post_good(30);
  world.run_for(microseconds(static_cast<int64_t>(world.random.range(0, 100))));
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(world.device(0).modify_qp(world.qp(0), attr,
                                        IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, Instant{}));
  ASSERT_TRUE(world.run_until(
      [&] { return std::ranges::count(world.events[0], IBV_EVENT_SQ_DRAINED) == 1; }));
  // What had begun is over; nothing else begins.
  const size_t completed = world.completions.size();
  const uint64_t sent = world.sent_packets(0);
  world.run_for(milliseconds(300));
  EXPECT_EQ(world.completions.size(), completed);
  EXPECT_EQ(world.sent_packets(0), sent);
  attr.qp_state = IBV_QPS_RTS;
  ASSERT_TRUE(world.device(0).modify_qp(world.qp(0), attr, IBV_QP_STATE, Instant{}));
  trouble.post_good(5);
  trouble.expect_success();
  EXPECT_EQ(std::ranges::count(world.events[0], IBV_EVENT_SQ_DRAINED), 1);
}

void no_trouble(Trouble& trouble) {
  trouble.post_good(trouble.some() + 1);
  trouble.expect_success();
}

TEST(TroubleUnderFaults, ReliableQueuePairs) {
  constexpr void (*kKinds[])(Trouble&) = {
      wrong_remote_key, wrong_local_key, remote_deregistered, reset, drained, no_trouble};
  int named = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Trouble trouble(seed, IBV_QPT_RC);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t kind = trouble.world().random.below(std::size(kKinds));
      SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round << " kind " << kind);
      kKinds[kind](trouble);
      if (testing::Test::HasFailure()) return;
      trouble.begin_anew();
    }
    named += trouble.named;
  }
  EXPECT_GT(named, 10) << "of some sixty";
}

/// A local error of an unreliable service: the send queue alone fails, and recovers.
void send_queue_error(Trouble& trouble) {
  TroubledWorld& world = trouble.world();
  const uint32_t before = trouble.some();
  trouble.post_good(before);
  sim::SendRequest wrong = world.draw();
  wrong.sges[0].lkey = LKey{wrong.sges[0].lkey.value() ^ 0x100};
  trouble.post(wrong);
  trouble.post_good(trouble.some());
  trouble.expect_failure(IBV_WC_LOC_PROT_ERR, before);
  EXPECT_EQ(world.qp(0).state(), IBV_QPS_SQE);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.cur_qp_state = IBV_QPS_SQE;
  ASSERT_TRUE(
      world.device(0).modify_qp(world.qp(0), attr, IBV_QP_STATE | IBV_QP_CUR_STATE, Instant{}));
  const size_t failed = world.completions.size();
  for (int i = 0; i < 5; ++i) world.post(world.draw());
  ASSERT_TRUE(world.run_until([&] { return world.completions.size() == failed + 5; }));
  for (size_t i = failed; i < failed + 5; ++i) {
    EXPECT_EQ(world.completions[i].status, IBV_WC_SUCCESS);
  }
}

TEST(TroubleUnderFaults, UnreliableQueuePairs) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Trouble trouble(seed, IBV_QPT_UC);
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
      (round % 2 == 0 ? send_queue_error : no_trouble)(trouble);
      if (testing::Test::HasFailure()) return;
      trouble.begin_anew();
    }
  }
}

}  // namespace
}  // namespace urxe::test::trouble_test
