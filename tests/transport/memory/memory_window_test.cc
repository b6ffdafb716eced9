// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: what a bind gives and when it is refused (IBTA vol. 1, 10.6.7).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "tests/transport/memory/window_bench.h"

namespace urxe::test {
namespace {

constexpr uint64_t kVa = WindowBench::kWindowVa;

// Expect: before the bind neither key works; after it the new one does, at the right bytes.
TEST(MemoryWindow, BindGivesRemoteAccess) {
  WindowBench bench;
  const RKey old_key = bench.window->rkey;
  const BindRequest request = bench.whole();
  bench.bind(request);
  EXPECT_TRUE(bench.write(request.new_key, kVa + 16));
  EXPECT_EQ(std::memcmp(bench.backing + 1024 + 16, counting(8).data(), 8), 0);
  EXPECT_TRUE(bench.read(request.new_key, kVa + 16));
  EXPECT_TRUE(bench.add(request.new_key, kVa + 64));
  uint64_t word = 0;
  std::memcpy(&word, bench.backing + 1024 + 64, 8);
  EXPECT_EQ(word, 5U);
  EXPECT_FALSE(bench.write(old_key, kVa));
}

TEST(MemoryWindow, ReadReturnsTheBytesOfTheWindow) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.bind(request);
  std::memset(bench.backing + 1024, 0x5a, 16);
  EXPECT_TRUE(bench.read(request.new_key, kVa, 16));
  EXPECT_EQ(bench.payloads()[0], std::vector<uint8_t>(16, 0x5a));
}

// Expect: the data is read before the window can be revoked.
TEST(MemoryWindow, AReadIsOverWithTheTurn) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.bind(request);
  bench.receive(Operation::kReadRequest, kRqPsn, bench.reth(kVa, request.new_key, kMtu));
  TxBatch::Limits unsealed;
  unsealed.seals = false;
  EXPECT_EQ(bench.places_of_payloads(unsealed), Lines{"in the batch"});
}

TEST(MemoryWindow, UnboundWindowGivesNothing) {
  WindowBench bench;
  EXPECT_FALSE(bench.read(bench.window->rkey, 0));
}

TEST(MemoryWindow, FreedWindowGivesNothing) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.bind(request);
  bench.device.dealloc_window(bench.window);
  EXPECT_FALSE(bench.read(request.new_key, kVa));
}

// 10.6.7.2.6. Expect: each kind of access needs its right of the window; the others do not stand
// in.
TEST(MemoryWindow, EachRightIsNeeded) {
  const std::pair<int, std::function<bool(WindowBench&, RKey)>> kinds[] = {
      {IBV_ACCESS_REMOTE_WRITE, [](WindowBench& b, RKey key) { return b.write(key, kVa); }},
      {IBV_ACCESS_REMOTE_READ, [](WindowBench& b, RKey key) { return b.read(key, kVa); }},
      {IBV_ACCESS_REMOTE_ATOMIC, [](WindowBench& b, RKey key) { return b.add(key, kVa); }}};
  for (const auto& [right, act] : kinds) {
    WindowBench alone;
    BindRequest request = alone.whole();
    request.access = right;
    alone.bind(request);
    EXPECT_TRUE(act(alone, request.new_key)) << right;
    WindowBench without;
    request = without.whole();
    request.access = WindowBench::kAllRemote & ~right;
    without.bind(request);
    EXPECT_FALSE(act(without, request.new_key)) << right;
  }
}

TEST(MemoryWindow, BoundsAreTheWindowsNotTheRegions) {
  const std::pair<uint64_t, uint32_t> outside[] = {{kVa - 1, 1},    {kVa - 1, 8}, {kVa + 1017, 8},
                                                   {kVa + 1024, 1}, {kVa, 1025},  {~uint64_t{0}, 1},
                                                   {kVa - 8, 1040}, {0, 8}};
  for (const auto& [va, length] : outside) {
    WindowBench bench;
    const BindRequest request = bench.whole();
    bench.bind(request);
    EXPECT_TRUE(bench.read(request.new_key, kVa + 1016));
    EXPECT_TRUE(bench.read(request.new_key, kVa, 1024));
    EXPECT_FALSE(bench.read(request.new_key, va, length)) << va - kVa << " " << length;
  }
}

TEST(MemoryWindow, ZeroBasedCountsFromZero) {
  WindowBench bench;
  BindRequest request = bench.whole();
  request.access |= IBV_ACCESS_ZERO_BASED;
  bench.bind(request);
  EXPECT_TRUE(bench.write(request.new_key, 8));
  EXPECT_EQ(std::memcmp(bench.backing + 1024 + 8, counting(8).data(), 8), 0);
  EXPECT_TRUE(bench.read(request.new_key, 1016));
  EXPECT_FALSE(bench.read(request.new_key, kVa));
}

TEST(MemoryWindow, ZeroBasedEndsAtItsLength) {
  WindowBench bench;
  BindRequest request = bench.whole();
  request.access |= IBV_ACCESS_ZERO_BASED;
  bench.bind(request);
  EXPECT_FALSE(bench.read(request.new_key, 1017));
}

// 10.6.7.2.6: a type 2 window serves the queue pair that bound it; a type 1 window all of its
// domain.
TEST(MemoryWindow, OfAnotherQueuePair) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    WindowBench bench;
    MemoryWindow* window = bench.device.alloc_window(bench.pd, type).value();
    const BindRequest request = bench.ask(*window);
    QueuePair& other = bench.other_qp();
    sim::SendRequest post;
    post.opcode = IBV_WR_BIND_MW;
    post.bind = request;
    ASSERT_TRUE(sim::post_send(bench.device, other, post));
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{0, IBV_WC_SUCCESS}}));
    EXPECT_EQ(bench.read(request.new_key, kVa), type == IBV_MW_TYPE_1) << type;
  }
}

TEST(MemoryWindow, OfAnotherDomain) {
  MemoryTable table({1, 2}, {});
  uint8_t bytes[64];
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
  const MemoryRegion& region = **table.add({PdId{1}, bytes, sizeof bytes, 0x1000, access});
  const MemoryWindow& window = **table.add_window(PdId{1}, IBV_MW_TYPE_1);
  const RKey key = next_key(window.rkey);
  ASSERT_TRUE(table.bind(PdId{1}, Qpn{2},
                         {window.rkey, key, region.lkey, 0x1000, 8, IBV_ACCESS_REMOTE_READ}));
  EXPECT_EQ(table.remote(PdId{1}, Qpn{2}, key, 0x1000, 8, IBV_ACCESS_REMOTE_READ).at, bytes);
  EXPECT_FALSE(table.remote(PdId{2}, Qpn{2}, key, 0x1000, 8, IBV_ACCESS_REMOTE_READ));
}

struct Refusal {
  const char* name;
  std::function<void(WindowBench&, BindRequest&)> change;
};

MemoryRegion& add_region(WindowBench& bench, PdId pd, int access) {
  return **bench.device.register_memory(pd, bench.backing, sizeof bench.backing,
                                        WindowBench::kRegionVa, access);
}

// 10.6.7.2.2, 10.6.7.2.3: what a bind may not ask for.
const Refusal kRefusals[] = {
    {"the region does not allow windows",
     [](WindowBench& b, BindRequest& r) {
       r.region = add_region(b, b.pd, IBV_ACCESS_LOCAL_WRITE).lkey;
     }},
    {"remote write, no local write",
     [](WindowBench& b, BindRequest& r) {
       r.region = add_region(b, b.pd, IBV_ACCESS_MW_BIND).lkey;
       r.access = IBV_ACCESS_REMOTE_WRITE;
     }},
    {"remote atomic, no local write",
     [](WindowBench& b, BindRequest& r) {
       r.region = add_region(b, b.pd, IBV_ACCESS_MW_BIND).lkey;
       r.access = IBV_ACCESS_REMOTE_ATOMIC;
     }},
    {"before the region", [](WindowBench&, BindRequest& r) { r.va = WindowBench::kRegionVa - 1; }},
    {"beyond the region", [](WindowBench&, BindRequest& r) { r.va += 4096 - 2048 + 1; }},
    {"longer than the region", [](WindowBench&, BindRequest& r) { r.length = 4097; }},
    {"a length that wraps", [](WindowBench&, BindRequest& r) { r.length = ~uint64_t{0}; }},
    {"an address that wraps", [](WindowBench&, BindRequest& r) { r.va = ~uint64_t{0}; }},
    {"no length", [](WindowBench&, BindRequest& r) { r.length = 0; }},
    {"no region", [](WindowBench&, BindRequest& r) { r.region = LKey{0}; }},
    {"the key of a window for a region",
     [](WindowBench& b, BindRequest& r) { r.region = LKey{b.window->rkey.value()}; }},
    {"a region of another domain",
     [](WindowBench& b, BindRequest& r) {
       r.region =
           add_region(b, b.device.alloc_pd().value(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
               .lkey;
     }},
    {"a window of another domain",
     [](WindowBench& b, BindRequest& r) {
       r = b.ask(**b.device.alloc_window(b.device.alloc_pd().value(), IBV_MW_TYPE_2));
     }},
    {"a region for a window",
     [](WindowBench& b, BindRequest& r) { r.window = r.new_key = b.region->rkey; }},
    {"no window", [](WindowBench&, BindRequest& r) { r.window = r.new_key = RKey{0xfffffe01}; }},
    {"bound already",
     [](WindowBench& b, BindRequest& r) {
       b.bind(r);
       r = b.whole();
     }},
};

// Expect: MW_BIND_ERR once the SEND before it is acknowledged, the rest flushed, nothing sent.
TEST(MemoryWindow, RefusedBindFailsInItsTurn) {
  for (const Refusal& refusal : kRefusals) {
    WindowBench bench;
    BindRequest request = bench.whole();
    refusal.change(bench, request);
    const bool was_bound = bench.window->region != nullptr;
    bench.post(IBV_WR_SEND, 0);
    bench.post_bind(request);
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0"})) << refusal.name;
    EXPECT_EQ(bench.send_statuses(), Statuses{}) << refusal.name;
    bench.receive_ack(100);
    EXPECT_EQ(bench.sent(), Lines{}) << refusal.name;
    const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
    ASSERT_EQ(wcs.size(), 3U) << refusal.name;
    EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS) << refusal.name;
    EXPECT_EQ(wcs[1].status, IBV_WC_MW_BIND_ERR) << refusal.name;
    EXPECT_EQ(wcs[1].opcode, IBV_WC_BIND_MW) << refusal.name;
    EXPECT_EQ(wcs[2].status, IBV_WC_WR_FLUSH_ERR) << refusal.name;
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR) << refusal.name;
    EXPECT_EQ(bench.window->region != nullptr, was_bound) << refusal.name;
  }
}

// Expect: of the key that is asked for only the low 8 bits count; the rest is the window's own.
TEST(MemoryWindow, BindTakesTheLowBitsOfTheKey) {
  WindowBench bench;
  BindRequest request = bench.whole();
  const RKey key = request.new_key;
  request.new_key = RKey{key.value() ^ 0xabcdef00};
  bench.bind(request);
  EXPECT_EQ(bench.window->rkey, key);
  EXPECT_TRUE(bench.read(key, kVa));
  EXPECT_FALSE(bench.read(request.new_key, kVa));
}

// What a region does not allow to write it may still offer to read.
TEST(MemoryWindow, ReadWindowOfReadOnlyRegion) {
  WindowBench bench;
  BindRequest request = bench.whole();
  request.region = add_region(bench, bench.pd, IBV_ACCESS_MW_BIND).lkey;
  request.access = IBV_ACCESS_REMOTE_READ;
  bench.bind(request);
  EXPECT_TRUE(bench.read(request.new_key, kVa));
}

// 10.6.7.2.4. Expect: a type 1 window may be bound again and again; the old key dies each time.
TEST(MemoryWindow, Type1Rebinds) {
  WindowBench bench;
  MemoryWindow* window = bench.device.alloc_window(bench.pd, IBV_MW_TYPE_1).value();
  const BindRequest first = bench.ask(*window);
  bench.bind(first);
  EXPECT_TRUE(bench.read(first.new_key, kVa));
  BindRequest second = bench.ask(*window);
  second.va = WindowBench::kRegionVa;
  bench.bind(second);
  EXPECT_NE(first.new_key, second.new_key);
  EXPECT_EQ(bench.region->windows, 1U);
  EXPECT_TRUE(bench.read(second.new_key, WindowBench::kRegionVa));
  EXPECT_FALSE(bench.read(first.new_key, kVa));
}

// 10.6.7.2.6. Expect: it stays bound when the queue pair that bound it ends.
TEST(MemoryWindow, Type1IsNoQueuePairs) {
  WindowBench bench;
  MemoryWindow* window = bench.device.alloc_window(bench.pd, IBV_MW_TYPE_1).value();
  bench.bind(bench.ask(*window));
  ASSERT_TRUE(bench.move_to(IBV_QPS_RESET) == 0);
  EXPECT_EQ(window->region, bench.region);
  EXPECT_EQ(bench.region->windows, 1U);
  bench.device.dealloc_window(window);
}

// Expect: length 0 unbinds a type 1 window, whatever region it names.
TEST(MemoryWindow, Type1UnbindsByLengthZero) {
  WindowBench bench;
  MemoryWindow* window = bench.device.alloc_window(bench.pd, IBV_MW_TYPE_1).value();
  bench.bind(bench.ask(*window));
  BindRequest nothing = bench.ask(*window);
  nothing.length = 0;
  nothing.region = LKey{0};
  bench.bind(nothing);
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_FALSE(bench.read(nothing.new_key, kVa));
}

// 10.6.7.2.5. Expect: a region with windows stays until each is unbound, invalidated or freed.
TEST(MemoryWindow, RegionIsBusy) {
  WindowBench bench;
  const auto remove = [&] { return bench.device.deregister_memory(bench.region); };
  MemoryWindow* second = bench.device.alloc_window(bench.pd, IBV_MW_TYPE_2).value();
  bench.bind(bench.whole());
  bench.bind(bench.ask(*second));
  EXPECT_EQ(remove().error().value, EBUSY);
  EXPECT_EQ(
      bench.device.reregister_memory(*bench.region, bench.pd, bench.backing, 8, 0, 0).error().value,
      EBUSY);
  bench.device.dealloc_window(bench.window);
  EXPECT_EQ(remove().error().value, EBUSY);
  bench.post_invalidate(second->rkey);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_TRUE(remove());
}

TEST(MemoryWindow, EndsWithItsQueuePair) {
  WindowBench bench;
  bench.bind(bench.whole());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE, bench.now));
  // Expect: the region is free again.
  EXPECT_EQ(bench.window->region, nullptr);
  EXPECT_TRUE(bench.device.deregister_memory(bench.region));
}

TEST(MemoryWindow, DomainIsBusy) {
  WindowBench bench;
  const PdId pd = bench.device.alloc_pd().value();
  MemoryWindow* window = bench.device.alloc_window(pd, IBV_MW_TYPE_2).value();
  EXPECT_EQ(bench.device.dealloc_pd(pd).error().value, EBUSY);
  bench.device.dealloc_window(window);
  EXPECT_TRUE(bench.device.dealloc_pd(pd));
}

}  // namespace
}  // namespace urxe::test
