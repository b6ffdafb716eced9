// SPDX-License-Identifier: BSD-2-Clause
// QP1 of one address that processes share: which process gets which message.
#include "packet/sharing/gsi/gsi_sharing.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <variant>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/host/clock.h"
#include "packet/sharing/forwarding/forward_queue.h"
#include "packet/wire/cm/mad_agent.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/packet/sharing/sharing_fixture.h"
#include "tests/support/isolation.h"

namespace urxe::test::gsi_sharing_test {
namespace {

constexpr ServiceId kService{0x0000000001061d37};
constexpr ServiceId kOtherService{0x0000000001061d38};
constexpr uint32_t kIdIndex = 77;

CommId id_of(uint32_t slot) {
  return CommId((slot << kCommIdIndexBits) | kIdIndex);
}
CommId id_of(const Slot& slot) {
  return id_of(slot.number());
}
MadBytes request(ServiceId service) {
  CmReq req;
  req.local_comm_id = CommId(0x12345678);
  req.service_id = service;
  return emit_cm_message({1, req});
}
MadBytes ready_to_use(CommId to) {
  CmRtu rtu;
  rtu.local_comm_id = CommId(0x12345678);
  rtu.remote_comm_id = to;
  return emit_cm_message({1, rtu});
}
/// A message that names no communication.
MadBytes reject_of_nothing() {
  CmRej rej;
  rej.reason = CmRejectReason::kInvalidCommId;
  return emit_cm_message({1, rej});
}
MadBytes service_reply(CommId to) {
  CmSidrRep reply;
  reply.request_id = to;
  return emit_cm_message({1, reply});
}

Headers gsi_headers(uint32_t psn) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = kGsiQpn;
  headers.bth.psn = Psn(psn);
  headers.deth = {kGsiQKey, kGsiQpn};
  return headers;
}

/// The kernel gives b all packets to QP1. Messages for nobody in particular go to all of the user's
/// processes in the network, so also to those of another test.
class SharedGsi : public TwoMembers {
 protected:
  void SetUp() override {
    if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
    TwoMembers::SetUp();
    {
      const Slot gone = Slot::acquire().value();
      nobody_ = gone.number();
    }
    // b joined second. For the program, messages that name no slot, such as requests, are for slot
    // 0.
    misdirect({0, a_.slot.number(), b_.slot.number(), nobody_}, 1);
  }
  /// The MADs with PSNs from `psn` on, in one batch.
  void send(const std::vector<MadBytes>& mads, uint32_t psn = 0) {
    TxBatch batch(sender_.engine().batch_limits());
    for (const MadBytes& mad : mads) {
      uint8_t* const payload = batch.append(sender_.flow(), gsi_headers(psn++), mad.size());
      ASSERT_NE(payload, nullptr);
      std::ranges::copy(mad, payload);
      batch.commit();
    }
    sender_.engine().transmit(batch);
  }
  /// The PSNs that a and b receive, until there are `count` of them.
  struct Got {
    std::vector<uint32_t> a;
    std::vector<uint32_t> b;
  };
  static void take(UdpEngine& engine, std::vector<uint32_t>& psns) {
    for (const RxPacket& packet : engine.receive()) {
      const auto view = parse(packet);
      EXPECT_TRUE(view);
      if (view) psns.push_back(view->headers.bth.psn.value());
    }
  }
  Got receive(size_t count) {
    Got got;
    EXPECT_TRUE(eventually([&] {
      take(b_.engine, got.b);
      take(a_.engine, got.a);
      return got.a.size() + got.b.size() >= count;
    })) << "a "
        << got.a.size() << ", b " << got.b.size() << " of " << count;
    return got;
  }
  /// Neither receives anything more.
  void expect_quiet() {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(a_.engine.receive().empty());
      EXPECT_TRUE(b_.engine.receive().empty());
    }
  }
  using Psns = std::vector<uint32_t>;
  uint32_t nobody_ = 0;  ///< a slot
};

TEST_F(SharedGsi, AMessageGoesToTheProcessThatGaveTheIdOut) {
  const uint64_t calibrations = this->calibrations();
  send({ready_to_use(id_of(a_.slot)), ready_to_use(id_of(b_.slot)), service_reply(id_of(a_.slot))});
  const Got got = receive(3);
  EXPECT_EQ(got.a, (Psns{0, 2}));
  EXPECT_EQ(got.b, (Psns{1}));
  EXPECT_EQ(b_.sharing.counters().forwarded, 2U);
  EXPECT_EQ(this->calibrations(), calibrations) << "nothing is misdirected";
}

TEST_F(SharedGsi, AMessageForAnIdOfNobodyStays) {
  send({ready_to_use(id_of(nobody_))});
  EXPECT_EQ(receive(1).b, (Psns{0}));
  EXPECT_EQ(b_.sharing.counters().not_owner, 0U) << "somebody answers it";
}

TEST_F(SharedGsi, ARequestGoesToTheListenerOnAllAddresses) {
  ASSERT_TRUE(a_.sharing.listen(kService, std::nullopt));
  send({request(kService), request(kOtherService)});
  const Got got = receive(2);
  EXPECT_EQ(got.a, (Psns{0}));
  EXPECT_EQ(got.b, (Psns{1})) << "nobody listens: it stays, to be refused";
}

TEST_F(SharedGsi, ARequestGoesToTheListenerOnTheAddress) {
  ASSERT_TRUE(a_.sharing.listen(kService, address_));
  ASSERT_TRUE(a_.sharing.listen(kOtherService, own_loopback(99)));
  send({request(kService), request(kOtherService)});
  const Got got = receive(2);
  EXPECT_EQ(got.a, (Psns{0}));
  EXPECT_EQ(got.b, (Psns{1})) << "the listener is on another address";
}

TEST_F(SharedGsi, AListenerOnTheAddressGoesBeforeOneOnAll) {
  ASSERT_TRUE(b_.sharing.listen(kService, std::nullopt));
  ASSERT_TRUE(a_.sharing.listen(kService, address_));
  send({request(kService)});
  EXPECT_EQ(receive(1).a, (Psns{0}));
}

TEST_F(SharedGsi, ARequestForOnesOwnListenerStays) {
  ASSERT_TRUE(b_.sharing.listen(kService, std::nullopt));
  send({request(kService)});
  EXPECT_EQ(receive(1).b, (Psns{0}));
  EXPECT_EQ(b_.sharing.counters().forwarded, 0U);
}

TEST_F(SharedGsi, AnAgentsRequestGoesToItsProcess) {
  constexpr MadAgentKey kKey{0x04, 1, 0};
  MadBytes for_agent{};
  write_mad_header({.management_class = 0x04, .class_version = 1, .method = 1}, for_agent);
  MadBytes for_nobody = for_agent;
  for_nobody[1] = 0x09;
  MadBytes response = for_agent;
  response[3] = 0x81;
  store_be32(response.data() + 8, id_of(a_.slot).value());
  ASSERT_TRUE(a_.sharing.listen(agent_service(kKey), std::nullopt));
  send({for_agent, for_nobody, response});
  Got got = receive(3);
  std::ranges::sort(got.a);
  EXPECT_EQ(got.a, (Psns{0, 2}));
  EXPECT_EQ(got.b, (Psns{1})) << "nobody has that agent";
}

TEST_F(SharedGsi, WhoHasStoppedListeningGetsNothing) {
  ASSERT_TRUE(a_.sharing.listen(kService, std::nullopt));
  a_.sharing.stop_listening(kService, std::nullopt);
  send({request(kService)});
  EXPECT_EQ(receive(1).b, (Psns{0}));
}

TEST_F(SharedGsi, AnIdleListenerIsWokenByARequest) {
  ASSERT_TRUE(a_.sharing.listen(kService, std::nullopt));
  settle();
  send({request(kService)});
  receive_packets(b_.engine, 0);
  const auto got = receive_packets(a_.engine, 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].flow, sender_.flow());
  const MadBytes mad = request(kService);
  EXPECT_TRUE(std::ranges::equal(got[0].payload, mad));
}

TEST_F(SharedGsi, OneListenerForAServiceAndAnAddress) {
  ASSERT_TRUE(a_.sharing.listen(kService, std::nullopt));
  for (Member* member : {&a_, &b_}) {
    const auto again = member->sharing.listen(kService, std::nullopt);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().value, EADDRINUSE);
  }
  EXPECT_TRUE(b_.sharing.listen(kService, address_));
  EXPECT_TRUE(b_.sharing.listen(kOtherService, std::nullopt));
  a_.sharing.stop_listening(kService, std::nullopt);
  EXPECT_TRUE(b_.sharing.listen(kService, std::nullopt));
}

size_t open_descriptors() {
  namespace fs = std::filesystem;
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(SharedGsi, ThousandsOfServicesHaveNoDescriptorEach) {
  constexpr uint64_t kMany = 3000;
  const auto service = [](uint64_t i) { return ServiceId(kService.value() + i); };
  const size_t before = open_descriptors();
  for (uint64_t i = 0; i < kMany; ++i) ASSERT_TRUE(a_.sharing.listen(service(i), address_)) << i;
  EXPECT_LE(open_descriptors(), before + 4);
  for (const uint64_t i : {uint64_t{0}, kMany / 2, kMany - 1}) {
    send({request(service(i))}, static_cast<uint32_t>(i));
    EXPECT_EQ(receive(1).a, (Psns{static_cast<uint32_t>(i)}));
    ASSERT_FALSE(b_.sharing.listen(service(i), address_));
    EXPECT_TRUE(b_.sharing.listen(service(i), std::nullopt));
    a_.sharing.stop_listening(service(i), address_);
    EXPECT_TRUE(b_.sharing.listen(service(i), address_));
  }
}

TEST_F(SharedGsi, AKilledListenersNameIsFreeAtOnce) {
  ChildProcess listener([&](int pipe) {
    Member member;
    write_record(pipe, member.sharing.listen(kService, std::nullopt).has_value());
    pause();
  });
  ASSERT_TRUE(listener.read<bool>().value_or(false));
  ASSERT_FALSE(b_.sharing.listen(kService, std::nullopt));
  listener.kill();
  send({request(kService)});
  EXPECT_EQ(receive(1).b, (Psns{0})) << "nobody listens any more";
  EXPECT_TRUE(b_.sharing.listen(kService, std::nullopt));
}

// Expect: a request for the dead one's service does not go to the process that has its slot now.
TEST_F(SharedGsi, AKilledListenersSlotDoesNotGetItsRequests) {
  ChildProcess listener([&](int pipe) {
    Member member;
    if (!member.sharing.listen(kService, std::nullopt)) _exit(1);
    write_record(pipe, member.slot.number());
    pause();
  });
  const auto slot = listener.read<uint32_t>();
  ASSERT_TRUE(slot);
  listener.kill();
  const auto heir = open_named_socket(a_.slot.directory().services_name(*slot));
  ASSERT_TRUE(heir);
  send({request(kService)});
  EXPECT_EQ(receive(1).b, (Psns{0}));
}

TEST_F(SharedGsi, WhatIsForNobodyInParticularGoesToAll) {
  send({reject_of_nothing()});
  const Got got = receive(2);
  EXPECT_EQ(got.a, (Psns{0}));
  EXPECT_EQ(got.b, (Psns{0}));
}

TEST_F(SharedGsi, NobodyCanKeepUsBusyWithCopies) {
  constexpr uint32_t kTooMany = 4 * GsiSharing::kMaxToEveryone;
  // One by one, because messages that come together are copied together.
  for (uint32_t i = 0; i < kTooMany; ++i) send({reject_of_nothing()}, i);
  size_t here = 0;
  EXPECT_TRUE(eventually([&] {
    here += b_.engine.receive().size();
    return here == kTooMany;
  }));
  EXPECT_GE(b_.sharing.counters().gsi_not_copied, 1U);
}

TEST_F(SharedGsi, WhatWasPassedOnIsNotPassedOnAgain) {
  ASSERT_TRUE(b_.sharing.listen(kService, std::nullopt));
  TxBatch batch(TxBatch::Limits{});
  const MadBytes mad = request(kService);
  std::ranges::copy(mad, batch.append(sender_.flow(), gsi_headers(5), mad.size()));
  batch.commit();
  const auto bytes = batch.bytes(batch.messages()[0]);
  ASSERT_EQ(forward_packets(b_.slot.forward_fd(), a_.slot.directory().slot_name(a_.slot.number()),
                            {sender_.flow(), bytes.size(), bytes}),
            0);
  EXPECT_EQ(receive(1).a, (Psns{5}));
  EXPECT_EQ(a_.sharing.counters().forwarded, 0U);
  expect_quiet();
}

TEST_F(SharedGsi, WhatIsNoMadStays) {
  TxBatch batch(sender_.engine().batch_limits());
  append(batch, sender_.flow(), gsi_headers(1), 12);
  Headers immediate = gsi_headers(2);
  immediate.bth.opcode = Opcode(Service::kUd, Operation::kSendOnlyImm);
  append(batch, sender_.flow(), immediate, 256);
  sender_.engine().transmit(batch);
  receive(2);
  EXPECT_EQ(a_.sharing.counters().forwarded + b_.sharing.counters().forwarded, 0U);
}

// The kernel lets ten datagrams wait at a unix socket, unless it is told otherwise. What waits for
// too long is lost, and counted: the machine may give this process no time for so long.
TEST_F(SharedGsi, AStormOfRequestsLosesNothing) {
  constexpr uint32_t kStorm = 500;
  constexpr uint32_t kGust = 50;
  ASSERT_TRUE(a_.sharing.listen(kService, std::nullopt));
  ASSERT_TRUE(a_.sharing.listen(kOtherService, std::nullopt));
  const auto lost = [this] { return b_.sharing.counters().forward_lost; };
  std::vector<uint32_t> at_a;
  for (uint32_t sent = 0; sent < kStorm; sent += kGust) {
    const Instant begin = clock_now();
    const uint64_t lost_before = lost();
    for (uint32_t i = 0; i < kGust; ++i) {
      send({request(i % 2 == 0 ? kService : kOtherService)}, sent + i);
      EXPECT_TRUE(b_.engine.receive().empty());
    }
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(b_.engine.receive().empty());
      take(a_.engine, at_a);
      return at_a.size() + lost() >= sent + kGust;
    })) << at_a.size();
    if (clock_now() - begin < ForwardQueue::kMaxWait) {
      EXPECT_EQ(lost(), lost_before);
    }
  }
  std::ranges::sort(at_a);
  EXPECT_EQ(std::ranges::adjacent_find(at_a), at_a.end());
  EXPECT_LT(at_a.back(), kStorm);
  EXPECT_EQ(at_a.size() + lost(), kStorm);
}

// Nothing is misdirected, but one of the two may be stopped. Expect: another try of the same peer
// can reach the other.
TEST_F(TwoMembers, RequestsOfOnePeerReachEither) {
  constexpr size_t kRequests = 64;
  for (uint32_t psn = 0; psn < kRequests; ++psn) {
    TxBatch batch(sender_.engine().batch_limits());
    const MadBytes mad = request(kService);
    std::ranges::copy(mad, batch.append(sender_.flow(), gsi_headers(psn), mad.size()));
    batch.commit();
    sender_.engine().transmit(batch);
  }
  size_t a = 0;
  size_t b = 0;
  EXPECT_TRUE(eventually([&] {
    a += a_.engine.receive().size();
    b += b_.engine.receive().size();
    return a + b == kRequests;
  }));
  EXPECT_GT(a, 0U);
  EXPECT_GT(b, 0U);
}

// A peer completes one connection, then asks for the next. Another process has received both
// messages, and passes them on to different sockets.
TEST_F(SharedGsi, ARequestDoesNotOvertakeWhatWasPassedOnBefore) {
  ASSERT_TRUE(a_.sharing.listen(kService, address_));
  const auto passes_on = [&](uint64_t count) {
    return eventually([&] {
      EXPECT_TRUE(b_.engine.receive().empty());
      return b_.sharing.counters().forwarded == count;
    });
  };
  send({request(kService)});
  EXPECT_TRUE(passes_on(1));
  send({ready_to_use(id_of(a_.slot)), request(kService)}, 1);
  EXPECT_TRUE(passes_on(3));
  const Got got = receive(3);
  ASSERT_EQ(got.a.size(), 3U);
  EXPECT_EQ(got.a.back(), 2U);
}

// The same, but the kernel hands the first message to the process that it is for, and requests to
// either: some are passed on. Expect: nobody sleeps while such a request waits.
TEST_F(SharedGsi, ARequestDoesNotOvertakeWhatHasComeBefore) {
  {
    const FileDescriptor extra = open_receive_socket(address_, {}).value();
    const std::vector<GroupMember> members = {{a_.slot.number(), 0}, {b_.slot.number(), 1}};
    ASSERT_TRUE(attach_reuseport_program(extra.get(), members));
  }
  ASSERT_TRUE(a_.sharing.listen(kService, address_));
  int waited = 0;
  for (int round = 0; round < 40; ++round) {
    send({ready_to_use(id_of(a_.slot))});
    pollfd own{a_.engine.receive_fd(address_), POLLIN, 0};
    ASSERT_EQ(poll(&own, 1, 20000), 1);
    send({request(kService)}, 1);
    Psns got;
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(b_.engine.receive().empty());
      take(a_.engine, got);
      if (got.size() == 1 && a_.engine.begin_wait()) ++waited;
      return got.size() == 2;
    }));
    EXPECT_EQ(got, (Psns{0, 1}));
  }
  EXPECT_GT(waited, 0);
}

TEST_F(TwoMembers, TheKernelHandsAnswersToTheProcessTheyAreFor) {
  CmRep rep;
  CmRej rej;
  CmDreq dreq;
  uint32_t psn = 0;
  for (Member* member : {&a_, &b_}) {
    rep.remote_comm_id = rej.remote_comm_id = dreq.remote_comm_id = id_of(member->slot);
    for (const CmBody& body : {CmBody(rep), CmBody(rej), CmBody(dreq)}) {
      TxBatch batch(sender_.engine().batch_limits());
      const MadBytes mad = emit_cm_message({1, body});
      std::ranges::copy(mad, batch.append(sender_.flow(), gsi_headers(psn++), mad.size()));
      batch.commit();
      sender_.engine().transmit(batch);
    }
    EXPECT_EQ(receive_packets(member->engine, 3).size(), 3U);
  }
  EXPECT_EQ(a_.sharing.counters().forwarded + b_.sharing.counters().forwarded, 0U);
}

/// Requests for a service that no process listens for. The test keeps the time.
class Unclaimed : public ::testing::Test {
 protected:
  bool request() {
    return sharing_.pass_on({GsiOwner::Kind::kService, kService.value()}, packets_, now_);
  }
  Slot self_ = Slot::acquire().value();
  Slot other_ = Slot::acquire().value();
  SharingCounters counters_;
  // An interface that no device has.
  ForwardQueue queue_{self_.forward_fd(), counters_};
  ForwardQueue others_queue_{other_.forward_fd(), counters_};
  GsiSharing sharing_{self_.directory(), self_.number(), 0x7ffffffe, queue_, counters_};
  GsiSharing others_{other_.directory(), other_.number(), 0x7ffffffe, others_queue_, counters_};
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(280, 0x5a);
  PacketRun packets_{Flow{.source = Gid::from_ipv4(kSource), .destination = {}}, 280, bytes_};
  Instant now_{1000000000};

 private:
  static constexpr uint8_t kSource[4] = {192, 0, 2, 0};
};

TEST_F(Unclaimed, AreThisProcesssOnceItListens) {
  EXPECT_FALSE(request());
  EXPECT_TRUE(sharing_.retry(now_ + milliseconds(50)).empty());
  ASSERT_TRUE(sharing_.directory().listen(kService, std::nullopt));
  const auto ours = sharing_.retry(now_ + milliseconds(51));
  ASSERT_EQ(ours.size(), 1U);
  EXPECT_EQ(ours[0].bytes, bytes_);
  EXPECT_EQ(ours[0].segment_size, 280U);
  EXPECT_FALSE(sharing_.has_waiting());
}

TEST_F(Unclaimed, GoToAnotherProcessOnceItListens) {
  EXPECT_FALSE(request());
  ASSERT_TRUE(others_.directory().listen(kService, std::nullopt));
  EXPECT_TRUE(sharing_.retry(now_ + milliseconds(51)).empty());
  EXPECT_FALSE(sharing_.has_waiting());
  EXPECT_EQ(counters_.forwarded, 1U);
}

TEST_F(Unclaimed, StayInTheEndToBeRefused) {
  EXPECT_FALSE(request());
  EXPECT_TRUE(sharing_.retry(now_ + GsiSharing::kMaxUnclaimedWait - milliseconds(1)).empty());
  EXPECT_EQ(sharing_.retry(now_ + GsiSharing::kMaxUnclaimedWait).size(), 1U);
  EXPECT_FALSE(sharing_.has_waiting());
}

// Nobody would refuse it, so there is nothing to wait for.
TEST_F(Unclaimed, AnAgentsRequestDoesNotWait) {
  const GsiOwner owner{GsiOwner::Kind::kAgent, kService.value()};
  EXPECT_TRUE(sharing_.pass_on(owner, packets_, now_));
  EXPECT_FALSE(sharing_.has_waiting());
  ASSERT_TRUE(others_.directory().listen(kService, std::nullopt));
  EXPECT_FALSE(sharing_.pass_on(owner, packets_, now_));
  EXPECT_EQ(counters_.forwarded, 1U);
}

TEST_F(Unclaimed, NoMoreWaitThanMay) {
  for (size_t i = 0; i < GsiSharing::kMaxUnclaimed; ++i) {
    packets_.flow.source.bytes[15] = static_cast<uint8_t>(i % 16);
    EXPECT_FALSE(request());
  }
  packets_.flow.source.bytes[15] = 16;
  EXPECT_TRUE(request()) << "refused at once";
}

// The kernel may join 64 requests to one datagram.
TEST_F(Unclaimed, CountAsManyAsTheyAre) {
  bytes_.assign(size_t{280} * 64, 0x5a);
  packets_.bytes = bytes_;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(request());
  EXPECT_EQ(counters_.gsi_over_quota, 64U) << "the fifth";
  for (uint8_t source = 1; source < 4; ++source) {
    packets_.flow.source.bytes[15] = source;
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(request());
  }
  packets_.flow.source.bytes[15] = 4;
  EXPECT_TRUE(request()) << "1024 wait";
  EXPECT_EQ(sharing_.retry(now_ + GsiSharing::kMaxUnclaimedWait).size(), 16U);
  EXPECT_FALSE(request()) << "there is room again";
}

// Expect: a flood from one address is lost, and others' requests wait as ever.
TEST_F(Unclaimed, OneAddressHasItsShare) {
  for (size_t i = 0; i < GsiSharing::kMaxUnclaimedOfOne; ++i) EXPECT_FALSE(request());
  EXPECT_EQ(counters_.gsi_over_quota, 0U);
  for (size_t i = 0; i < 10000; ++i) EXPECT_FALSE(request());
  EXPECT_EQ(counters_.gsi_over_quota, 10000U);
  packets_.flow.source.bytes[15] = 1;
  EXPECT_FALSE(request());
  ASSERT_TRUE(sharing_.directory().listen(kService, std::nullopt));
  EXPECT_EQ(sharing_.retry(now_).size(), GsiSharing::kMaxUnclaimedOfOne + 1);
}

TEST_F(Unclaimed, AHostWithManyIpv6AddressesHasOneShare) {
  const uint8_t address[16] = {0x20, 1, 0xd, 0xb8};
  packets_.flow.source = Gid::from_ipv6(address);
  for (size_t i = 0; i < 10 + GsiSharing::kMaxUnclaimedOfOne; ++i) {
    packets_.flow.source.bytes[15] = static_cast<uint8_t>(i);
    packets_.flow.source.bytes[14] = static_cast<uint8_t>(i >> 8);
    EXPECT_FALSE(request());
  }
  EXPECT_EQ(counters_.gsi_over_quota, 10U);
  packets_.flow.source.bytes[7] = 1;
  EXPECT_FALSE(request());
  EXPECT_EQ(counters_.gsi_over_quota, 10U);
}

}  // namespace
}  // namespace urxe::test::gsi_sharing_test
