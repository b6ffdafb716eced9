// SPDX-License-Identifier: BSD-2-Clause
// READ responses of many peers, which all come to one receive buffer.
#include "transport/path/read_window.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "transport/device/device.h"

namespace urxe::test::read_window_test {
namespace {

constexpr uint32_t kPeers = 8;
constexpr uint32_t kBytes = 65536;  ///< one piece
constexpr uint32_t kMemory = 4 * kBytes;
constexpr uint32_t kFirstQpn = 0x10;

Gid gid(uint8_t last) {
  const uint8_t address[4] = {192, 0, 2, last};
  return Gid::from_ipv4(address);
}

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {gid(1)};
  return config;
}

/// One device that READs from peers of eight hosts, which never answer.
struct Reader {
  explicit Reader(uint32_t peers = kPeers) : memory(kMemory), device(config()) {
    device.set_receive_buffer(425984);  // two fifths of it have room for three pieces, begun
    pd = device.alloc_pd().value();
    cq = device.create_cq(64, nullptr).value();
    region = device.register_memory(pd, memory.data(), kMemory, 0, IBV_ACCESS_LOCAL_WRITE).value();
    for (uint32_t i = 0; i < peers; ++i) add(i, i);
  }

  void add(uint32_t index, uint32_t peer, ibv_wr_opcode opcode = IBV_WR_RDMA_READ,
           uint32_t bytes = kBytes) {
    QpInit init;
    init.qpn = Qpn(kFirstQpn + index);
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.cap = {4, 1, 1, 1, 0};
    QueuePair* qp = device.create_qp(init).value();
    sim::ConnectOptions options;
    options.destination = gid(static_cast<uint8_t>(10 + peer));
    options.dest_qpn = Qpn(kFirstQpn + index);
    options.mtu = IBV_MTU_4096;
    EXPECT_TRUE(sim::connect(device, *qp, options, now));
    sim::SendRequest request;
    request.opcode = opcode;
    request.sges = {{0, bytes, region->lkey}};
    EXPECT_TRUE(sim::post_send(device, *qp, request));
  }

  /// Sends what can be sent.
  void send_all() {
    while (device.transmit(batch, now, AckPolicy::kAll)) batch.clear();
    batch.clear();
  }

  /// The indices of those that ask for a piece now, in order.
  std::vector<uint32_t> asking() {
    std::vector<uint32_t> found;
    device.transmit(batch, now, AckPolicy::kAll);
    batch.for_each_packet([&](const TxBatch::Message& m, size_t, std::span<const uint8_t> bytes) {
      const auto packet = parse(RxPacket{bytes, m.flow, 0, true});
      ASSERT_TRUE(packet);
      EXPECT_EQ(packet->headers.bth.opcode.operation(), Operation::kReadRequest);
      found.push_back(packet->headers.bth.dest_qp.value() - kFirstQpn);
    });
    batch.clear();
    return found;
  }

  void move(uint32_t index, ibv_qp_state state) {
    QueuePair* qp = device.find_qp(Qpn(kFirstQpn + index));
    EXPECT_EQ(sim::change_state(device, *qp, state, now), 0);
  }

  Instant now{1'000'000'000};
  std::vector<uint8_t> memory;
  Device device;
  PdId pd;
  CompletionQueue* cq = nullptr;
  MemoryRegion* region = nullptr;
  TxBatch batch{TxBatch::Limits{}};
};

// The defect: each path had a window of its own for READ responses, so those of eight peers overran
// the one receive buffer. Expect: no more is asked for than fits, and those who wait ask in turn
// when a queue pair no longer waits for its responses.
TEST(ReadWindow, IsOneForAllPeers) {
  Reader reader;
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(reader.asking(), std::vector<uint32_t>{});
  reader.move(1, IBV_QPS_ERR);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{3}));
  reader.move(0, IBV_QPS_RESET);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{4}));
}

// Expect: who waits in line and fails does not hold up those behind it.
TEST(ReadWindow, WhoFailsLeavesTheLine) {
  Reader reader;
  EXPECT_EQ(reader.asking().size(), 3U);
  reader.move(3, IBV_QPS_ERR);
  reader.move(4, IBV_QPS_RESET);
  reader.move(0, IBV_QPS_ERR);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{5}));
}

// Expect: the one that is called and cannot ask, because it failed meanwhile, lets the next one
// ask.
TEST(ReadWindow, WhoIsCalledMayFail) {
  Reader reader;
  EXPECT_EQ(reader.asking().size(), 3U);
  reader.move(0, IBV_QPS_ERR);  // calls 3
  reader.move(3, IBV_QPS_ERR);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{4}));
  reader.device.destroy_qp(reader.device.find_qp(Qpn(kFirstQpn + 5)));
  reader.move(1, IBV_QPS_ERR);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{6}));
}

// The defect: queue pairs that waited for room on their path, and others of that path that waited
// for room for their READs. When both were called at once, each that had the one turn lacked the
// other, gave up what it had, and went to the other line: for ever, within one transmit(). Expect:
// one asks for each piece that there is room for, until all have asked.
TEST(ReadWindow, TwoLinesDoNotCallEachOtherForEver) {
  Reader reader(3);
  EXPECT_EQ(reader.asking(), (std::vector<uint32_t>{0, 1, 2}));
  constexpr uint32_t kPeer = 3;
  reader.add(3, kPeer);
  reader.add(4, kPeer);
  EXPECT_EQ(reader.asking(), std::vector<uint32_t>{});  // for want of room for READs
  reader.add(5, kPeer, IBV_WR_RDMA_WRITE, kMemory);
  reader.send_all();
  reader.add(6, kPeer);
  reader.add(7, kPeer);
  EXPECT_EQ(reader.asking(), std::vector<uint32_t>{});  // for want of room on the path
  reader.move(5, IBV_QPS_ERR);
  reader.move(0, IBV_QPS_ERR);
  std::set<uint32_t> asked;
  for (int i = 0; i < 4; ++i) {
    const std::vector<uint32_t> asking = reader.asking();
    ASSERT_EQ(asking.size(), 1U);
    asked.insert(asking[0]);
    reader.move(asking[0], IBV_QPS_ERR);
  }
  EXPECT_EQ(asked, (std::set<uint32_t>{3, 4, 6, 7}));
}

}  // namespace
}  // namespace urxe::test::read_window_test
