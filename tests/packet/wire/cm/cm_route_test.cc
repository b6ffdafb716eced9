// SPDX-License-Identifier: BSD-2-Clause
// The process that a MAD to QP1 is for.

#include <gtest/gtest.h>

#include <vector>

#include "packet/wire/cm/cm_message.h"
#include "tests/packet/wire/cm/cm_oracle.h"

namespace urxe::test {
namespace {

constexpr CommId kTheirs{0x11223344U};  // local to the sender
constexpr CommId kOurs{0x8899aabbU};
constexpr ServiceId kService{0xfedcba9876543210U};

MadRoute route_of_message(const CmBody& body) {
  return route_of(emit_cm_message({~uint64_t{0}, body}));
}

template <class M>
M message_with_ids() {
  M message;
  message.local_comm_id = kTheirs;
  message.remote_comm_id = kOurs;
  return message;
}

TEST(CmRoute, ARequestGoesToItsService) {
  CmReq req;
  req.local_comm_id = kTheirs;
  req.service_id = kService;
  EXPECT_EQ(route_of_message(req), MadRoute(ToService{kService}));
  CmSidrReq sidr;
  sidr.request_id = kTheirs;
  sidr.service_id = kService;
  EXPECT_EQ(route_of_message(sidr), MadRoute(ToService{kService}));
}

TEST(CmRoute, AServiceReplyGoesToItsRequest) {
  CmSidrRep rep;
  rep.request_id = kOurs;
  rep.service_id = kService;
  EXPECT_EQ(route_of_message(rep), MadRoute(ToCommunication{kOurs}));
}

TEST(CmRoute, AllElseGoesToTheCommunicationThatItNames) {
  const MadRoute expected(ToCommunication{kOurs});
  EXPECT_EQ(route_of_message(message_with_ids<CmMra>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmRej>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmRep>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmRtu>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmDreq>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmDrep>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmLap>()), expected);
  EXPECT_EQ(route_of_message(message_with_ids<CmApr>()), expected);
}

// A peer that gave up on a REP that never came, or refused a message without knowing the id, names
// only its own id.
TEST(CmRoute, ARejectionThatNamesNobodyGoesToEveryone) {
  auto rej = message_with_ids<CmRej>();
  rej.remote_comm_id = CommId(0);
  rej.reason = CmRejectReason::kTimeout;
  EXPECT_EQ(route_of_message(rej), MadRoute(ToEveryone{}));
}

TEST(CmRoute, OtherMessagesThatNameNobodyGoToNobody) {
  auto rtu = message_with_ids<CmRtu>();
  rtu.remote_comm_id = CommId(0);
  EXPECT_EQ(route_of_message(rtu), MadRoute(ToCommunication{CommId(0)}));
}

// Malformed in a part that the route does not depend on: the process that it is for counts it.
TEST(CmRoute, LooksAtNothingElse) {
  auto rej = message_with_ids<CmRej>();
  MadBytes mad = emit_cm_message({1, rej});
  mad[kMadHeaderBytes + 9] = 0xff;  // length of the additional information
  ASSERT_FALSE(parse_cm_message(mad));
  EXPECT_EQ(route_of(mad), MadRoute(ToCommunication{kOurs}));
}

TEST(CmRoute, WhatIsNoMessageGoesToEveryone) {
  const MadBytes mad = emit_cm_message({1, message_with_ids<CmRtu>()});
  for (const size_t byte : {0, 1, 2, 3, 16, 17}) {
    MadBytes other = mad;
    other[byte] ^= 0x80;
    EXPECT_EQ(route_of(other), MadRoute(ToEveryone{})) << byte;
  }
  for (size_t size = 0; size <= 300; ++size) {
    std::vector<uint8_t> bytes(mad.begin(), mad.end());
    bytes.resize(size);
    EXPECT_EQ(route_of(bytes) == MadRoute(ToEveryone{}), size != kMadBytes) << size;
  }
}

}  // namespace
}  // namespace urxe::test
