// SPDX-License-Identifier: BSD-2-Clause
// Memory that the application has taken away, or not mapped yet: what was to touch it fails, with
// the error of a key that does not hold; all other memory is accessed as ever.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

/// What the accesses below take for mapped.
struct Mapped {
  const uint8_t* begin = nullptr;
  size_t bytes = 0;
  int accesses = 0;
  int held = 0;
};
Mapped mapped;

bool is_mapped(const void* at, size_t bytes) {
  ++mapped.accesses;
  const auto* first = static_cast<const uint8_t*>(at);
  return first >= mapped.begin && first + bytes <= mapped.begin + mapped.bytes;
}

constexpr GuardedAccess kAccess = {
    .read =
        [](void* to, const void* guarded, size_t bytes) {
          if (!is_mapped(guarded, bytes)) return false;
          std::memcpy(to, guarded, bytes);
          return true;
        },
    .write =
        [](void* guarded, const void* from, size_t bytes) {
          if (!is_mapped(guarded, bytes)) return false;
          std::memcpy(guarded, from, bytes);
          return true;
        },
    .hold =
        [](void* guarded, size_t bytes) {
          if (!is_mapped(guarded, bytes)) return false;
          ++mapped.held;
          return true;
        },
    .release = [] { --mapped.held; },
};

BenchOptions options() {
  BenchOptions options;
  options.guarded_access = kAccess;
  return options;
}

/// The first page of the target and of the local memory is mapped; all regions are guarded.
struct GuardedBench : Bench {
  GuardedBench() : Bench(options()) {
    for (MemoryRegion* region : {target_region, local_region}) {
      region->losses.lose(0, UINTPTR_MAX, Loss::kUncertain);
    }
    map(target, 4096);
  }
  void map(const uint8_t* at, size_t bytes) { mapped = {at, bytes, 0, 0}; }
  [[nodiscard]] RKey key() const { return target_region->rkey; }
};

std::string first_line(GuardedBench& bench) {
  const Lines lines = bench.sent();
  return lines.size() == 1 ? lines[0].substr(0, lines[0].find(" msn")) : "";
}

constexpr const char* kAccessNak = "ACK psn 200 nak \"remote access error\"";

TEST(GuardedMemory, PlainRegionsAreNotAskedFor) {
  Bench bench(options());
  mapped = {};
  bench.receive(Operation::kWriteOnly, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8), counting(8));
  bench.post(IBV_WR_SEND, 64);
  EXPECT_EQ(bench.sent().size(), 2U);
  EXPECT_EQ(std::memcmp(bench.target, counting(8).data(), 8), 0);
  EXPECT_EQ(mapped.accesses, 0);
}

TEST(GuardedMemory, WriteReadAndAtomicWhereItIsMapped) {
  GuardedBench bench;
  bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa + 8, bench.key(), 8),
                counting(8));
  EXPECT_EQ(std::memcmp(bench.target + 8, counting(8).data(), 8), 0);
  bench.receive(Operation::kReadRequest, 201, bench.reth(Bench::kTargetVa + 8, bench.key(), 8));
  Headers headers;
  headers.bth.ack_req = true;
  headers.atomic = {Bench::kTargetVa + 64, bench.key(), 5, 0};
  bench.receive(Operation::kFetchAdd, 202, headers);
  EXPECT_EQ(bench.sent().size(), 2U);
  EXPECT_EQ(bench.payloads()[0], counting(8));
  EXPECT_EQ(bench.target[64], 5);
  EXPECT_EQ(mapped.held, 0);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// Expect: NAK remote access error, the event, the Error state; nothing else.
TEST(GuardedMemory, WriteWhereItIsNot) {
  GuardedBench bench;
  bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa + 4096, bench.key(), 8),
                counting(8));
  EXPECT_EQ(first_line(bench), kAccessNak);
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_QP_ACCESS_ERR}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.target[4096], 0);
}

TEST(GuardedMemory, WriteThatRunsOut) {
  GuardedBench bench;
  bench.receive(Operation::kWriteFirst, 200,
                bench.reth(Bench::kTargetVa + 4096 - kMtu, bench.key(), kMtu + 8), counting(kMtu));
  bench.receive(Operation::kWriteLast, 201, {}, counting(8));
  EXPECT_EQ(first_line(bench), "ACK psn 201 nak \"remote access error\"");
}

TEST(GuardedMemory, ReadWhereItIsNot) {
  GuardedBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(Bench::kTargetVa + 4096, bench.key(), 8));
  EXPECT_EQ(first_line(bench), kAccessNak);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: the responses up to the gap are sent, the NAK takes the place of the next.
TEST(GuardedMemory, ReadThatRunsOut) {
  GuardedBench bench;
  bench.receive(Operation::kReadRequest, 200,
                bench.reth(Bench::kTargetVa + 4096 - kMtu, bench.key(), 2 * kMtu));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].substr(0, 24), "READ Response First psn ") << lines[0];
  EXPECT_EQ(lines[1].substr(0, lines[1].find(" msn")), "ACK psn 201 nak \"remote access error\"");
}

TEST(GuardedMemory, AtomicWhereItIsNot) {
  GuardedBench bench;
  Headers headers;
  headers.bth.ack_req = true;
  headers.atomic = {Bench::kTargetVa + 4096, bench.key(), 5, 0};
  bench.receive(Operation::kFetchAdd, 200, headers);
  EXPECT_EQ(first_line(bench), kAccessNak);
  EXPECT_EQ(mapped.held, 0);
  EXPECT_EQ(bench.target[4096], 0);
}

// Expect: remote operational error, and the receive fails with a local protection error.
TEST(GuardedMemory, ReceiveBufferIsGone) {
  GuardedBench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, {}, counting(8));
  EXPECT_EQ(first_line(bench), "ACK psn 200 nak \"remote operational error\"");
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
}

TEST(GuardedMemory, SourceOfASendIsGone) {
  GuardedBench bench;
  bench.post(IBV_WR_SEND, 8);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

TEST(GuardedMemory, DestinationOfAReadIsGone) {
  GuardedBench bench;
  bench.post(IBV_WR_RDMA_READ, 8);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive(Operation::kReadResponseOnly, 100, {}, counting(8));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
}

TEST(GuardedMemory, DestinationOfAnAtomicIsGone) {
  GuardedBench bench;
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive(Operation::kAtomicAcknowledge, 100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
}

// A device that was given no accesses. Expect: refused, not touched.
TEST(GuardedMemory, WithoutAccessesNothingIsTouched) {
  Bench bench;
  bench.target_region->losses.lose(0, UINTPTR_MAX, Loss::kUncertain);
  bench.receive(Operation::kWriteOnly, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8), counting(8));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.target[1], 0);
}

/// A Bench whose target's second page is gone, though memory is mapped there.
struct HoleBench : GuardedBench {
  HoleBench() {
    const auto start = reinterpret_cast<uintptr_t>(target);
    target_region->losses.forget();
    target_region->losses.lose(start + 4096, start + 8192, Loss::kGone);
    map(target, sizeof target);
  }
};

// A remote WRITE landed in memory that was unmapped and mapped anew. Expect: refused, not touched.
TEST(GuardedMemory, WhatIsGoneIsNotReachedAgain) {
  for (const uint32_t at : {4096U, 4096U - 4, 8192U - 4}) {
    HoleBench bench;
    bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa + at, bench.key(), 8),
                  counting(8));
    EXPECT_EQ(first_line(bench), kAccessNak) << at;
    EXPECT_EQ(bench.target[4097], 0) << at;
    EXPECT_EQ(mapped.accesses, 0) << at;
  }
}

// Expect: what is left is as fast as ever.
TEST(GuardedMemory, BesideWhatIsGoneItIsPlain) {
  HoleBench bench;
  bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa + 4088, bench.key(), 8),
                counting(8));
  EXPECT_EQ(bench.target[4095], 7);
  EXPECT_EQ(mapped.accesses, 0);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// Expect: re-registered memory is plain again.
TEST(GuardedMemory, ReregistrationEndsIt) {
  GuardedBench bench;
  ASSERT_TRUE(bench.device.reregister_memory(*bench.target_region, bench.pd, bench.target,
                                             sizeof bench.target, Bench::kTargetVa,
                                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa + 4096, bench.key(), 8),
                counting(8));
  EXPECT_EQ(bench.target[4097], 1);
  EXPECT_EQ(mapped.accesses, 0);
}

/// A Bench with a region of the whole address space.
struct ImplicitBench : Bench {
  ImplicitBench() : Bench(options()) {
    region =
        device
            .register_memory(pd, nullptr, SIZE_MAX, 0,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, Backing::kOnDemand)
            .value();
    mapped = {target, sizeof target, 0, 0};
  }
  MemoryRegion* region = nullptr;
};

TEST(GuardedMemory, WholeAddressSpace) {
  ImplicitBench bench;
  const auto va = reinterpret_cast<uint64_t>(bench.target);
  bench.receive(Operation::kWriteOnly, 200, bench.reth(va, bench.region->rkey, 8), counting(8));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_EQ(bench.target[7], 7);
  for (const uint64_t elsewhere : {uint64_t{0}, va + sizeof bench.target, ~uint64_t{0} - 8}) {
    ImplicitBench other;
    other.receive(Operation::kWriteOnly, 200, other.reth(elsewhere, other.region->rkey, 8),
                  counting(8));
    EXPECT_EQ(other.qp->state(), IBV_QPS_ERR) << elsewhere;
  }
}

/// A Bench with a null region.
struct NullBench : Bench {
  NullBench() {
    region =
        device.register_memory(pd, nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE, Backing::kNull)
            .value();
  }
  void post_null(ibv_wr_opcode opcode, uint64_t addr) {
    sim::SendRequest request;
    request.opcode = opcode;
    request.sges = {Sge{addr, 8, region->lkey}, local(8)};
    request.rkey = RKey{0x77};
    post(request);
  }
  MemoryRegion* region = nullptr;
};

// ibv_alloc_null_mr(3). Expect: zeros from any address.
TEST(NullRegion, ReadsAsZeros) {
  for (const uint64_t addr : {uint64_t{0}, uint64_t{4096}, ~uint64_t{0}}) {
    NullBench bench;
    bench.post_null(IBV_WR_SEND, addr);
    EXPECT_EQ(bench.sent().size(), 1U);
    std::vector<uint8_t> expected(16);
    std::memcpy(expected.data() + 8, counting(8).data(), 8);
    EXPECT_EQ(bench.payloads()[0], expected);
  }
}

TEST(NullRegion, DiscardsWhatIsWritten) {
  NullBench bench;
  bench.post_null(IBV_WR_RDMA_READ, 0x1234);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive(Operation::kReadResponseOnly, 100, {}, std::vector<uint8_t>(16, 0x5a));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.memory[0], 0x5a);
}

TEST(NullRegion, IsNoPeers) {
  NullBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(0, bench.region->rkey, 8));
  EXPECT_EQ(bench.sent().size(), 1U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

}  // namespace
}  // namespace urxe::test
