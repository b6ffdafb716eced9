// SPDX-License-Identifier: BSD-2-Clause
// A device and a peer that is another implementation, over a bad network.
#include "tests/transport/trouble/foreign_peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "transport/device/device.h"

namespace urxe::test::foreign_peer_test {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr uint32_t kRequests = 60;  ///< of each end
constexpr uint32_t kMost = 20000;   ///< bytes of one
constexpr uint32_t kPlaces = 4;     ///< of kMost bytes, in each end's memory
constexpr uint64_t kIova = 0x10000;
constexpr uint32_t kReceiveBytes = 32768;
constexpr Qpn kQpn{0x100};

Gid address(int side) {
  const uint8_t bytes[4] = {192, 0, 2, static_cast<uint8_t>(1 + side)};
  return Gid::from_ipv4(bytes);
}

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {address(0)};
  return config;
}

sim::NetworkPlan faults(Random& random) {
  sim::NetworkPlan plan;
  plan.latency = microseconds(5);
  plan.jitter = microseconds(random.percent(50) ? 3 : 0);
  plan.loss = random.range32(0, 30000);
  plan.duplicate = random.range32(0, 30000);
  plan.reorder = random.range32(0, 30000);
  plan.reorder_delay = microseconds(50);
  return plan;
}

class Acquaintance {
 public:
  explicit Acquaintance(uint64_t seed)
      : random_(seed),
        mtu_(static_cast<ibv_mtu>(random_.range(IBV_MTU_256, IBV_MTU_4096))),
        network_(faults(random_), 2, random_.fork()),
        device_(config()),
        peer_(setup(), random_.fork()) {
    pd_ = device_.alloc_pd().value();
    cq_ = device_.create_cq(1024, nullptr).value();
    constexpr int kAccess =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    memory_.resize(kSendAt + size_t{kRequests} * kMost);
    region_ = device_.register_memory(pd_, memory_.data(), memory_.size(), kIova, kAccess).value();
    QpInit init;
    init.qpn = kQpn;
    init.pd = pd_;
    init.send_cq = init.recv_cq = cq_;
    init.cap = {kRequests, kRequests, 1, 1, 0};
    init.sq_sig_all = true;
    qp_ = device_.create_qp(init).value();
    sim::ConnectOptions options;
    options.destination = address(1);
    options.dest_qpn = Qpn{0x77};
    options.mtu = mtu_;
    options.sq_psn = kDevicePsn;
    options.rq_psn = kPeerPsn;
    options.timeout = 10;
    EXPECT_TRUE(sim::connect(device_, *qp_, options, now_));
    for (uint32_t i = 0; i < kRequests; ++i) {
      const Sge into{kIova + receive_at(i), kReceiveBytes, region_->lkey};
      EXPECT_TRUE(sim::post_receive(device_, *qp_, kReceive + i, std::span(&into, 1)));
    }
  }

  void run() {
    draw_requests();
    const Instant end = now_ + seconds(60);
    while (sent_ < kRequests || !peer_.idle()) {
      ASSERT_TRUE(step(end)) << "it stands still: " << sent_ << " of the device's done";
      ASSERT_FALSE(peer_.failed());
      ASSERT_FALSE(HasFatal());
    }
    EXPECT_EQ(received_, peer_messages_.size());
    EXPECT_EQ(peer_.messages, device_messages_);
    EXPECT_EQ(peer_.results, expected_results_);
    EXPECT_TRUE(std::equal(peer_model_.begin(), peer_model_.end(), peer_.memory.begin()));
    EXPECT_TRUE(std::equal(target_model_.begin(), target_model_.end(),
                           memory_.begin() + static_cast<ptrdiff_t>(kTargetAt)));
    for (const auto& [at, bytes] : fetched_) {
      EXPECT_TRUE(
          std::equal(bytes.begin(), bytes.end(), memory_.begin() + static_cast<ptrdiff_t>(at)));
    }
  }

 private:
  // The device's memory: the target of the peer's requests, receives, and a place a request.
  static constexpr size_t kTargetAt = 0;
  static constexpr size_t kReceiveAt = size_t{kPlaces} * kMost;
  static constexpr size_t kSendAt = kReceiveAt + size_t{kRequests} * kReceiveBytes;
  static constexpr uint32_t kDevicePsn = 0xfffff0;
  static constexpr uint32_t kPeerPsn = 0xffffa0;
  static constexpr uint64_t kReceive = uint64_t{1} << 32;

  static size_t receive_at(size_t number) { return kReceiveAt + number * kReceiveBytes; }

  static bool HasFatal() { return testing::Test::HasFatalFailure(); }

  [[nodiscard]] ForeignPeer::Setup setup() const {
    ForeignPeer::Setup setup;
    setup.flow.source = address(1);
    setup.flow.destination = address(0);
    setup.flow.source_port = 0xc123;
    setup.device_qpn = kQpn;
    setup.mtu = 128U << mtu_;
    setup.sq_psn = kPeerPsn;
    setup.rq_psn = kDevicePsn;
    return setup;
  }

  std::vector<uint8_t> draw_bytes() {
    std::vector<uint8_t> bytes(random_.range(1, random_.percent(50) ? 300 : kMost));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_.next());
    return bytes;
  }

  /// Both ends' requests; the model executes each end's in order.
  void draw_requests() {
    peer_model_.assign(size_t{kPlaces} * kMost, 0);
    target_model_.assign(size_t{kPlaces} * kMost, 0);
    for (uint32_t i = 0; i < kRequests; ++i) {
      draw_of_device(i);
      draw_of_peer();
    }
  }

  void draw_of_device(uint32_t number) {
    const std::vector<uint8_t> bytes = draw_bytes();
    const auto length = static_cast<uint32_t>(bytes.size());
    const size_t at = kSendAt + size_t{number} * kMost;
    const size_t place = random_.below(kPlaces) * kMost;
    sim::SendRequest request;
    request.wr_id = number;
    request.sges = {{kIova + at, length, region_->lkey}};
    request.remote_addr = ForeignPeer::kVa + place;
    request.rkey = ForeignPeer::kKey;
    const uint64_t kind = random_.below(3);
    if (kind == 2) {
      request.opcode = IBV_WR_RDMA_READ;
      const auto from = peer_model_.begin() + static_cast<ptrdiff_t>(place);
      fetched_.emplace_back(at, std::vector<uint8_t>(from, from + length));
    } else {
      std::ranges::copy(bytes, memory_.begin() + static_cast<ptrdiff_t>(at));
      request.opcode = kind == 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
      // A WRITE after a READ of the same place waits for it.
      request.flags = IBV_SEND_FENCE;
      if (kind == 1) device_messages_.push_back(bytes);
      if (kind == 0) {
        std::ranges::copy(bytes, peer_model_.begin() + static_cast<ptrdiff_t>(place));
      }
    }
    EXPECT_TRUE(sim::post_send(device_, *qp_, request));
  }

  void draw_of_peer() {
    const std::vector<uint8_t> bytes = draw_bytes();
    const size_t place = random_.below(kPlaces) * kMost;
    const auto there = target_model_.begin() + static_cast<ptrdiff_t>(place);
    switch (random_.below(3)) {
      case 0:
        std::ranges::copy(bytes, there);
        return peer_.write(kIova + kTargetAt + place, region_->rkey, bytes);
      case 1:
        peer_messages_.push_back(bytes);
        return peer_.send(bytes);
      default:
        expected_results_.emplace_back(there, there + static_cast<ptrdiff_t>(bytes.size()));
        return peer_.read(kIova + kTargetAt + place, region_->rkey,
                          static_cast<uint32_t>(bytes.size()));
    }
  }

  bool step(Instant end) {
    std::optional<Instant> next = network_.next_arrival();
    for (auto other : {device_.next_deadline(), peer_.next_deadline()}) {
      if (device_.doorbell_pending()) other = now_;
      if (other && (!next || *other < *next)) next = other;
    }
    if (!next || *next > end) return false;
    now_ = std::max(now_, *next);
    while (network_.next_arrival() && *network_.next_arrival() <= now_) {
      const sim::Network::Arrival arrival = network_.take();
      if (arrival.host == 0) {
        device_.receive(arrival.packet.view(), now_);
      } else {
        const auto view = parse(arrival.packet.view());
        EXPECT_TRUE(view);
        if (view) peer_.receive(*view, now_);
      }
    }
    device_.advance(now_);
    transmit();
    poll();
    return true;
  }

  void transmit() {
    for (bool more = true; more;) {
      more = device_.transmit(batch_, now_, AckPolicy::kAll);
      for (const TxBatch::Message& message : batch_.messages()) {
        const auto bytes = batch_.bytes(message);
        network_.send(0, 1, {{bytes.begin(), bytes.end()}, message.flow, 0, false}, now_);
      }
      batch_.clear();
    }
    peer_.drive(now_);
    for (sim::Packet& packet : peer_.outgoing) network_.send(1, 0, std::move(packet), now_);
    peer_.outgoing.clear();
  }

  void take_message(const ibv_wc& wc) {
    ASSERT_LT(received_, peer_messages_.size());
    const std::vector<uint8_t>& message = peer_messages_[received_];
    ASSERT_EQ(wc.wr_id, kReceive + received_);
    ASSERT_EQ(wc.byte_len, message.size());
    const auto at = memory_.begin() + static_cast<ptrdiff_t>(receive_at(received_));
    ASSERT_TRUE(std::equal(message.begin(), message.end(), at)) << "message " << received_;
    ++received_;
  }

  void poll() {
    ibv_wc wc[32];
    while (const int count = cq_->poll(32, wc)) {
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(wc[i].status, IBV_WC_SUCCESS);
        if (wc[i].wr_id >= kReceive) {
          ASSERT_NO_FATAL_FAILURE(take_message(wc[i]));
        } else {
          ASSERT_EQ(wc[i].wr_id, sent_++);
        }
      }
    }
  }

  Random random_;
  ibv_mtu mtu_;
  sim::Network network_;
  Device device_;
  ForeignPeer peer_;
  TxBatch batch_{TxBatch::Limits{}};
  Instant now_{1'000'000'000};
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  QueuePair* qp_ = nullptr;
  MemoryRegion* region_ = nullptr;
  std::vector<uint8_t> memory_;
  std::vector<uint8_t> peer_model_, target_model_;
  std::vector<std::vector<uint8_t>> device_messages_, peer_messages_, expected_results_;
  std::vector<std::pair<size_t, std::vector<uint8_t>>> fetched_;
  uint64_t sent_ = 0;
  size_t received_ = 0;
};

// Expect: both ends' requests come to what the specification says, whoever acknowledges how.
TEST(ForeignPeers, EverythingArrivesOnceAndInOrder) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Acquaintance(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace urxe::test::foreign_peer_test
