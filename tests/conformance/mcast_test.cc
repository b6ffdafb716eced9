// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups.
#include "tests/conformance/support/datagrams.h"

namespace conformance {
namespace {

constexpr uint32_t kMulticastQpn = 0xffffff;
constexpr uint32_t kPayload = 100;

struct Mcast : DatagramConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    need(device_.attr.orig_attr.max_mcast_grp > 0, "multicast");
  }
  /// A group of the address family that the GID is of, or (InfiniBand) of this link.
  ibv_gid group(uint8_t last) const {
    constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    ibv_gid result{};
    if (std::memcmp(device_.gid.raw, kMapped, sizeof kMapped) == 0) {
      std::memcpy(result.raw, kMapped, sizeof kMapped);
      const uint8_t address[4] = {239, 7, 9, last};
      std::memcpy(&result.raw[12], address, sizeof address);
    } else {
      result.raw[0] = 0xff;
      result.raw[1] = 0x0e;
      result.raw[14] = 0x79;
      result.raw[15] = last;
    }
    return result;
  }
  AhPtr group_handle(const ibv_gid& gid) {
    ibv_ah_attr address = device_.own_address();
    address.grh.dgid = gid;
    return AhPtr(ibv_create_ah(left_->pd, &address));
  }
  /// Left sends to the group.
  void send_to(ibv_ah* handle, uint64_t id, uint32_t qkey, uint32_t size = kPayload) {
    Send send(id);
    send.data(local_->sge(0, size)).to(handle, kMulticastQpn, qkey);
    ASSERT_EQ(send.post(left_qp()), 0);
    expect_completion(left_done(), id);
  }
};

/// Attached while it lives.
class Membership {
 public:
  Membership(ibv_qp* qp, const ibv_gid& gid) : qp_(qp), gid_(gid) {
    EXPECT_EQ(ibv_attach_mcast(qp_, &gid_, 0), 0);
  }
  ~Membership() { EXPECT_EQ(ibv_detach_mcast(qp_, &gid_, 0), 0); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

 private:
  ibv_qp* qp_;
  ibv_gid gid_;
};

TEST_F(Mcast, DeliversToAMember) {
  checks("ibv_attach_mcast(3); IBTA 10.5.2");
  start();
  if (stopped()) return;
  const ibv_gid gid = group(1);
  const Membership member(right_qp(), gid);
  const AhPtr handle = group_handle(gid);
  ASSERT_NE(handle, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  send_to(handle.get(), 1, right_->config.qkey);
  const ibv_wc wc = expect_completion(right_received(), 5);
  EXPECT_EQ(wc.byte_len, kPayload + kGrhSize);
  EXPECT_EQ(wc.src_qp, left_->number());
  EXPECT_NE(wc.wc_flags & IBV_WC_GRH, 0U);
  EXPECT_EQ(std::memcmp(&remote_->bytes[kGrhSize], local_->bytes.data(), kPayload), 0);
  // The destination in the GRH area is the group.
  const size_t width = gid.raw[0] == 0xff ? 16 : 4;
  EXPECT_EQ(std::memcmp(&remote_->bytes[kGrhSize - width], &gid.raw[16 - width], width), 0);
}

TEST_F(Mcast, DeliversToSeveralQueuePairs) {
  checks("IBTA 10.5.2: one copy for each attached queue pair, the sender's included");
  start();
  if (stopped()) return;
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  Endpoint third(device_, ud);
  third.connect_to(0);
  const Buffer inbox(third.pd, 200);
  const Buffer own(left_->pd, 200);
  const ibv_gid gid = group(2);
  const Membership first(right_qp(), gid);
  const Membership second(third.qp.get(), gid);
  const Membership sender(left_qp(), gid);
  const AhPtr handle = group_handle(gid);
  ASSERT_NE(handle, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(Recv(6).data(inbox.sge()).post(third.qp.get()), 0);
  ASSERT_EQ(Recv(7).data(own.sge()).post(left_qp()), 0);
  send_to(handle.get(), 1, ud.qkey);
  expect_completion(right_received(), 5);
  expect_completion(third.recv_cq.get(), 6);
  expect_completion(left_received(), 7);
  for (const Buffer* buffer : std::vector<const Buffer*>{remote_.get(), &inbox, &own})
    EXPECT_EQ(std::memcmp(&buffer->bytes[kGrhSize], local_->bytes.data(), kPayload), 0);
}

TEST_F(Mcast, OtherQkeyIsDropped) {
  checks("IBTA 10.5.2.1: each copy is subject to its queue pair's Q_Key");
  QpConfig other;
  other.qkey = 0x555;
  start({}, other);
  if (stopped()) return;
  const ibv_gid gid = group(3);
  const Membership member(right_qp(), gid);
  const AhPtr handle = group_handle(gid);
  ASSERT_NE(handle, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  send_to(handle.get(), 1, 0x666);
  send_to(handle.get(), 2, 0x555, 33);
  EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 33 + kGrhSize);
}

TEST_F(Mcast, OtherGroupIsNotDelivered) {
  checks("ibv_attach_mcast(3)");
  start();
  if (stopped()) return;
  const Membership member(right_qp(), group(4));
  const AhPtr wrong = group_handle(group(5));
  const AhPtr right = group_handle(group(4));
  ASSERT_NE(right, nullptr) << std::strerror(errno);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  send_to(wrong.get(), 1, right_->config.qkey);
  send_to(right.get(), 2, right_->config.qkey, 33);
  EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 33 + kGrhSize);
}

TEST_F(Mcast, DetachedIsNotDelivered) {
  checks("ibv_attach_mcast(3): ibv_detach_mcast()");
  start();
  if (stopped()) return;
  const ibv_gid gid = group(6);
  const AhPtr handle = group_handle(gid);
  ASSERT_NE(handle, nullptr) << std::strerror(errno);
  { const Membership member(right_qp(), gid); }
  const Membership other(left_qp(), gid);
  const Buffer own(left_->pd, 200);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(Recv(7).data(own.sge()).post(left_qp()), 0);
  send_to(handle.get(), 1, right_->config.qkey);
  expect_completion(left_received(), 7);
  expect_empty(right_received());
}

TEST_F(Mcast, AttachNeedsAMulticastAddress) {
  checks("ibv_attach_mcast(3): gid");
  start();
  if (stopped()) return;
  EXPECT_EQ(ibv_attach_mcast(right_qp(), &device_.gid, 0), EINVAL);
}

TEST_F(Mcast, AttachNeedsAUdQueuePair) {
  checks("ibv_attach_mcast(3): only UD queue pairs");
  start();
  if (stopped()) return;
  const Endpoint rc(device_, QpConfig{});
  const ibv_gid gid = group(7);
  EXPECT_EQ(ibv_attach_mcast(rc.qp.get(), &gid, 0), EINVAL);
}

TEST_F(Mcast, DetachWithoutAttach) {
  checks("ibv_attach_mcast(3): ibv_detach_mcast()");
  start();
  if (stopped()) return;
  const ibv_gid gid = group(8);
  EXPECT_EQ(ibv_detach_mcast(right_qp(), &gid, 0), EINVAL);
}

TEST_F(Mcast, AttachedQueuePairIsBusy) {
  checks("ibv_create_qp(3): ibv_destroy_qp() fails if attached to a multicast group");
  start();
  if (stopped()) return;
  const Membership member(right_qp(), group(9));
  EXPECT_EQ(ibv_destroy_qp(right_qp()), EBUSY);
}

TEST_F(Mcast, SeveralGroupsOfOneQueuePair) {
  checks("ibv_attach_mcast(3)");
  start();
  if (stopped()) return;
  const Membership first(right_qp(), group(10));
  const Membership second(right_qp(), group(11));
  for (const uint8_t last : {uint8_t{10}, uint8_t{11}}) {
    const AhPtr handle = group_handle(group(last));
    ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
    send_to(handle.get(), 1, right_->config.qkey);
    expect_completion(right_received(), 5);
  }
}

TEST_F(Mcast, BetweenTwoContexts) {
  checks("ibv_attach_mcast(3): members of different contexts");
  start();
  if (stopped()) return;
  const Device second = Device::open();
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  Endpoint far(second, ud);
  far.connect_to(0);
  const Buffer inbox(far.pd, 200);
  const ibv_gid gid = group(12);
  const Membership member(far.qp.get(), gid);
  const AhPtr handle = group_handle(gid);
  ASSERT_EQ(Recv(5).data(inbox.sge()).post(far.qp.get()), 0);
  send_to(handle.get(), 1, ud.qkey);
  expect_completion(far.recv_cq.get(), 5);
}

}  // namespace
}  // namespace conformance
