// SPDX-License-Identifier: BSD-2-Clause
// The text form of MADs.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/text/format.h"
#include "tests/packet/wire/cm/cm_oracle.h"

namespace urxe::test::format_mad_test {
namespace {

std::string line(const CmBody& body) {
  return format_mad(emit_cm_message({0xfedcba9876543210U, body}));
}

template <class M>
M message_with_ids() {
  M message;
  message.local_comm_id = CommId(0x12);
  message.remote_comm_id = CommId(0x34);
  return message;
}

const std::string ids = " tid 0xfedcba9876543210 local 0x12 remote 0x34";

Gid ipv4(uint8_t last) {
  const uint8_t address[4] = {192, 0, 2, last};
  return Gid::from_ipv4(address);
}

TEST(FormatMad, ARequest) {
  CmReq req;
  req.local_comm_id = CommId(0x12);
  req.service_id = ServiceId(0x1061234);
  req.local_qpn = Qpn(0x99);
  req.starting_psn = Psn(77);
  req.responder_resources = 4;
  req.initiator_depth = 5;
  req.primary.local = ipv4(1);
  req.primary.remote = ipv4(2);
  const std::string start = "CM REQ tid 0xfedcba9876543210 local 0x12 service 0x1061234 ";
  const std::string end = " qp 0x99 psn 77 resources 4 depth 5 path 192.0.2.1>192.0.2.2";
  EXPECT_EQ(line(req), start + "RC" + end);
  req.transport = CmTransport::kUc;
  EXPECT_EQ(line(req), start + "UC" + end);
  req.transport = CmTransport::kRd;
  EXPECT_EQ(line(req), start + "RD" + end);
  req.transport = CmTransport::kExtended;
  EXPECT_EQ(line(req), start + "extended" + end);
  req.extended_transport = 1;
  EXPECT_EQ(line(req), start + "XRC" + end);
  req.has_alternate = true;
  req.alternate.local = ipv4(3);
  req.alternate.remote = ipv4(4);
  req.ece = {0x15b3, 8};
  EXPECT_EQ(line(req), start + "XRC" + end + " alternate 192.0.2.3>192.0.2.4 ece 0x15b3/0x8");
}

TEST(FormatMad, AReply) {
  auto rep = message_with_ids<CmRep>();
  rep.local_qpn = Qpn(0x55);
  rep.starting_psn = Psn(5);
  rep.responder_resources = 1;
  rep.initiator_depth = 2;
  EXPECT_EQ(line(rep), "CM REP" + ids + " qp 0x55 psn 5 resources 1 depth 2");
  rep.local_qpn = Qpn(0);
  rep.local_eecn = Qpn(0x66);
  rep.ece.attr_mod = 1;
  EXPECT_EQ(line(rep),
            "CM REP" + ids + " qp 0x0 target 0x66 psn 5 resources 1 depth 2 ece 0x0/0x1");
}

TEST(FormatMad, WhatAnswersAMessage) {
  auto mra = message_with_ids<CmMra>();
  mra.answered = CmAnswered::kRep;
  mra.service_timeout = 19;
  EXPECT_EQ(line(mra), "CM MRA" + ids + " of REP timeout 19");
  auto rej = message_with_ids<CmRej>();
  EXPECT_EQ(line(rej), "CM REJ" + ids + " of REQ reason 28");
  rej.rejected = CmAnswered::kOther;
  EXPECT_EQ(line(rej), "CM REJ" + ids + " of other reason 28");
}

TEST(FormatMad, TheEndOfAConnection) {
  EXPECT_EQ(line(message_with_ids<CmRtu>()), "CM RTU" + ids);
  auto dreq = message_with_ids<CmDreq>();
  dreq.remote_qpn = Qpn(0x88);
  EXPECT_EQ(line(dreq), "CM DREQ" + ids + " qp 0x88");
  EXPECT_EQ(line(message_with_ids<CmDrep>()), "CM DREP" + ids);
}

TEST(FormatMad, AlternatePaths) {
  auto lap = message_with_ids<CmLap>();
  lap.remote_qpn = Qpn(0x88);
  lap.alternate.local = ipv4(3);
  lap.alternate.remote = ipv4(4);
  EXPECT_EQ(line(lap), "CM LAP" + ids + " qp 0x88 alternate 192.0.2.3>192.0.2.4");
  auto apr = message_with_ids<CmApr>();
  apr.status = CmAprStatus::kInvalidGid;
  EXPECT_EQ(line(apr), "CM APR" + ids + " status 8");
}

TEST(FormatMad, ServiceResolution) {
  CmSidrReq req;
  req.request_id = CommId(0x12);
  req.service_id = ServiceId(0x1110005);
  const std::string rest = " tid 0xfedcba9876543210 request 0x12 service 0x1110005";
  EXPECT_EQ(line(req), "CM SIDR_REQ" + rest);
  CmSidrRep rep;
  rep.request_id = req.request_id;
  rep.service_id = req.service_id;
  rep.status = CmSidrStatus::kNoQp;
  rep.qpn = Qpn(0x9);
  rep.qkey = QKey(0x1234567);
  EXPECT_EQ(line(rep), "CM SIDR_REP" + rest + " status 3 qp 0x9 qkey 0x1234567");
}

TEST(FormatMad, WhatIsRefusedAndWhy) {
  EXPECT_EQ(format_mad({}), "MAD refused: length");
  MadBytes mad = blank_mad(CmAttribute::kMra, 0);
  mad[1] = 3;
  EXPECT_EQ(format_mad(mad), "MAD class 0x03 method 0x03 attribute 0x0011 refused: class");
  mad = blank_mad(CmAttribute::kMra, 0xff);
  EXPECT_EQ(format_mad(mad), "MAD class 0x07 method 0x03 attribute 0x0011 refused: malformed");
}

TEST(FormatMad, FollowsTheLineOfADatagramToQp1) {
  PacketView view;
  view.headers.bth.opcode = Opcode{0x64};
  view.headers.bth.dest_qp = kGsiQpn;
  view.headers.bth.psn = Psn(5);
  view.headers.deth = {kGsiQKey, kGsiQpn};
  const MadBytes mad = emit_cm_message({0xfedcba9876543210U, message_with_ids<CmRtu>()});
  view.payload = mad;
  const std::string datagram = " psn 5 from 0x1 qkey 0x80010000 len 256";
  EXPECT_EQ(format(view), "UD SEND Only qp 0x1" + datagram + ": CM RTU" + ids);
  view.headers.bth.dest_qp = Qpn(2);
  EXPECT_EQ(format(view), "UD SEND Only qp 0x2" + datagram);
}

}  // namespace
}  // namespace urxe::test::format_mad_test
