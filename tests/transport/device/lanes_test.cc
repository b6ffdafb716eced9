// SPDX-License-Identifier: BSD-2-Clause
// Several lanes of one device: what they share, and what each has for itself.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <optional>

#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "tests/transport/pair.h"

namespace urxe::test::lanes_test {
namespace {

constexpr int kAll =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
constexpr Instant kNow{1'000'000'000};
const Gid kAddress = Gid::from_ipv4(std::array<uint8_t, 4>{192, 0, 2, 1}.data());

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {kAddress};
  return config;
}

struct Lanes : ::testing::Test {
  Lanes() { second.emplace(first); }

  QueuePair* make_qp(Device& lane, uint32_t qpn, CompletionQueue* cq) const {
    QpInit init;
    init.qpn = Qpn{qpn};
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.cap = {8, 8, 1, 1, 0};
    init.sq_sig_all = true;
    return lane.create_qp(init).value();
  }
  MemoryRegion* register_memory() {
    return first
        .register_memory(pd, memory, sizeof memory, reinterpret_cast<uintptr_t>(memory), kAll)
        .value();
  }
  /// Completes a receive with an error.
  static void flush(Device& lane, QueuePair& qp) {
    ASSERT_TRUE(lane.modify_qp(qp, sim::init_attributes({}), sim::kInitMask, kNow));
    ASSERT_TRUE(sim::post_receive(lane, qp, 1, {}));
    ASSERT_EQ(sim::change_state(lane, qp, IBV_QPS_ERR, kNow), 0);
  }

  uint8_t memory[4096]{};
  Device first{config()};
  PdId pd = first.alloc_pd().value();
  std::optional<Device> second;
};

TEST_F(Lanes, FindTheSameRegions) {
  MemoryRegion* const region = register_memory();
  EXPECT_EQ(second->find_memory(region->lkey), region);
  const Device late(first);
  EXPECT_EQ(late.find_memory(region->lkey), region) << "it was there before the lane";
  const LKey key = region->lkey;
  ASSERT_TRUE(first.deregister_memory(region));
  EXPECT_EQ(second->find_memory(key), nullptr);
  EXPECT_EQ(late.find_memory(key), nullptr);
}

TEST_F(Lanes, AnEndedLaneLeavesTheOthersAlone) {
  { const Device other(first); }
  MemoryRegion* const region = register_memory();
  EXPECT_EQ(second->find_memory(region->lkey), region);
}

TEST_F(Lanes, SeeWhatABindHasChanged) {
  MemoryRegion* const region = register_memory();
  MemoryWindow* const window = first.alloc_window(pd, IBV_MW_TYPE_1).value();
  const RKey before = window->rkey;
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  QueuePair* const qp = make_qp(*second, 0x8001, cq);
  ASSERT_TRUE(sim::connect(*second, *qp, {.destination = kAddress, .dest_qpn = Qpn{2}}, kNow));
  sim::SendRequest request;
  request.opcode = IBV_WR_BIND_MW;
  request.bind = {.window = before,
                  .new_key = RKey(before.value() ^ 1),
                  .region = region->lkey,
                  .va = region->iova,
                  .length = 64,
                  .access = IBV_ACCESS_REMOTE_WRITE};
  ASSERT_TRUE(sim::post_send(*second, *qp, request));
  TxBatch batch{TxBatch::Limits{}};
  EXPECT_FALSE(second->transmit(batch, kNow, AckPolicy::kAll));
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(first.is_window(request.bind.new_key));
  EXPECT_FALSE(first.is_window(before));
  EXPECT_EQ(first.deregister_memory(region).error().value, EBUSY);
  first.dealloc_window(window);
  EXPECT_FALSE(second->is_window(request.bind.new_key));
  EXPECT_TRUE(first.deregister_memory(region));
}

TEST_F(Lanes, CountInOneDomain) {
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  QueuePair* const qp = make_qp(*second, 0x8001, cq);
  EXPECT_EQ(first.dealloc_pd(pd).error().value, EBUSY);
  EXPECT_EQ(first.destroy_cq(cq).error().value, EBUSY);
  second->destroy_qp(qp);
  EXPECT_TRUE(first.destroy_cq(cq));
  EXPECT_TRUE(first.dealloc_pd(pd));
}

TEST_F(Lanes, TellOfEachObjectOnce) {
  register_memory();
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  make_qp(*second, 0x8001, cq);
  const ObjectCounts counts = first.object_counts();
  EXPECT_EQ(counts.regions, 1U);
  EXPECT_EQ(counts.domains, 1U);
  EXPECT_EQ(counts.completion_queues, 1U);
  const ObjectCounts further = second->object_counts();
  EXPECT_EQ(further.regions + further.domains + further.completion_queues, 0U);
  size_t told = 0;
  second->report_regions([&](const RegionReport&) { ++told; });
  EXPECT_EQ(told, 0U);
  EXPECT_EQ(first.report_places(), 0U);
  EXPECT_EQ(second->report_places(), 1U);
}

TEST_F(Lanes, TellObserversOfEachOthersChanges) {
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  const uint64_t before = first.object_changes();
  make_qp(*second, 0x8001, cq);
  EXPECT_NE(first.object_changes(), before) << "the queue has a user more";
}

TEST_F(Lanes, CompleteToOneQueue) {
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  QueuePair* const a = make_qp(first, 1, cq);
  EXPECT_FALSE(cq->is_shared());
  QueuePair* const b = make_qp(*second, 0x8001, cq);
  EXPECT_TRUE(cq->is_shared());
  cq->arm(false);
  flush(first, *a);
  flush(*second, *b);
  ibv_wc wc[4];
  EXPECT_EQ(cq->poll(4, wc), 2);
  EXPECT_EQ(first.take_notified(), cq) << "by the lane that found it armed";
  EXPECT_EQ(second->take_notified(), nullptr);
}

TEST_F(Lanes, ADestroyedQueueTellsNothing) {
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  QueuePair* const qp = make_qp(*second, 0x8001, cq);
  cq->arm(false);
  flush(*second, *qp);
  second->destroy_qp(qp);
  ASSERT_TRUE(first.destroy_cq(cq));
  EXPECT_EQ(second->take_notified(), nullptr);
}

TEST_F(Lanes, EventsOfASharedQueueAreNotHeldBack) {
  CompletionQueue* const cq = first.create_cq(8, nullptr).value();
  first.moderate_cq(*cq, {.count = 4, .period = milliseconds(1)});
  make_qp(*second, 0x8001, cq);
  ibv_wc success{};
  cq->arm(false);
  EXPECT_EQ(cq->push(success, false, kNow), CompletionQueue::Push::kHeld);
  EXPECT_EQ(second->take_notified(), nullptr);
  make_qp(first, 1, cq);
  EXPECT_EQ(second->take_notified(), cq) << "what was held back comes";
  cq->arm(false);
  EXPECT_EQ(cq->push(success, false, kNow), CompletionQueue::Push::kNotify);
}

/// Lanes, connections, percent of loss.
struct LossyLanes : ::testing::TestWithParam<std::tuple<uint32_t, uint32_t, int>> {};

struct Outcome {
  uint64_t succeeded = 0;
  Instant end{};
  uint64_t packets = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome write_and_read(const PairOptions& options) {
  constexpr uint32_t kEach = 40;
  constexpr uint32_t kBytes = 20000;
  Pair pair(options);
  std::vector<uint32_t> posted(options.connections);
  const auto post_next = [&](uint32_t index) {
    const auto opcode = posted[index] % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    if (posted[index] < kEach && pair.post(index, opcode, kBytes)) ++posted[index];
  };
  pair.on_completion = post_next;
  for (uint32_t i = 0; i < options.connections; ++i) {
    post_next(i);
    post_next(i);
  }
  const uint64_t all = uint64_t{options.connections} * kEach;
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() == all; }));
  EXPECT_EQ(pair.failed(), 0U);
  for (uint32_t i = 0; i < options.connections; ++i) EXPECT_EQ(pair.succeeded(i), kEach);
  return {pair.succeeded(), pair.now(), pair.counters(0).sent_packets};
}

TEST_P(LossyLanes, LoseNothingAndRepeatBySeed) {
  PairOptions options;
  options.lanes = std::get<0>(GetParam());
  options.connections = std::get<1>(GetParam());
  options.loss = std::get<2>(GetParam()) / 100.0;
  options.receive_buffer = 1 << 20;
  options.seed = 5;
  const Outcome once = write_and_read(options);
  EXPECT_EQ(once, write_and_read(options));
}

INSTANTIATE_TEST_SUITE_P(Lanes, LossyLanes,
                         ::testing::Combine(::testing::Values(2U, 4U, 8U),
                                            ::testing::Values(8U, 32U), ::testing::Values(0, 1)));

}  // namespace
}  // namespace urxe::test::lanes_test
