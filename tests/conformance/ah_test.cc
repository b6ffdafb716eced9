// SPDX-License-Identifier: BSD-2-Clause
// Address handles, and the GRH area from which they can be made.
#include <netinet/ip.h>
#include <netinet/ip6.h>

#include "tests/conformance/support/datagrams.h"

namespace conformance {
namespace {

constexpr uint8_t kUdp = 17;
constexpr uint16_t kRoceOverhead = 8 + 12 + 8 + 4;  // UDP header, BTH, DETH, ICRC

struct Ah : DatagramConformance {
  bool is_ipv4() const {
    constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(device_.gid.raw, kMapped, sizeof kMapped) == 0;
  }
  /// A message of 100 bytes arrives; its completion.
  ibv_wc receive_one() {
    EXPECT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    EXPECT_EQ(message(1, 100).post(left_qp()), 0);
    expect_completion(left_done(), 1);
    return expect_completion(right_received(), 2);
  }
  ibv_grh* grh() { return reinterpret_cast<ibv_grh*>(remote_->bytes.data()); }
  bool need_roce_v2(bool right_family) {
    return need_if_any(device_.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET && right_family,
                       "a RoCE v2 GID of this address family (see --gid-index)");
  }
};

uint16_t ip_checksum(const uint8_t* bytes, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i < size; i += 2) sum += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

TEST_F(Ah, GrhAreaOfIpv4ByteByByte) {
  checks("IBTA annex A17.4.5.1: bytes 20 to 39 of the GRH area are the IPv4 header");
  start();
  if (stopped() || !need_roce_v2(is_ipv4())) return;
  ibv_ah_attr address = device_.own_address();
  address.grh.traffic_class = 0x28;
  address.grh.hop_limit = 17;
  ah_.reset(ibv_create_ah(left_->pd, &address));
  ASSERT_NE(ah_, nullptr);
  const ibv_wc wc = receive_one();
  EXPECT_NE(wc.wc_flags & IBV_WC_GRH, 0U);
  const uint8_t* header = &remote_->bytes[20];
  EXPECT_EQ(header[0], 0x45) << "version 4, no options";
  EXPECT_EQ(header[1] & 0xfc, 0x28) << "DSCP";
  EXPECT_EQ(header[2] << 8 | header[3], 20 + kRoceOverhead + 100) << "total length";
  EXPECT_EQ((header[6] << 8 | header[7]) & 0x1fff, 0) << "not a fragment";
  EXPECT_EQ(header[8], 17) << "time to live";
  EXPECT_EQ(header[9], kUdp);
  EXPECT_EQ(std::memcmp(&header[12], &device_.gid.raw[12], 4), 0) << "source";
  EXPECT_EQ(std::memcmp(&header[16], &device_.gid.raw[12], 4), 0) << "destination";
  EXPECT_EQ(ip_checksum(header, 20), 0) << "header checksum";
}

TEST_F(Ah, GrhAreaOfIpv6ByteByByte) {
  checks("IBTA annex A17.4.5.1: the GRH area is the IPv6 header");
  start();
  if (stopped() || !need_roce_v2(!is_ipv4())) return;
  ibv_ah_attr address = device_.own_address();
  address.grh.traffic_class = 0x28;
  address.grh.hop_limit = 17;
  ah_.reset(ibv_create_ah(left_->pd, &address));
  ASSERT_NE(ah_, nullptr);
  const ibv_wc wc = receive_one();
  EXPECT_NE(wc.wc_flags & IBV_WC_GRH, 0U);
  const uint8_t* header = remote_->bytes.data();
  EXPECT_EQ(header[0] >> 4, 6) << "version";
  EXPECT_EQ(((header[0] << 4 | header[1] >> 4) & 0xfc), 0x28) << "DSCP";
  EXPECT_EQ(header[4] << 8 | header[5], kRoceOverhead + 100) << "payload length";
  EXPECT_EQ(header[6], kUdp) << "next header";
  EXPECT_EQ(header[7], 17) << "hop limit";
  EXPECT_EQ(std::memcmp(&header[8], device_.gid.raw, 16), 0) << "source";
  EXPECT_EQ(std::memcmp(&header[24], device_.gid.raw, 16), 0) << "destination";
}

TEST_F(Ah, InitFromCompletion) {
  checks("ibv_create_ah_from_wc(3): ibv_init_ah_from_wc()");
  start();
  if (stopped()) return;
  ibv_wc wc = receive_one();
  ibv_ah_attr found{};
  ASSERT_EQ(ibv_init_ah_from_wc(context(), device_.port, &wc, grh(), &found), 0);
  EXPECT_EQ(found.is_global, 1);
  EXPECT_EQ(found.port_num, device_.port);
  EXPECT_EQ(found.grh.sgid_index, device_.gid_index);
  EXPECT_EQ(std::memcmp(&found.grh.dgid, &device_.gid, sizeof found.grh.dgid), 0);
}

TEST_F(Ah, AnswerToASender) {
  checks("ibv_create_ah_from_wc(3)");
  start();
  if (stopped()) return;
  ibv_wc wc = receive_one();
  const AhPtr back(ibv_create_ah_from_wc(right_->pd, &wc, grh(), device_.port));
  ASSERT_NE(back, nullptr) << std::strerror(errno);
  Buffer inbox(left_->pd, 200);
  ASSERT_EQ(Recv(6).data(inbox.sge()).post(left_qp()), 0);
  Send answer(5);
  answer.data(remote_->sge(kGrhSize, 100)).to(back.get(), wc.src_qp, left_->config.qkey);
  ASSERT_EQ(answer.post(right_qp()), 0);
  expect_completion(right_done(), 5);
  EXPECT_EQ(expect_completion(left_received(), 6).src_qp, right_->number());
  EXPECT_EQ(std::memcmp(&inbox.bytes[kGrhSize], local_->bytes.data(), 100), 0);
}

TEST_F(Ah, MembersAreWhatWasAsked) {
  checks("ibv_create_ah(3)");
  start();
  if (stopped()) return;
  EXPECT_EQ(ah_->pd, left_->pd);
  EXPECT_EQ(ah_->context, context());
}

TEST_F(Ah, AddressesThatCannotBe) {
  checks("ibv_create_ah(3): attr");
  start();
  if (stopped()) return;
  ibv_ah_attr address = device_.own_address();
  address.grh.sgid_index = 254;
  EXPECT_EQ(AhPtr(ibv_create_ah(left_->pd, &address)), nullptr) << "sgid_index";
  address = device_.own_address();
  address.port_num = 200;
  EXPECT_EQ(AhPtr(ibv_create_ah(left_->pd, &address)), nullptr) << "port_num";
}

TEST_F(Ah, RoceNeedsAGrh) {
  checks("ibv_create_ah(3): is_global where IBV_QPF_GRH_REQUIRED");
  start();
  if (stopped()) return;
  if (!need_if_any((device_.port_attr.flags & IBV_QPF_GRH_REQUIRED) != 0, "GRHs being required"))
    return;
  ibv_ah_attr address = device_.own_address();
  address.is_global = 0;
  address.dlid = 1;  // some devices take their own LID, 0, for a way to themselves
  errno = 0;
  EXPECT_EQ(AhPtr(ibv_create_ah(left_->pd, &address)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Ah, ManyHandles) {
  checks("ibv_create_ah(3)");
  start();
  if (stopped()) return;
  std::vector<AhPtr> handles;
  for (int i = 0; i < 1000; ++i) {
    handles.push_back(create_ah(left_->pd));
    ASSERT_NE(handles.back(), nullptr) << i;
  }
}

TEST_F(Ah, NoDestination) {
  checks("ibv_create_ah(3): grh.dgid");
  const PdPtr pd = alloc_pd();
  ibv_ah_attr address = device_.own_address();
  address.grh.dgid = {};
  EXPECT_EQ(ibv_create_ah(pd.get(), &address), nullptr);
}

}  // namespace
}  // namespace conformance
