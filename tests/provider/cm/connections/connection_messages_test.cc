// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/connection_messages.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "transport/limits.h"

namespace urxe::cm {
namespace {

const uint8_t kLocal[4] = {192, 0, 2, 1};
const uint8_t kRemote[4] = {192, 0, 2, 2};

/// An id whose route is resolved.
CmId sample_id(sa_family_t family = AF_INET) {
  CmId id;
  id.source = make_address(family, Gid::from_ipv4(kLocal), 40000);
  id.destination = make_address(family, Gid::from_ipv4(kRemote), 7471);
  id.psn = Psn(0x111111);
  id.gid_index = 3;
  Path path;
  path.local = Gid::from_ipv4(kLocal);
  path.remote = Gid::from_ipv4(kRemote);
  path.mtu = IBV_MTU_2048;
  path.traffic_class = 0x20;
  id.paths.assign(1, path);
  return id;
}

rdma_ucm_conn_param sample_parameters(uint8_t private_data = 0) {
  rdma_ucm_conn_param parameters{};
  parameters.qp_num = 0x2222;
  parameters.responder_resources = 4;
  parameters.initiator_depth = 7;
  parameters.retry_count = 9;
  parameters.rnr_retry_count = 200;
  parameters.private_data_len = private_data;
  std::memset(parameters.private_data, 0xaa, private_data);
  parameters.valid = 1;
  return parameters;
}

TEST(ConnectionMessages, ARequestSaysWhatTheApplicationAsksFor) {
  const CmId id = sample_id();
  const auto request = make_request(id, sample_parameters(), {.vendor_id = 5, .attr_mod = 6});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->service_id.value(), 0x01061d2fULL);
  EXPECT_EQ(request->local_qpn.value(), 0x2222U);
  EXPECT_EQ(request->responder_resources, 4);
  EXPECT_EQ(request->initiator_depth, 7);
  EXPECT_EQ(request->retry_count, 7) << "three bits";
  EXPECT_EQ(request->rnr_retry_count, 7);
  EXPECT_EQ(request->starting_psn, Psn(0x111111));
  EXPECT_EQ(request->path_mtu, IBV_MTU_2048);
  EXPECT_EQ(request->max_cm_retries, 15);
  EXPECT_EQ(request->primary.local, id.paths[0].local);
  EXPECT_EQ(request->primary.remote, id.paths[0].remote);
  EXPECT_EQ(request->primary.traffic_class, 0x20);
  EXPECT_EQ(request->primary.ack_timeout, 17);
  EXPECT_EQ(request->ece.vendor_id, 5U);
  EXPECT_EQ(request->transport, CmTransport::kRc);
}

TEST(ConnectionMessages, ARequestBeginsWithTheIpAddresses) {
  const auto request = make_request(sample_id(), sample_parameters(3), {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->private_data.size, kIpCmHeaderBytes + 3);
  const auto header = parse_ip_cm_header(request->private_data.bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->ip_version, 4);
  EXPECT_EQ(header->source_port, 40000);
  EXPECT_EQ(header->source, Gid::from_ipv4(kLocal));
  EXPECT_EQ(header->destination, Gid::from_ipv4(kRemote));
  EXPECT_EQ(request->private_data.bytes[kIpCmHeaderBytes], 0xaa);
}

TEST(ConnectionMessages, ARequestHasRoomForTheSameDataAsLinux) {
  EXPECT_TRUE(make_request(sample_id(), sample_parameters(56), {}));
  EXPECT_EQ(make_request(sample_id(), sample_parameters(57), {}).error().value, EINVAL);
  EXPECT_TRUE(make_request(sample_id(kAfIb), sample_parameters(92), {}));
  EXPECT_EQ(make_request(sample_id(kAfIb), sample_parameters(93), {}).error().value, EINVAL);
}

TEST(ConnectionMessages, AReplyHasRoomForTheSameDataAsLinux) {
  EXPECT_TRUE(make_reply(sample_id(), sample_parameters(196), {}));
  EXPECT_EQ(make_reply(sample_id(), sample_parameters(197), {}).error().value, EINVAL);
}

// The defect: the REP accepted an alternate path, which nothing loads.
TEST(ConnectionMessages, AnAlternatePathIsRefused) {
  CmId id = sample_id();
  CmReq request;
  take_received_request(id, request);
  EXPECT_EQ(make_reply(id, sample_parameters(), {})->failover_accepted, 0);
  request.has_alternate = true;
  take_received_request(id, request);
  EXPECT_EQ(make_reply(id, sample_parameters(), {})->failover_accepted, kFailoverNotSupported);
}

TEST(ConnectionMessages, AServiceRequestHasRoomForTheSameDataAsLinux) {
  EXPECT_TRUE(make_service_request(sample_id(), sample_parameters(180)));
  EXPECT_EQ(make_service_request(sample_id(), sample_parameters(181)).error().value, EINVAL);
}

TEST(ConnectionMessages, ARequestOfAnXrcInitiatorSaysSo) {
  CmId id = sample_id();
  id.qp_type = IBV_QPT_XRC_SEND;
  const auto request = make_request(id, sample_parameters(), {});
  EXPECT_EQ(request->transport, CmTransport::kExtended);
  EXPECT_EQ(request->extended_transport, 1);
}

TEST(ConnectionMessages, AnXrcTargetsReplyHasItsNumberWhereXrcHasIt) {
  CmId id = sample_id();
  id.qp_type = IBV_QPT_XRC_RECV;
  const auto reply = make_reply(id, sample_parameters(), {});
  EXPECT_EQ(reply->local_eecn.value(), 0x2222U);
  EXPECT_EQ(reply->local_qpn.value(), 0U);
  EXPECT_TRUE(reply->srq);
}

TEST(ConnectionMessages, TheOptionSetsTheAckTimeout) {
  CmId id = sample_id();
  id.options.ack_timeout = 14;
  EXPECT_EQ(make_request(id, sample_parameters(), {})->primary.ack_timeout, 14);
  id.options.ack_timeout = 200;
  EXPECT_EQ(make_request(id, sample_parameters(), {})->primary.ack_timeout, 31);
}

TEST(ConnectionMessages, EachEndKnowsHowLongTheOtherTakesToAnswer) {
  CmId active = sample_id();
  const auto request = make_request(active, sample_parameters(), {});
  take_sent_request(active, *request);
  auto reply = make_reply(sample_id(), sample_parameters(), {});
  EXPECT_EQ(reply->target_ack_delay, kLocalCaAckDelay);
  take_reply(active, *reply);
  EXPECT_EQ(active.connection.ack_timeout, 17);
  reply->target_ack_delay = 16;  // as ConnectX has it
  take_reply(active, *reply);
  EXPECT_EQ(active.connection.ack_timeout, 18);
  reply->target_ack_delay = 20;
  take_reply(active, *reply);
  EXPECT_EQ(active.connection.ack_timeout, 20);
  active.options.ack_timeout = 14;
  take_reply(active, *reply);
  EXPECT_EQ(active.connection.ack_timeout, 14);
}

TEST(ConnectionMessages, BothEndsAgreeOnWhatTheyHaveSettled) {
  CmId active = sample_id();
  const auto request = make_request(active, sample_parameters(), {});
  take_sent_request(active, *request);
  EXPECT_EQ(active.connection.remote_qpn, Qpn{}) << "not known yet";

  CmId passive = sample_id();
  passive.psn = Psn(0x333333);
  take_received_request(passive, *request);
  EXPECT_EQ(passive.connection.remote_qpn, Qpn(0x2222));
  EXPECT_EQ(passive.connection.responder_resources, 7);
  EXPECT_EQ(passive.connection.initiator_depth, 4);
  EXPECT_EQ(passive.connection.local_psn, Psn(0x111111)) << "it sends what the peer expects";
  EXPECT_EQ(passive.connection.remote_psn, Psn(0x333333));
  EXPECT_EQ(passive.connection.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(passive.connection.retry_count, 7);

  rdma_ucm_conn_param accepted = sample_parameters();
  accepted.qp_num = 0x4444;
  accepted.responder_resources = 6;
  accepted.initiator_depth = 2;
  accepted.rnr_retry_count = 3;
  const auto reply = make_reply(passive, accepted, {});
  take_sent_reply(passive, *reply);
  take_reply(active, *reply);
  EXPECT_EQ(active.connection.remote_qpn, Qpn(0x4444));
  EXPECT_EQ(active.connection.local_psn, Psn(0x333333));
  EXPECT_EQ(active.connection.remote_psn, Psn(0x111111));
  EXPECT_EQ(active.connection.initiator_depth, passive.connection.responder_resources);
  EXPECT_EQ(active.connection.responder_resources, passive.connection.initiator_depth);
  EXPECT_EQ(active.connection.rnr_retry_count, 3);
  EXPECT_EQ(active.connection.gid_index, 3);
}

TEST(ConnectionMessages, AQKeyIsThePortSpacesUnlessTheApplicationHasOne) {
  CmId id = sample_id();
  ASSERT_TRUE(set_qkey(id, QKey{}));
  EXPECT_EQ(id.qkey, kUdpQKey);
  EXPECT_EQ(set_qkey(id, QKey(7)).error().value, EINVAL) << "it has one by now";
  EXPECT_TRUE(set_qkey(id, kUdpQKey));
}

TEST(ConnectionMessages, AServiceReplyWithAnotherQKeyIsAnError) {
  CmId id = sample_id();
  id.qkey = QKey(7);
  CmSidrRep reply;
  reply.qkey = QKey(8);
  const rdma_ucm_event_resp event = take_service_reply(id, reply);
  EXPECT_EQ(event.event, 1U);
  EXPECT_EQ(static_cast<int>(event.status), -EINVAL);
  reply.qkey = QKey(7);
  EXPECT_EQ(take_service_reply(id, reply).event, 9U);
}

}  // namespace
}  // namespace urxe::cm
