// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs for raw packets, and flow steering. Where traffic is needed, two contexts of the
// device send to each other, which needs a port that loops back between them.
#include <arpa/inet.h>

#include <fstream>
#include <string>

#include "tests/conformance/support/fixture.h"
#include "tests/support/frame_builder.h"

namespace conformance {
namespace {

constexpr uint16_t kPort = 2000;
constexpr uint64_t kNetRaw = uint64_t{1} << 13;

/// Whether this process has CAP_NET_RAW.
bool has_net_raw() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "CapEff:") continue;
    status >> word;
    return (std::stoull(word, nullptr, 16) & kNetRaw) != 0;
  }
  return false;
}

/// A flow's attributes with one specification of each layer behind them.
struct UdpFlow {
  ibv_flow_attr attr{};
  ibv_flow_spec_eth eth{};
  ibv_flow_spec_ipv4_ext ip{};
  ibv_flow_spec_tcp_udp udp{};

  explicit UdpFlow(uint8_t port, uint16_t destination_port = kPort) {
    attr.type = IBV_FLOW_ATTR_NORMAL;
    attr.size = sizeof(UdpFlow);
    attr.port = port;
    attr.num_of_specs = 3;
    eth.type = IBV_FLOW_SPEC_ETH;
    eth.size = sizeof eth;
    eth.val.dst_mac[0] = 2;
    eth.val.dst_mac[5] = 1;
    std::memset(eth.mask.dst_mac, 0xff, sizeof eth.mask.dst_mac);
    ip.type = IBV_FLOW_SPEC_IPV4_EXT;
    ip.size = sizeof ip;
    udp.type = IBV_FLOW_SPEC_UDP;
    udp.size = sizeof udp;
    udp.val.dst_port = htons(destination_port);
    udp.mask.dst_port = 0xffff;
  }
};
static_assert(offsetof(UdpFlow, eth) == sizeof(ibv_flow_attr));
static_assert(offsetof(UdpFlow, ip) == offsetof(UdpFlow, eth) + sizeof(ibv_flow_spec_eth));
static_assert(offsetof(UdpFlow, udp) == offsetof(UdpFlow, ip) + sizeof(ibv_flow_spec_ipv4_ext));

using FlowPtr = std::unique_ptr<ibv_flow, Destroyer<ibv_destroy_flow>>;

/// One context with a queue pair for raw packets.
struct RawEnd {
  explicit RawEnd(uint64_t send_ops = 0) : device(Device::open()) {
    pd.reset(ibv_alloc_pd(device.context.get()));
    cq.reset(ibv_create_cq(device.context.get(), 64, nullptr, nullptr, 0));
    QpConfig config;
    config.type = IBV_QPT_RAW_PACKET;
    config.cap = {16, 16, 4, 4, 64};
    config.send_ops = send_ops;
    qp.reset(Endpoint::create(device, config, pd.get(), cq.get(), cq.get()));
  }
  int move(ibv_qp_state state, int mask) const {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = device.port;
    return ibv_modify_qp(qp.get(), &attr, mask | IBV_QP_STATE);
  }
  void connect() const {
    ASSERT_EQ(move(IBV_QPS_INIT, IBV_QP_PORT), 0);
    ASSERT_EQ(move(IBV_QPS_RTR, 0), 0);
    ASSERT_EQ(move(IBV_QPS_RTS, 0), 0);
  }
  FlowPtr steer(UdpFlow flow) const { return FlowPtr(ibv_create_flow(qp.get(), &flow.attr)); }

  Device device;
  PdPtr pd;
  CqPtr cq;
  QpPtr qp;
};

struct RawPacket : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need_if_any(device_.attr.raw_packet_caps != 0, "raw packets")) return;
    need_if_any(has_net_raw(), "CAP_NET_RAW");
  }
  bool stopped() const { return IsSkipped() || HasFailure(); }
  void expect_refused(UdpFlow flow, int why, const char* what) {
    errno = 0;
    const FlowPtr made(ibv_create_flow(left_->qp.get(), &flow.attr));
    EXPECT_EQ(made, nullptr) << what;
    EXPECT_EQ(errno, why) << what << ": " << std::strerror(errno);
  }
  void make_ends(uint64_t send_ops = 0) {
    left_ = std::make_unique<RawEnd>(send_ops);
    right_ = std::make_unique<RawEnd>();
    ASSERT_NE(left_->qp, nullptr) << std::strerror(errno);
    ASSERT_NE(right_->qp, nullptr) << std::strerror(errno);
  }
  void connect(uint64_t send_ops = 0) {
    from_.reset();
    to_.reset();
    make_ends(send_ops);
    if (stopped()) return;
    left_->connect();
    right_->connect();
    from_ = std::make_unique<Buffer>(left_->pd.get(), 2048);
    to_ = std::make_unique<Buffer>(right_->pd.get(), 4096);
  }
  /// Left sends the frame.
  void send(const frames::Bytes& frame, unsigned flags = 0) {
    std::copy(frame.begin(), frame.end(), from_->bytes.begin());
    Send request(1);
    request.flags(flags).data(from_->sge(0, static_cast<uint32_t>(frame.size())));
    ASSERT_EQ(request.post(left_->qp.get()), 0);
    expect_completion(left_->cq.get(), 1);
  }

  std::unique_ptr<RawEnd> left_, right_;
  std::unique_ptr<Buffer> from_, to_;
};

struct RawPacketRefused : Conformance {};

TEST_F(RawPacketRefused, WithoutTheCapability) {
  checks("ibv_create_qp(3); the kernel's ib_uverbs_create_qp");
  if (!need_if_any(device_.attr.raw_packet_caps != 0, "raw packets")) return;
  if (!need_if_any(!has_net_raw(), "a process without CAP_NET_RAW")) return;
  errno = 0;
  const RawEnd end;
  EXPECT_EQ(end.qp, nullptr);
  EXPECT_EQ(errno, EPERM) << std::strerror(errno);
}

TEST_F(RawPacket, CapabilitiesFitEachOther) {
  checks("ibv_query_device_ex(3)");
  if (stopped()) return;
  EXPECT_GT(device_.attr.orig_attr.max_raw_ethy_qp, 0);
  const bool checksums = (device_.attr.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM) != 0;
  EXPECT_EQ(checksums, device_.offers(IBV_DEVICE_RAW_IP_CSUM));
}

TEST_F(RawPacket, StatesTakeThePortOnly) {
  checks("ibv_modify_qp(3): RAW_PACKET");
  if (stopped()) return;
  const RawEnd end;
  ASSERT_NE(end.qp, nullptr) << std::strerror(errno);
  EXPECT_EQ(end.move(IBV_QPS_INIT, 0), EINVAL);
  EXPECT_EQ(end.move(IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
  EXPECT_EQ(end.move(IBV_QPS_INIT, IBV_QP_PORT), 0);
  EXPECT_EQ(end.move(IBV_QPS_RTR, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(end.move(IBV_QPS_RTR, 0), 0);
  EXPECT_EQ(end.move(IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(end.move(IBV_QPS_RTS, 0), 0);
  EXPECT_EQ(state_of(end.qp.get()), IBV_QPS_RTS);
  EXPECT_EQ(end.move(IBV_QPS_ERR, 0), 0);
  EXPECT_EQ(end.move(IBV_QPS_RESET, 0), 0);
}

TEST_F(RawPacket, TakesSendsOnly) {
  checks("ibv_post_send(3)");
  if (stopped()) return;
  connect();
  if (stopped()) return;
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ}) {
    Send request(1, opcode);
    request.data(from_->sge(0, 64));
    EXPECT_NE(request.post(left_->qp.get()), 0) << opcode;
  }
}

TEST_F(RawPacket, LengthsOutsideTheLinkFail) {
  checks("ibv_post_send(3); IBV_WC_LOC_LEN_ERR");
  if (stopped()) return;
  for (const uint32_t length : {0U, 13U, 70000U}) {
    connect();
    if (stopped()) return;
    const Buffer large(left_->pd.get(), 70000);
    Send request(1);
    request.data(large.sge(0, length));
    ASSERT_EQ(request.post(left_->qp.get()), 0);
    expect_completion(left_->cq.get(), 1, IBV_WC_LOC_LEN_ERR);
  }
}

TEST_F(RawPacket, FramesGoWhereARuleLeads) {
  checks("ibv_create_flow(3)");
  if (stopped()) return;
  connect();
  if (stopped()) return;
  const FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(7).data(to_->sge()).post(right_->qp.get()), 0);
  const frames::Bytes frame = frames::make({});
  send(frames::make({.destination_port = 1}));
  send(frame, IBV_SEND_INLINE);
  const ibv_wc wc = expect_completion(right_->cq.get(), 7);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_EQ(wc.byte_len, frame.size());
  EXPECT_EQ(wc.qp_num, right_->qp->qp_num);
  if (device_.offers(IBV_DEVICE_RAW_IP_CSUM)) {
    EXPECT_NE(wc.wc_flags & IBV_WC_IP_CSUM_OK, 0U);
  }
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), to_->bytes.begin()));
}

TEST_F(RawPacket, ChecksumsAreComputed) {
  checks("ibv_post_send(3): IBV_SEND_IP_CSUM");
  if (stopped() || !need_if_any(device_.offers(IBV_DEVICE_RAW_IP_CSUM), "checksum offload")) return;
  connect();
  if (stopped()) return;
  const FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(7).data(to_->sge()).post(right_->qp.get()), 0);
  const frames::Bytes right = frames::make({});
  frames::Bytes wrong = right;
  wrong[24] = wrong[25] = wrong[40] = wrong[41] = 0;
  send(wrong, IBV_SEND_IP_CSUM);
  expect_completion(right_->cq.get(), 7);
  EXPECT_TRUE(std::equal(right.begin(), right.end(), to_->bytes.begin()));
}

TEST_F(RawPacket, WrongChecksumsAreNotPraised) {
  checks("ibv_poll_cq(3): IBV_WC_IP_CSUM_OK");
  if (stopped()) return;
  connect();
  if (stopped()) return;
  const FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(7).data(to_->sge()).post(right_->qp.get()), 0);
  frames::Bytes frame = frames::make({});
  frame.back() ^= 1U;
  send(frame);
  EXPECT_EQ(expect_completion(right_->cq.get(), 7).wc_flags & IBV_WC_IP_CSUM_OK, 0U);
}

TEST_F(RawPacket, ReceivesThatAreTooSmallFail) {
  checks("ibv_post_recv(3); IBV_WC_LOC_LEN_ERR");
  if (stopped()) return;
  connect();
  if (stopped()) return;
  const FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(7).data(to_->sge(0, 20)).post(right_->qp.get()), 0);
  send(frames::make({}));
  expect_completion(right_->cq.get(), 7, IBV_WC_LOC_LEN_ERR);
}

TEST_F(RawPacket, BuildersSend) {
  checks("ibv_wr_post(3)");
  if (stopped()) return;
  connect(IBV_QP_EX_WITH_SEND);
  if (stopped()) return;
  const FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(7).data(to_->sge()).post(right_->qp.get()), 0);
  const frames::Bytes frame = frames::make({});
  std::copy(frame.begin(), frame.end(), from_->bytes.begin());
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(left_->qp.get());
  ASSERT_NE(qp, nullptr);
  ibv_wr_start(qp);
  qp->wr_id = 3;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp);
  const ibv_sge sge = from_->sge(0, static_cast<uint32_t>(frame.size()));
  ibv_wr_set_sge_list(qp, 1, &sge);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  expect_completion(left_->cq.get(), 3);
  expect_completion(right_->cq.get(), 7);
}

TEST_F(RawPacket, SharedReceiveQueues) {
  checks("ibv_create_qp(3): srq");
  if (stopped()) return;
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_srq_init_attr init{};
  init.attr = {8, 2, 0};
  const SrqPtr srq(ibv_create_srq(pd.get(), &init));
  ASSERT_NE(srq, nullptr);
  ibv_qp_init_attr attr{};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.send_cq = attr.recv_cq = cq.get();
  attr.srq = srq.get();
  attr.cap = {4, 0, 1, 0, 0};
  const QpPtr qp(ibv_create_qp(pd.get(), &attr));
  EXPECT_NE(qp, nullptr) << std::strerror(errno);
}

TEST_F(RawPacket, QueuePairsWithRulesAreBusy) {
  checks("ibv_destroy_qp(3); the kernel's use count");
  if (stopped()) return;
  make_ends();
  if (stopped()) return;
  FlowPtr flow = right_->steer(UdpFlow(device_.port));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_destroy_qp(right_->qp.get()), EBUSY);
  flow.reset();
}

TEST_F(RawPacket, FlowsAreChecked) {
  checks("ibv_create_flow(3); the kernel's ib_uverbs_ex_create_flow");
  if (stopped()) return;
  make_ends();
  if (stopped()) return;
  UdpFlow flow(device_.port);
  flow.attr.port = 77;
  expect_refused(flow, EINVAL, "port");
  flow = UdpFlow(device_.port);
  flow.attr.flags = 1U << 3;
  expect_refused(flow, EINVAL, "flags");
  flow = UdpFlow(device_.port);
  constexpr uint32_t kNoType = 9;
  std::memcpy(&flow.attr.type, &kNoType, sizeof kNoType);
  expect_refused(flow, EINVAL, "type");
  flow = UdpFlow(device_.port);
  flow.attr.num_of_specs = 11;
  expect_refused(flow, EINVAL, "number of specifications");
  flow = UdpFlow(device_.port);
  flow.udp.type = static_cast<ibv_flow_spec_type>(0x7f);
  expect_refused(flow, EINVAL, "type of a specification");
  flow = UdpFlow(device_.port);
  flow.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  flow.attr.num_of_specs = 0;
  flow.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  expect_refused(flow, EINVAL, "a default rule that does not trap");
}

TEST_F(RawPacket, FlowsOfEachType) {
  checks("ibv_create_flow(3): types");
  if (stopped()) return;
  make_ends();
  if (stopped()) return;
  for (const auto type : {IBV_FLOW_ATTR_NORMAL, IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT,
                          IBV_FLOW_ATTR_SNIFFER}) {
    UdpFlow flow(device_.port);
    flow.attr.type = type;
    flow.attr.num_of_specs = 0;
    const FlowPtr made = right_->steer(flow);
    EXPECT_NE(made, nullptr) << type << ": " << std::strerror(errno);
  }
}

TEST_F(RawPacket, FlowsThatAreLeftEndWithTheContext) {
  checks("ibv_close_device(3)");
  if (stopped()) return;
  ibv_context* context = Device::open().context.release();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = cq;
  init.cap = {1, 1, 1, 1, 0};
  ibv_qp* qp = ibv_create_qp(pd, &init);
  ASSERT_NE(qp, nullptr) << std::strerror(errno);
  UdpFlow flow(device_.port);
  EXPECT_NE(ibv_create_flow(qp, &flow.attr), nullptr);
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
}  // namespace conformance
