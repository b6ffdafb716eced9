// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/event_response.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace urxe::cm::event_response_test {
namespace {

template <size_t N>
CmBytes<N> counted_bytes() {
  CmBytes<N> data;
  std::iota(data.bytes.begin(), data.bytes.end(), uint8_t{1});
  data.size = N;
  return data;
}

CmReq sample_request() {
  CmReq request;
  request.local_qpn = Qpn(0x123456);
  request.responder_resources = 3;
  request.initiator_depth = 5;
  request.flow_control = true;
  request.retry_count = 6;
  request.rnr_retry_count = 4;
  request.srq = true;
  request.ece = {0xabcdef, 0x01020304};
  request.private_data = counted_bytes<92>();
  return request;
}

TEST(EventResponse, ARequestIsToldAsThisEndSeesIt) {
  const rdma_ucm_event_resp event = connect_request(sample_request(), 0);
  EXPECT_EQ(event.event, 4U);
  EXPECT_EQ(event.status, 0U);
  const rdma_ucm_conn_param& parameters = event.param.conn;
  EXPECT_EQ(parameters.responder_resources, 5) << "the peer's initiator depth";
  EXPECT_EQ(parameters.initiator_depth, 3) << "the peer's responder resources";
  EXPECT_EQ(parameters.flow_control, 1);
  EXPECT_EQ(parameters.retry_count, 6);
  EXPECT_EQ(parameters.rnr_retry_count, 4);
  EXPECT_EQ(parameters.srq, 1);
  EXPECT_EQ(parameters.qp_num, 0x123456U);
  EXPECT_EQ(event.ece.vendor_id, 0xabcdefU);
  EXPECT_EQ(event.ece.attr_mod, 0x01020304U);
}

TEST(EventResponse, ARequestsPrivateDataIsTheWholeField) {
  CmReq request = sample_request();
  request.private_data.bytes = {};
  request.private_data.bytes[0] = 9;
  request.private_data.size = 1;
  const rdma_ucm_event_resp event = connect_request(request, 0);
  EXPECT_EQ(event.param.conn.private_data_len, 92);
  EXPECT_EQ(event.param.conn.private_data[0], 9);
  EXPECT_EQ(event.param.conn.private_data[1], 0);
}

TEST(EventResponse, TheIpHeaderIsNotPartOfTheApplicationsData) {
  const rdma_ucm_event_resp event = connect_request(sample_request(), kIpCmHeaderBytes);
  EXPECT_EQ(event.param.conn.private_data_len, 56);
  EXPECT_EQ(event.param.conn.private_data[0], kIpCmHeaderBytes + 1);
  EXPECT_EQ(event.param.conn.private_data[55], 92);
}

TEST(EventResponse, AServiceRequestsDataFollowsTheIpHeader) {
  CmSidrReq request;
  request.private_data = counted_bytes<216>();
  const rdma_ucm_event_resp event = service_request(request, kIpCmHeaderBytes);
  EXPECT_EQ(event.event, 4U);
  EXPECT_EQ(event.param.ud.private_data_len, 180);
  EXPECT_EQ(event.param.ud.private_data[0], kIpCmHeaderBytes + 1);
}

TEST(EventResponse, AReplyIsToldAsThisEndSeesIt) {
  CmRep reply;
  reply.local_qpn = Qpn(77);
  reply.responder_resources = 2;
  reply.initiator_depth = 9;
  reply.rnr_retry_count = 1;
  reply.srq = true;
  reply.ece = {1, 2};
  reply.private_data = counted_bytes<196>();
  const rdma_ucm_event_resp event = connect_response(reply);
  EXPECT_EQ(event.event, 5U);
  EXPECT_EQ(event.param.conn.responder_resources, 9);
  EXPECT_EQ(event.param.conn.initiator_depth, 2);
  EXPECT_EQ(event.param.conn.rnr_retry_count, 1);
  EXPECT_EQ(event.param.conn.srq, 1);
  EXPECT_EQ(event.param.conn.qp_num, 77U);
  EXPECT_EQ(event.param.conn.private_data_len, 196);
  EXPECT_EQ(event.ece.vendor_id, 1U);
}

TEST(EventResponse, AnXrcReplyHasItsTargetQueuePairsNumber) {
  CmRep reply;
  reply.local_eecn = Qpn(78);
  EXPECT_EQ(connect_response(reply).param.conn.qp_num, 78U);
}

TEST(EventResponse, ARejectionHasThePeersReasonAndAllItsData) {
  CmRej rejection;
  rejection.reason = CmRejectReason::kConsumer;
  rejection.private_data = counted_bytes<148>();
  const rdma_ucm_event_resp event = rejected(rejection);
  EXPECT_EQ(event.event, 8U);
  EXPECT_EQ(event.status, 28U);
  EXPECT_EQ(event.param.conn.private_data_len, 148);
  EXPECT_EQ(event.param.conn.private_data[147], 148);
}

TEST(EventResponse, ATimeoutIsANegativeErrnoValue) {
  const rdma_ucm_event_resp event = plain_event(EventType::kUnreachable, -110);
  EXPECT_EQ(event.event, 7U);
  EXPECT_EQ(static_cast<int>(event.status), -110);
  EXPECT_EQ(event.param.conn.private_data_len, 0);
}

Path sample_path() {
  Path path;
  path.local.bytes[15] = 1;
  path.remote.bytes[15] = 2;
  path.hop_limit = 63;
  path.traffic_class = 0x20;
  path.flow_label = 0x12345;
  path.sl = 3;
  return path;
}

TEST(EventResponse, AServiceReplyTellsHowToReachTheService) {
  CmSidrRep reply;
  reply.qpn = Qpn(1234);
  reply.qkey = QKey(0x11);
  const rdma_ucm_event_resp event = service_reply(reply, sample_path(), 1, 4);
  EXPECT_EQ(event.event, 9U);
  const rdma_ucm_ud_param& parameters = event.param.ud;
  EXPECT_EQ(parameters.qp_num, 1234U);
  EXPECT_EQ(parameters.qkey, 0x11U);
  EXPECT_EQ(parameters.private_data_len, 136);
  EXPECT_EQ(parameters.ah_attr.is_global, 1);
  EXPECT_EQ(parameters.ah_attr.port_num, 1);
  EXPECT_EQ(parameters.ah_attr.sl, 3);
  EXPECT_EQ(parameters.ah_attr.grh.dgid[15], 2);
  EXPECT_EQ(parameters.ah_attr.grh.sgid_index, 4);
  EXPECT_EQ(parameters.ah_attr.grh.hop_limit, 63);
  EXPECT_EQ(parameters.ah_attr.grh.traffic_class, 0x20);
  EXPECT_EQ(parameters.ah_attr.grh.flow_label, 0x12345U);
}

TEST(EventResponse, AServiceThatIsNotThereIsUnreachable) {
  CmSidrRep reply;
  reply.status = CmSidrStatus::kUnsupported;
  const rdma_ucm_event_resp event = service_reply(reply, sample_path(), 1, 4);
  EXPECT_EQ(event.event, 7U);
  EXPECT_EQ(event.status, 1U);
  EXPECT_EQ(event.param.ud.qp_num, 0U);
}

TEST(EventResponse, AJoinTellsHowToReachTheGroup) {
  Gid group;
  group.bytes[0] = 0xff;
  const rdma_ucm_event_resp event = multicast_join(group, QKey(5), 1, 2, 64, 8);
  EXPECT_EQ(event.event, 12U);
  EXPECT_EQ(event.param.ud.qp_num, 0xffffffU);
  EXPECT_EQ(event.param.ud.qkey, 5U);
  EXPECT_EQ(event.param.ud.ah_attr.grh.dgid[0], 0xff);
  EXPECT_EQ(event.param.ud.ah_attr.grh.sgid_index, 2);
  EXPECT_EQ(event.param.ud.ah_attr.grh.hop_limit, 64);
  EXPECT_EQ(event.param.ud.ah_attr.grh.traffic_class, 8);
}

TEST(EventResponse, ARequestNamesItsQueuePairType) {
  CmReq request;
  EXPECT_EQ(qp_type_of(request), IBV_QPT_RC);
  request.transport = CmTransport::kUc;
  EXPECT_EQ(qp_type_of(request), IBV_QPT_UC);
  request.transport = CmTransport::kExtended;
  EXPECT_EQ(qp_type_of(request), IBV_QPT_XRC_RECV);
}

}  // namespace
}  // namespace urxe::cm::event_response_test
