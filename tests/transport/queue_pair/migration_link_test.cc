// SPDX-License-Identifier: BSD-2-Clause
// Path migration between two devices in virtual time: two paths with losses, of which the primary
// one is cut under traffic. Everything completes, in order, atomics exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::test::migration_link_test {
namespace {

constexpr uint64_t kSeeds = 40;
constexpr uint32_t kMessages = 60;
constexpr uint32_t kAheadOfCompletions = 8;
constexpr size_t kBytes = 1 << 16;

/// Address of a side (0 or 1) on a path (0: primary, 1: alternate).
Gid address(int side, int path) {
  const uint8_t bytes[4] = {192, 0, static_cast<uint8_t>(2 + path), static_cast<uint8_t>(1 + side)};
  return Gid::from_ipv4(bytes);
}

DeviceConfig config(int side) {
  DeviceConfig config;
  config.gids = {address(side, 0), address(side, 1)};
  return config;
}

struct End {
  explicit End(int side) : device(config(side)), memory(kBytes) {
    pd = device.alloc_pd().value();
    cq = device.create_cq(4096, nullptr).value();
    QpInit init;
    init.qpn = Qpn{0x10U + static_cast<uint32_t>(side)};
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.cap = {64, 256, 1, 1, 0};
    init.sq_sig_all = true;
    qp = device.create_qp(init).value();
    region =
        device
            .register_memory(pd, memory.data(), kBytes, reinterpret_cast<uint64_t>(memory.data()),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
            .value();
  }
  [[nodiscard]] Sge sge(size_t offset, uint32_t length) const {
    return {reinterpret_cast<uint64_t>(memory.data()) + offset, length, region->lkey};
  }

  Device device;
  std::vector<uint8_t> memory;
  PdId pd;
  CompletionQueue* cq = nullptr;
  QueuePair* qp = nullptr;
  MemoryRegion* region = nullptr;
  uint32_t posted = 0;
  uint32_t completed = 0;
  uint32_t received = 0;
  uint32_t sends_posted = 0;
  uint32_t adds = 0;
  uint32_t migrations = 0;
};

struct InFlight {
  std::vector<uint8_t> bytes;
  Flow flow;
  uint16_t identification = 0;
  int to = 0;
};

class Link {
 public:
  explicit Link(uint64_t seed) : random_(Random::mix(seed)) {
    for (int side = 0; side < 2; ++side) ends_[side] = std::make_unique<End>(side);
    for (int side = 0; side < 2; ++side) connect(side);
  }

  void arm() {
    for (int side = 0; side < 2; ++side) rearm(side);
    // A message each way, sent again where it is lost.
    for (int side = 0; side < 2; ++side) post_send(side);
    run_until([&] { return armed(0) && armed(1); });
  }

  /// Traffic both ways; `event` happens in the middle of it.
  void traffic(const std::function<void()>& event) {
    const uint32_t middle = random_.range32(5, kMessages);
    bool happened = false;
    run_until([&] {
      for (int side = 0; side < 2; ++side) {
        End& end = *ends_[side];
        if (end.posted < kMessages && end.posted - end.completed < kAheadOfCompletions) {
          post(side);
        }
      }
      if (!happened && ends_[0]->completed + ends_[1]->completed >= middle) {
        happened = true;
        event();
      }
      return happened && done(0) && done(1);
    });
  }

  void cut_primary() { cut_ = true; }
  void tell_to_migrate(int side) {
    ibv_qp_attr attr{};
    attr.path_mig_state = IBV_MIG_MIGRATED;
    ASSERT_TRUE(ends_[side]->device.modify_qp(*ends_[side]->qp, attr, IBV_QP_PATH_MIG_STATE, now_));
  }
  void check_end() {
    for (int side = 0; side < 2; ++side) {
      End& end = *ends_[side];
      EXPECT_EQ(end.migrations, 1U);
      EXPECT_EQ(end.qp->migration.state, IBV_MIG_MIGRATED);
      EXPECT_EQ(end.qp->flow().source, address(side, 1));
      uint64_t sum = 0;
      std::memcpy(&sum, ends_[1 - side]->memory.data(), sizeof sum);
      EXPECT_EQ(sum, end.adds) << "atomics are executed once";
      EXPECT_EQ(end.qp->path->in_flight(), 0U);
    }
  }
  [[nodiscard]] int draw_side() { return static_cast<int>(random_.below(2)); }

 private:
  void connect(int side) {
    End& end = *ends_[side];
    sim::ConnectOptions options;
    options.destination = address(1 - side, 0);
    options.dest_qpn = ends_[1 - side]->qp->qpn;
    options.sq_psn = side == 0 ? 0xfffff0 : 0x10;
    options.rq_psn = side == 0 ? 0x10 : 0xfffff0;
    options.timeout = 10;  // 4 ms
    options.retry_cnt = 6;
    ASSERT_TRUE(sim::connect(end.device, *end.qp, options, now_));
    for (uint64_t i = 0; i < 200; ++i) {
      const Sge sge = end.sge(1024, 4096);
      ASSERT_TRUE(sim::post_receive(end.device, *end.qp, 1000 + i, {&sge, 1}));
    }
  }

  void rearm(int side) {
    ibv_qp_attr attr{};
    attr.alt_ah_attr.is_global = 1;
    attr.alt_ah_attr.port_num = 1;
    attr.alt_ah_attr.grh.sgid_index = 1;
    const Gid peer = address(1 - side, 1);
    std::memcpy(attr.alt_ah_attr.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
    attr.alt_port_num = 1;
    attr.alt_timeout = 11;
    attr.path_mig_state = IBV_MIG_REARM;
    ASSERT_TRUE(ends_[side]->device.modify_qp(*ends_[side]->qp, attr,
                                              IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE, now_));
  }
  bool armed(int side) { return ends_[side]->qp->migration.state == IBV_MIG_ARMED; }
  bool done(int side) {
    const End& end = *ends_[side];
    return end.completed == kMessages && end.received == ends_[1 - side]->sends_posted;
  }

  void post_send(int side) {
    sim::SendRequest request;
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.immediate_be = ends_[side]->sends_posted++;
    request.sges = {ends_[side]->sge(8192, random_.range32(0, 4096))};
    submit(side, request);
  }
  void post(int side) {
    End& peer = *ends_[1 - side];
    sim::SendRequest request;
    request.remote_addr = reinterpret_cast<uint64_t>(peer.memory.data());
    request.rkey = peer.region->rkey;
    switch (random_.below(4)) {
      case 0:
        request.opcode = IBV_WR_RDMA_WRITE;
        request.remote_addr += 16384;
        request.sges = {ends_[side]->sge(8192, random_.range32(0, 8192))};
        break;
      case 1:
        request.opcode = IBV_WR_RDMA_READ;
        request.remote_addr += 8192;
        request.sges = {ends_[side]->sge(32768, random_.range32(1, 8192))};
        break;
      case 2:
        request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        request.compare_add = 1;
        request.sges = {ends_[side]->sge(512, 8)};
        ++ends_[side]->adds;
        break;
      default:
        return post_send(side);
    }
    submit(side, request);
  }
  void submit(int side, sim::SendRequest& request) {
    End& end = *ends_[side];
    request.wr_id = end.posted++;
    ASSERT_TRUE(sim::post_send(end.device, *end.qp, request));
  }

  template <class Condition>
  void run_until(Condition reached) {
    for (int step = 0; step < 200'000; ++step) {
      if (::testing::Test::HasFailure()) return;
      if (reached()) return;
      for (int side = 0; side < 2; ++side) drive(side);
      advance();
    }
    ADD_FAILURE() << "does not come to an end";
  }

  void drive(int side) {
    End& end = *ends_[side];
    end.device.advance(now_);
    for (bool more = true; more;) {
      batch_.clear();
      more = end.device.transmit(batch_, now_, AckPolicy::kAll);
      for (const TxBatch::Message& message : batch_.messages()) send(side, message);
    }
    ibv_wc wc{};
    while (end.cq->poll(1, &wc) == 1) complete(side, wc);
    while (const auto event = end.device.take_event()) {
      EXPECT_EQ(event->type, IBV_EVENT_PATH_MIG);
      ++end.migrations;
    }
  }

  void send(int side, const TxBatch::Message& message) {
    const bool primary = message.flow.source == address(side, 0);
    if ((primary && cut_) || random_.percent(3)) return;
    const auto bytes = batch_.bytes(message);
    const Duration latency = microseconds(5 + static_cast<int64_t>(random_.below(10)));
    in_flight_.insert(
        {now_ + latency,
         {{bytes.begin(), bytes.end()}, message.flow, batch_.identification(0), 1 - side}});
  }

  void complete(int side, const ibv_wc& wc) {
    End& end = *ends_[side];
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    if ((wc.opcode & IBV_WC_RECV) != 0) {
      ASSERT_EQ(wc.imm_data, end.received) << "in order, none twice";
      ++end.received;
    } else {
      ASSERT_EQ(wc.wr_id, end.completed);
      ++end.completed;
    }
  }

  /// To the next arrival or deadline.
  void advance() {
    Instant next = now_ + milliseconds(1);
    if (!in_flight_.empty()) next = std::min(next, in_flight_.begin()->first);
    for (const auto& end : ends_) {
      if (const auto deadline = end->device.next_deadline()) next = std::min(next, *deadline);
    }
    now_ = std::max(now_, next);
    while (!in_flight_.empty() && in_flight_.begin()->first <= now_) {
      const InFlight packet = std::move(in_flight_.begin()->second);
      in_flight_.erase(in_flight_.begin());
      ends_[packet.to]->device.receive({packet.bytes, packet.flow, packet.identification}, now_);
    }
  }

  Random random_;
  TxBatch batch_{TxBatch::Limits{}};
  std::unique_ptr<End> ends_[2];
  std::multimap<Instant, InFlight> in_flight_;
  bool cut_ = false;
  Instant now_{1'000'000'000};
};

template <class Event>
void run_seeds(Event event) {
  for (uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Link link(seed);
    link.arm();
    link.traffic([&] { event(link); });
    link.check_end();
  }
}

TEST(MigrationLink, PrimaryPathIsCut) {
  run_seeds([](Link& link) { link.cut_primary(); });
}

TEST(MigrationLink, OneSideIsTold) {
  run_seeds([](Link& link) { link.tell_to_migrate(link.draw_side()); });
}

TEST(MigrationLink, BothSidesAreTold) {
  run_seeds([](Link& link) {
    link.tell_to_migrate(0);
    link.tell_to_migrate(1);
  });
}

TEST(MigrationLink, CutAndTold) {
  run_seeds([](Link& link) {
    link.cut_primary();
    link.tell_to_migrate(link.draw_side());
  });
}

}  // namespace
}  // namespace urxe::test::migration_link_test
