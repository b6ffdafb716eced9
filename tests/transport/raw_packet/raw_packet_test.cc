// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs for raw packets: frames out and in.
#include <gtest/gtest.h>

#include "tests/support/frame_builder.h"
#include "tests/transport/bench.h"
#include "tests/transport/raw_packet/flow_attr.h"

namespace urxe::test::raw_packet_test {
namespace {

using frames::Bytes;
using frames::Parts;

constexpr uint32_t kInterfaceMtu = 1500;

BenchOptions options(bool shared_receives = false) {
  BenchOptions options;
  options.type = IBV_QPT_RAW_PACKET;
  options.cap = {100, 16, 4, 4, 256};
  options.shared_receives = shared_receives;
  return options;
}

struct RawPacketTest : ::testing::Test {
  explicit RawPacketTest(const BenchOptions& bench_options = options()) : bench(bench_options) {
    bench.device.set_interface_mtu(kInterfaceMtu);
  }
  /// Posts a frame, which it copies to the start of the memory.
  void post(const Bytes& frame, unsigned flags = 0, uint32_t split_at = 0) {
    std::copy(frame.begin(), frame.end(), bench.memory.begin());
    sim::SendRequest request;
    request.flags = flags | IBV_SEND_SIGNALED;
    if ((flags & IBV_SEND_INLINE) != 0) {
      request.inline_data = frame;
    } else if (split_at != 0) {
      const auto rest = static_cast<uint32_t>(frame.size()) - split_at;
      request.sges = {bench.local(split_at), bench.local(rest, split_at)};
    } else {
      request.sges = {bench.local(static_cast<uint32_t>(frame.size()))};
    }
    bench.post(std::move(request));
  }
  /// The frames that go out. No RoCE packet may.
  std::vector<Bytes> sent() {
    EXPECT_EQ(bench.sent(), Lines{});
    std::vector<Bytes> result;
    for (bool more = true; more;) {
      more = bench.device.transmit_frames(batch, bench.now);
      for (const auto frame : batch.frames()) result.emplace_back(frame.begin(), frame.end());
      batch.pop(batch.size());
    }
    return result;
  }
  FlowId add(const FlowAttr& flow) {
    return bench.device.add_flow(*bench.qp, flow.rule()).value_or(FlowId{});
  }
  void receive(const Bytes& frame, RxFrame::To to = RxFrame::To::kThisHost) {
    bench.device.receive_frame({frame, to}, bench.now);
  }
  Bytes received(size_t size) {
    const auto begin = bench.memory.begin() + Bench::kReceiveOffset;
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

  Bench bench;
  FrameBatch batch;
};

TEST_F(RawPacketTest, SendsAFrameAsItIs) {
  const Bytes frame = frames::make({});
  post(frame);
  post(frame, IBV_SEND_INLINE);
  post(frame, 0, 20);
  EXPECT_EQ(sent(), (std::vector<Bytes>{frame, frame, frame}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(bench.device.counters().frames_sent, 3u);
  EXPECT_EQ(bench.device.counters().sent_packets, 0u);
}

TEST_F(RawPacketTest, ComputesChecksumsWhenAsked) {
  const Bytes right = frames::make({});
  Bytes wrong = right;
  wrong[24] = wrong[40] = 0x77;
  post(wrong);
  EXPECT_EQ(sent(), std::vector<Bytes>{wrong});
  post(wrong, IBV_SEND_IP_CSUM);
  EXPECT_EQ(sent(), std::vector<Bytes>{right});
}

TEST_F(RawPacketTest, SendsFramesOfTheMtu) {
  Bytes largest = frames::make({.payload = Bytes(kInterfaceMtu - 28)});
  EXPECT_EQ(largest.size(), kInterfaceMtu + 14);
  post(largest);
  EXPECT_EQ(sent().size(), 1u);
  post(frames::make({.vlan_tags = {5}, .payload = Bytes(kInterfaceMtu - 28)}));
  EXPECT_EQ(sent().size(), 1u);
  post(Bytes(14, 0));
  EXPECT_EQ(sent().size(), 1u);
}

/// A frame with a service provider's tag, for which Linux makes no room.
Bytes with_service_tag(size_t size) {
  Bytes frame(size, 0);
  frame[12] = 0x88;
  frame[13] = 0xa8;
  return frame;
}

/// Expect: a length error, the queue pair in SQE, and nothing on the wire.
struct RawPacketLength : RawPacketTest, ::testing::WithParamInterface<Bytes> {};
TEST_P(RawPacketLength, IsAnError) {
  post(GetParam());
  EXPECT_EQ(sent(), std::vector<Bytes>{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_LEN_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_SQE);
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  post(frames::make({}));
  EXPECT_EQ(sent().size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(
    Lengths, RawPacketLength,
    ::testing::Values(Bytes{}, Bytes(13, 0), Bytes(kInterfaceMtu + 15, 0),
                      Bytes(kInterfaceMtu + 19, 0), with_service_tag(kInterfaceMtu + 15),
                      frames::make({.vlan_tags = {5}, .payload = Bytes(kInterfaceMtu - 27)})));

TEST_F(RawPacketTest, WrongKeyIsAProtectionError) {
  sim::SendRequest request;
  Sge sge = bench.local(64);
  sge.lkey = LKey(0x1234);
  request.sges = {sge};
  bench.post(request);
  EXPECT_EQ(sent(), std::vector<Bytes>{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
}

TEST_F(RawPacketTest, FillsSeveralBatches) {
  for (int i = 0; i < 100; ++i) post(frames::make({}));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_TRUE(bench.device.transmit_frames(batch, bench.now));
  EXPECT_EQ(batch.size(), FrameBatch::kMaxFrames);
  batch.pop(10);
  // A batch that was not sent whole takes nothing more.
  EXPECT_TRUE(bench.device.transmit_frames(batch, bench.now));
  EXPECT_EQ(batch.size(), FrameBatch::kMaxFrames - 10);
  batch.pop(batch.size());
  EXPECT_FALSE(bench.device.transmit_frames(batch, bench.now));
  EXPECT_EQ(batch.size(), 100 - FrameBatch::kMaxFrames);
}

TEST_F(RawPacketTest, KeepsToItsRate) {
  ASSERT_TRUE(bench.device.set_rate_limit(*bench.qp, {8000, 2000, 0}, bench.now));
  for (int i = 0; i < 4; ++i) post(Bytes(1000, 0));
  EXPECT_EQ(sent().size(), 2u);
  bench.pass(milliseconds(10));
  EXPECT_EQ(sent().size(), 2u);
}

TEST_F(RawPacketTest, GetsNothingWithoutARule) {
  bench.post_receive();
  receive(frames::make({}));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

TEST_F(RawPacketTest, GetsAFrameWhole) {
  const FlowId rule = add(FlowAttr().add(udp(2000)));
  const Bytes frame = frames::make({.vlan_tags = {7}});
  bench.post_receive();
  receive(frame);
  const auto completions = bench.poll(*bench.recv_cq);
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(completions[0].byte_len, frame.size());
  EXPECT_EQ(completions[0].wc_flags, unsigned{IBV_WC_IP_CSUM_OK});
  EXPECT_EQ(received(frame.size()), frame);
  bench.post_receive(static_cast<uint32_t>(frame.size()));
  receive(frame);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{2, IBV_WC_SUCCESS}})) << "it just fits";
  bench.device.remove_flow(rule);
  bench.post_receive();
  receive(frame);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

TEST_F(RawPacketTest, SaysOfChecksumsOnlyWhatIsTrue) {
  add(FlowAttr());
  Bytes wrong = frames::make({});
  wrong.back() ^= 1U;
  for (const Bytes& frame : {wrong, frames::make({.ipv6 = true}), Bytes(60, 0)}) {
    bench.post_receive();
    receive(frame);
    const auto completions = bench.poll(*bench.recv_cq);
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].wc_flags, 0u);
  }
}

TEST_F(RawPacketTest, CountsFramesWithoutAReceive) {
  add(FlowAttr());
  receive(frames::make({}));
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1u);
  EXPECT_EQ(bench.device.counters().frames_received, 0u);
}

TEST_F(RawPacketTest, SmallReceiveFailsAndTheNextGoesOn) {
  add(FlowAttr());
  bench.post_receive(40);
  bench.post_receive();
  receive(frames::make({}));
  receive(frames::make({}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_LOC_LEN_ERR}, {2, 0}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

TEST_F(RawPacketTest, DropRuleCounts) {
  add(FlowAttr().add(udp(2000)).add(drop()));
  bench.post_receive();
  receive(frames::make({}));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.device.counters().frames_dropped, 1u);
}

TEST_F(RawPacketTest, LeavesTheDevicesRocePacketsAlone) {
  Parts roce{.destination_port = 4791};
  add(FlowAttr(IBV_FLOW_ATTR_ALL_DEFAULT));
  bench.post_receive();
  receive(frames::make(roce));
  EXPECT_EQ(bench.receive_statuses().size(), 1u) << "to an address that is not the device's";
  const uint8_t destination[4] = {10, 0, 0, 1};
  const Gid gids[] = {Gid::from_ipv4(destination)};
  bench.device.set_gids(gids);
  bench.post_receive();
  receive(frames::make(roce));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  add(FlowAttr(IBV_FLOW_ATTR_SNIFFER));
  receive(frames::make(roce));
  EXPECT_EQ(bench.receive_statuses().size(), 1u);
}

TEST_F(RawPacketTest, TakesNoRocePackets) {
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 0, Bench::deth(0), counting(10));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.dropped(DropReason::kWrongService), 1u);
}

TEST_F(RawPacketTest, RulesEndWithTheQueuePair) {
  add(FlowAttr());
  bench.device.destroy_qp(bench.qp);
  EXPECT_FALSE(bench.device.frame_interest().any);
  receive(frames::make({}));
}

TEST_F(RawPacketTest, SendsToQueuePairsOfOtherContextsToo) {
  QpInit init;
  init.qpn = Qpn(0x33);
  init.pd = bench.pd;
  init.type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = bench.send_cq;
  init.cap = {4, 4, 1, 1, 0};
  init.context = this;
  QueuePair* const other = bench.device.create_qp(init).value();
  ASSERT_TRUE(bench.device.add_flow(*other, FlowAttr().add(udp(2000)).rule()));
  add(FlowAttr().add(udp(2000)));
  bench.post_receive();
  post(frames::make({}));
  EXPECT_EQ(sent().size(), 1u);
  EXPECT_EQ(bench.receive_statuses(), Statuses{}) << "its own frame";
  EXPECT_EQ(bench.dropped(DropReason::kQpState), 1u) << "the other one was found, in RESET";
}

TEST_F(RawPacketTest, OthersTakeNoRules) {
  Bench rc;
  EXPECT_EQ(rc.device.add_flow(*rc.qp, FlowRule{}).error().value, EINVAL);
  BenchOptions datagrams;
  datagrams.type = IBV_QPT_UD;
  Bench ud(datagrams);
  EXPECT_EQ(ud.device.add_flow(*ud.qp, FlowRule{}).error().value, EOPNOTSUPP);
}

struct SharedRawPacketTest : RawPacketTest {
  SharedRawPacketTest() : RawPacketTest(options(true)) {}
};
TEST_F(SharedRawPacketTest, TakesFromASharedQueue) {
  add(FlowAttr());
  bench.post_shared();
  receive(frames::make({}));
  EXPECT_EQ(bench.receive_statuses().size(), 1u);
  receive(frames::make({}));
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1u);
}

TEST(RawPacketStates, TakeOnlyPortAndRate) {
  Bench bench(options());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE, bench.now));
  const auto move = [&](ibv_qp_state to, int mask) {
    attr.qp_state = to;
    attr.port_num = 1;
    attr.rate_limit = 1000;
    const auto moved = bench.device.modify_qp(*bench.qp, attr, mask | IBV_QP_STATE, bench.now);
    return moved ? 0 : moved.error().value;
  };
  EXPECT_EQ(move(IBV_QPS_INIT, 0), EINVAL);
  EXPECT_EQ(move(IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
  EXPECT_EQ(move(IBV_QPS_INIT, IBV_QP_PORT), 0);
  EXPECT_EQ(move(IBV_QPS_INIT, 0), 0);
  EXPECT_EQ(move(IBV_QPS_RTR, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(move(IBV_QPS_RTR, 0), 0);
  EXPECT_EQ(move(IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(move(IBV_QPS_RTS, IBV_QP_RATE_LIMIT), 0);
  EXPECT_EQ(move(IBV_QPS_SQD, 0), 0);
  EXPECT_EQ(move(IBV_QPS_RTS, 0), 0);
  EXPECT_EQ(move(IBV_QPS_ERR, 0), 0);
}

}  // namespace
}  // namespace urxe::test::raw_packet_test
