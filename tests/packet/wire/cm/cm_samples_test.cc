// SPDX-License-Identifier: BSD-2-Clause
// Messages of the kernel's communication manager, in pcap_samples/cm_*.pcap.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/roce_packet.h"
#include "tests/packet/wire/rx_packet.h"
#include "tests/support/capture_file.h"
#include "tests/support/datagram.h"

namespace urxe::test {
namespace {

using Bytes = std::vector<uint8_t>;

/// The payload of every datagram to QP1, in order.
std::vector<Bytes> mads_of(const std::string& sample) {
  std::vector<Bytes> mads;
  const CaptureFile file = read_capture(std::string(URXE_PCAP_SAMPLES) + "/" + sample + ".pcap");
  EXPECT_EQ(file.error, "");
  for (const CapturedFrame& frame : file.frames) {
    const auto datagram = find_datagram(frame);
    if (!datagram) continue;
    const auto view = parse(rx_packet(*datagram));
    if (!view || view->headers.bth.dest_qp != kGsiQpn) continue;
    EXPECT_EQ(view->headers.deth.qkey, kGsiQKey);
    EXPECT_EQ(view->headers.deth.source_qp, kGsiQpn);
    mads.emplace_back(view->payload.begin(), view->payload.end());
  }
  return mads;
}

CmMessage message_of(const Bytes& mad) {
  const auto message = parse_cm_message(mad);
  EXPECT_TRUE(message) << mad_drop_reason_name(message.error());
  return message.value_or(CmMessage{});
}

using Counts = std::map<CmAttribute, size_t>;

Counts count_by_attribute(const std::vector<Bytes>& mads) {
  Counts counts;
  for (const Bytes& mad : mads) ++counts[attribute_of(message_of(mad).body)];
  return counts;
}

/// Offsets at which two MADs differ.
std::vector<size_t> differences(const Bytes& a, const MadBytes& b) {
  std::vector<size_t> offsets;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] != b[i]) offsets.push_back(i);
  }
  return offsets;
}

class CmSamples : public testing::TestWithParam<const char*> {};

// Expect: no difference. In fields that are not kept, emit writes the same values as the kernel.
TEST_P(CmSamples, EveryMessageIsEmittedAsTheKernelSentIt) {
  const auto mads = mads_of(GetParam());
  ASSERT_FALSE(mads.empty());
  for (const Bytes& mad : mads) {
    ASSERT_EQ(mad.size(), kMadBytes);
    const CmMessage message = message_of(mad);
    EXPECT_EQ(differences(mad, emit_cm_message(message)), std::vector<size_t>{})
        << "attribute " << static_cast<int>(attribute_of(message.body));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, CmSamples,
                         testing::Values("cm_rping", "cm_rping_v6", "cm_ucmatose", "cm_udaddy",
                                         "cm_reject"),
                         [](const auto& sample) { return std::string(sample.param); });

TEST(CmSamplesDecoded, TheMessagesOfEachCaptureAreThoseOfTheIndex) {
  const Counts one_connection = {{CmAttribute::kReq, 1},
                                 {CmAttribute::kRep, 1},
                                 {CmAttribute::kRtu, 1},
                                 {CmAttribute::kDreq, 1},
                                 {CmAttribute::kDrep, 1}};
  Counts two_connections = one_connection;
  for (auto& [attribute, count] : two_connections) count = 2;
  EXPECT_EQ(count_by_attribute(mads_of("cm_rping")), one_connection);
  EXPECT_EQ(count_by_attribute(mads_of("cm_rping_v6")), one_connection);
  EXPECT_EQ(count_by_attribute(mads_of("cm_ucmatose")), two_connections);
  EXPECT_EQ(count_by_attribute(mads_of("cm_udaddy")),
            (Counts{{CmAttribute::kSidrReq, 1}, {CmAttribute::kSidrRep, 1}}));
  EXPECT_EQ(count_by_attribute(mads_of("cm_reject")),
            (Counts{{CmAttribute::kReq, 1}, {CmAttribute::kRej, 1}}));
  EXPECT_TRUE(mads_of("perftest_rc").empty()) << "its queue pairs were connected over TCP";
}

// Expect: the values that Wireshark shows, except for flow label and packet rate, which it reads
// eight bits too late (0x00896 and 9); the bytes are 89 6b b0 00.
TEST(CmSamplesDecoded, TheRequestOfRpingOverIpv4) {
  const CmMessage message = message_of(mads_of("cm_rping").at(0));
  EXPECT_EQ(message.transaction_id, 0x224514afdU);
  const auto& req = std::get<CmReq>(message.body);
  EXPECT_EQ(req.local_comm_id, CommId(0xfd4a5124U));
  EXPECT_EQ(req.service_id, ServiceId(0x1061c21U));
  EXPECT_EQ(req.local_ca_guid, 0x505400fffe770002U);
  EXPECT_EQ(req.local_qkey, QKey(0));
  EXPECT_EQ(req.local_qpn, Qpn(0x354));
  EXPECT_EQ(req.responder_resources, 1);
  EXPECT_EQ(req.initiator_depth, 1);
  EXPECT_EQ(req.remote_cm_response_timeout, 20);
  EXPECT_EQ(req.transport, CmTransport::kRc);
  EXPECT_FALSE(req.flow_control);
  EXPECT_EQ(req.starting_psn, Psn(0x923af8));
  EXPECT_EQ(req.local_cm_response_timeout, 20);
  EXPECT_EQ(req.retry_count, 7);
  EXPECT_EQ(req.pkey, kDefaultPKey);
  EXPECT_EQ(req.path_mtu, 3);
  EXPECT_FALSE(req.rdc_exists);
  EXPECT_EQ(req.rnr_retry_count, 7);
  EXPECT_EQ(req.max_cm_retries, 15);
  EXPECT_FALSE(req.srq);
  EXPECT_EQ(req.extended_transport, 0);
  EXPECT_EQ(req.primary.local.to_string(), "192.168.77.2");
  EXPECT_EQ(req.primary.remote.to_string(), "192.168.77.3");
  EXPECT_EQ(req.primary.flow_label, 0x896bbU);
  EXPECT_EQ(req.primary.packet_rate, 0);
  EXPECT_EQ(req.primary.traffic_class, 0);
  EXPECT_EQ(req.primary.hop_limit, 64);
  EXPECT_EQ(req.primary.sl, 0);
  EXPECT_EQ(req.primary.ack_timeout, 19);
  EXPECT_FALSE(req.has_alternate);
  EXPECT_EQ(req.ece.vendor_id, 0U);
  EXPECT_EQ(req.ece.attr_mod, 0U);
  const auto header = parse_ip_cm_header(req.private_data.view());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->ip_version, 4);
  EXPECT_EQ(header->source_port, 0xca26);
  EXPECT_EQ(header->source, req.primary.local);
  EXPECT_EQ(header->destination, req.primary.remote);
}

TEST(CmSamplesDecoded, TheIpHeaderOfRpingOverIpv6) {
  const CmMessage message = message_of(mads_of("cm_rping_v6").at(0));
  const auto& req = std::get<CmReq>(message.body);
  EXPECT_EQ(req.service_id, ServiceId(0x1061c22U));
  EXPECT_EQ(req.primary.local.to_string(), "fd77::2");
  EXPECT_EQ(req.primary.remote.to_string(), "fd77::3");
  const auto header = parse_ip_cm_header(req.private_data.view());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->ip_version, 6);
  EXPECT_EQ(header->source_port, 0xae5b);
  EXPECT_EQ(header->source, req.primary.local);
  EXPECT_EQ(header->destination, req.primary.remote);
}

TEST(CmSamplesDecoded, WhatFollowsTheRequestOfRping) {
  const auto mads = mads_of("cm_rping");
  ASSERT_EQ(mads.size(), 5U);
  const CmMessage reply = message_of(mads[1]);
  EXPECT_EQ(reply.transaction_id, 0x224514afdU);
  const auto& rep = std::get<CmRep>(reply.body);
  EXPECT_EQ(rep.local_comm_id, CommId(0xe7fe42b5U));
  EXPECT_EQ(rep.remote_comm_id, CommId(0xfd4a5124U));
  EXPECT_EQ(rep.local_qpn, Qpn(0x124));
  EXPECT_EQ(rep.starting_psn, Psn(0x85ac63));
  EXPECT_EQ(rep.responder_resources, 1);
  EXPECT_EQ(rep.initiator_depth, 1);
  EXPECT_EQ(rep.target_ack_delay, 15);
  EXPECT_EQ(rep.failover_accepted, 0);
  EXPECT_EQ(rep.rnr_retry_count, 7);
  EXPECT_FALSE(rep.srq);
  EXPECT_EQ(rep.local_ca_guid, 0x505400fffe770003U);

  const CmMessage ready = message_of(mads[2]);
  EXPECT_EQ(std::get<CmRtu>(ready.body).local_comm_id, rep.remote_comm_id);
  EXPECT_EQ(std::get<CmRtu>(ready.body).remote_comm_id, rep.local_comm_id);
  const CmMessage disconnect = message_of(mads[3]);
  EXPECT_EQ(std::get<CmDreq>(disconnect.body).remote_qpn, Qpn(0x124));
  const CmMessage answer = message_of(mads[4]);
  EXPECT_EQ(std::get<CmDrep>(answer.body).local_comm_id, rep.local_comm_id);
}

TEST(CmSamplesDecoded, TheRejectionOfAPortWithoutListener) {
  const CmMessage message = message_of(mads_of("cm_reject").at(1));
  const auto& rej = std::get<CmRej>(message.body);
  EXPECT_EQ(rej.local_comm_id, CommId(0));
  EXPECT_EQ(rej.remote_comm_id, CommId(0x14a5124U));
  EXPECT_EQ(rej.rejected, CmAnswered::kReq);
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidServiceId);
  EXPECT_EQ(rej.additional_info.size, 0);
}

// Wireshark does not take these apart.
TEST(CmSamplesDecoded, TheServiceResolutionOfUdaddy) {
  const auto mads = mads_of("cm_udaddy");
  const CmMessage request = message_of(mads.at(0));
  const auto& req = std::get<CmSidrReq>(request.body);
  EXPECT_EQ(req.request_id, CommId(0x24a5124U));
  EXPECT_EQ(req.pkey, kDefaultPKey);
  EXPECT_EQ(req.service_id, ServiceId(0x1111c06U));
  const auto header = parse_ip_cm_header(req.private_data.view());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->source_port, 0xbcb3);
  EXPECT_EQ(header->source.to_string(), "192.168.77.2");
  EXPECT_EQ(header->destination.to_string(), "192.168.77.3");

  const CmMessage reply = message_of(mads.at(1));
  const auto& rep = std::get<CmSidrRep>(reply.body);
  EXPECT_EQ(rep.request_id, req.request_id);
  EXPECT_EQ(rep.status, CmSidrStatus::kSuccess);
  EXPECT_EQ(rep.qpn, Qpn(0x128));
  EXPECT_EQ(rep.service_id, req.service_id);
  EXPECT_EQ(rep.qkey, QKey(0x1234567));
}

}  // namespace
}  // namespace urxe::test
