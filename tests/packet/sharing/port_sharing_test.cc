// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/sharing/directory/beacon.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/port_probe.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/packet/sharing/sharing_fixture.h"
#include "tests/support/isolation.h"

namespace urxe::test {
namespace {

/// A member process writes one for each packet that receive() returns, and a first one with psn =
/// kReady when its address is open.
struct Report {
  static constexpr uint32_t kReady = 0xffffffff;
  uint32_t slot;
  uint32_t qpn;
  uint32_t psn;
  bool valid;
  uint64_t forwarded_to_it;
};

/// A process that shares `address`, waits as an idle device does, and reports each received packet.
/// When it gets SIGTERM it leaves and ends.
ChildProcess start_member(const Gid& address) {
  return ChildProcess([address](int pipe) {
    struct sigaction interrupt {};
    static volatile sig_atomic_t is_to_end = 0;
    interrupt.sa_handler = [](int) { is_to_end = 1; };
    sigaction(SIGTERM, &interrupt, nullptr);
    Member member;
    if (!member.engine.open_address(address)) _exit(1);
    const uint32_t slot = member.slot.number();
    write_record(pipe, Report{slot, 0, Report::kReady, true, 0});
    while (is_to_end == 0) {
      // The signal may come just before poll(), which would then wait for ever.
      pollfd wait{member.engine.wait_fd(), POLLIN, 0};
      if (poll(&wait, 1, 50) < 0) return;
      for (const RxPacket& packet : member.engine.receive()) {
        const auto view = parse(packet);
        const Bth bth = view ? view->headers.bth : Bth{};
        write_record(pipe, Report{slot, bth.dest_qp.value(), bth.psn.value(), view.has_value(),
                                  member.sharing.counters().rx_forwarded});
      }
    }
  });
}

/// Members in processes of their own, and a sender to them.
class SharedPort : public ::testing::Test {
 protected:
  void SetUp() override { sender_.emplace(own_loopback(20), address_); }

  void add_member() {
    members_.push_back(start_member(address_));
    const auto ready = members_.back().read<Report>();
    ASSERT_TRUE(ready);
    slots_.push_back(ready->slot);
  }

  /// Sends to member `i` until it reports the packet. A packet may be lost while the kernel and the
  /// processes disagree on the order, but never reach another process.
  Report deliver(size_t i) {
    Report report{};
    const uint32_t psn = psn_++;
    EXPECT_TRUE(eventually([&] {
      sender_->send(slots_[i], psn);
      pollfd wait{members_[i].fd(), POLLIN, 0};
      while (poll(&wait, 1, 50) == 1) {
        report = members_[i].read<Report>().value_or(Report{});
        EXPECT_TRUE(report.valid);
        EXPECT_EQ(report.qpn, qpn_of(slots_[i])) << "a packet that is somebody else's";
        if (report.psn == psn) return true;
        if (report.slot != slots_[i]) return false;
      }
      return false;
    }));
    return report;
  }

  /// Sends from several source ports to all of `who`, until no packet needs forwarding.
  void expect_direct_delivery(const std::vector<size_t>& who) {
    std::map<size_t, uint64_t> forwarded;
    for (const size_t i : who) forwarded[i] = deliver(i).forwarded_to_it;
    EXPECT_TRUE(eventually([&] {
      bool direct = true;
      for (int port = 0; port < 8; ++port) {
        sender_->change_port();
        for (const size_t i : who) {
          const uint64_t so_far = deliver(i).forwarded_to_it;
          direct = direct && so_far == forwarded[i];
          forwarded[i] = so_far;
        }
      }
      return direct;
    })) << "packets still take the detour";
  }

  Gid address_ = own_loopback(21);
  std::optional<Sender> sender_;
  std::vector<ChildProcess> members_;
  std::vector<uint32_t> slots_;
  uint32_t psn_ = 0;
};

TEST_F(SharedPort, OneProcessGetsItsPackets) {
  add_member();
  expect_direct_delivery({0});
}

TEST_F(SharedPort, TwoProcessesGetTheirPackets) {
  add_member();
  add_member();
  expect_direct_delivery({0, 1});
}

TEST_F(SharedPort, TwoProcessesThatStartAtOnceGetTheirPackets) {
  members_.push_back(start_member(address_));
  members_.push_back(start_member(address_));
  for (const ChildProcess& member : members_) {
    const auto ready = member.read<Report>();
    ASSERT_TRUE(ready);
    slots_.push_back(ready->slot);
  }
  expect_direct_delivery({0, 1});
}

TEST_F(SharedPort, TenProcessesGetTheirPackets) {
  std::vector<size_t> all;
  for (size_t i = 0; i < 10; ++i) {
    add_member();
    all.push_back(i);
  }
  expect_direct_delivery(all);
}

TEST_F(SharedPort, WhenOneOfThreeIsKilledTheOthersGoOn) {
  for (int i = 0; i < 3; ++i) add_member();
  expect_direct_delivery({0, 1, 2});
  members_[0].kill();
  expect_direct_delivery({1, 2});
  sender_->send(slots_[0], 7);  // no process may report it
  expect_direct_delivery({1, 2});
  add_member();
  expect_direct_delivery({1, 2, 3});
}

TEST_F(SharedPort, AStoppedProcessDoesNotHoldUpOneThatJoins) {
  add_member();
  members_[0].signal(SIGSTOP);
  add_member();
  deliver(1);
  members_[0].signal(SIGCONT);
  expect_direct_delivery({0, 1});
}

TEST_F(TwoMembers, AMisdeliveredBatchIsForwardedWhole) {
  misdirect({a_.slot.number()}, 1);  // b's index: it has come second
  sender_.send(a_.slot.number(), 100, 20);
  EXPECT_TRUE(b_.engine.receive().empty());
  EXPECT_EQ(b_.sharing.counters().forwarded, 20U);
  const auto got = receive_packets(a_.engine, 20);
  ASSERT_EQ(got.size(), 20U);
  for (uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(got[i].headers);
    EXPECT_EQ(got[i].headers->bth.psn, Psn(100 + i));
    EXPECT_EQ(got[i].flow, sender_.flow());
  }
  EXPECT_EQ(a_.sharing.counters().rx_forwarded, 20U);
}

TEST_F(TwoMembers, MisdeliveryPutsTheProgramRight) {
  misdirect({a_.slot.number()}, 1);
  const uint64_t calibrations = this->calibrations();
  EXPECT_TRUE(eventually([&] {
    const uint64_t before = b_.sharing.counters().forwarded;
    sender_.send(a_.slot.number(), 1);
    settle();
    return b_.sharing.counters().forwarded == before;
  }));
  EXPECT_GT(this->calibrations(), calibrations);
}

/// Receives until the engine has had nothing to do for a while.
void drive_alone(UdpEngine& engine) {
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(engine.receive().empty());
    pollfd wait{engine.wait_fd(), POLLIN, 0};
    return poll(&wait, 1, 100) == 0;
  }));
}

// A third member joins while the others are stopped; they answer its probes when its search is
// over. Expect: a program that knows probes, and none for each answer.
TEST_F(TwoMembers, LateAnswersCostFewPrograms) {
  Member c;
  ASSERT_TRUE(c.engine.open_address(address_));
  drive_alone(c.engine);
  EXPECT_EQ(c.engine.counters().calibration.searches, 1U);
  settle();
  drive_alone(c.engine);
  EXPECT_LE(c.engine.counters().calibration.programs, 2U);
}

// Expect: no search and no program, for the kernel has one socket to choose from.
TEST(LoneMember, GivesTheKernelNoProgram) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  const Gid address = own_loopback(25);
  Member alone;
  ASSERT_TRUE(alone.engine.open_address(address));
  Sender sender(own_loopback(26), address);
  sender.send(alone.slot.number(), 1);
  EXPECT_EQ(receive_packets(alone.engine, 1).size(), 1U);
  sender.send((alone.slot.number() + 1) % kSlots, 2);  // nobody's
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(alone.engine.receive().empty());
    return alone.sharing.counters().not_owner == 1;
  }));
  EXPECT_EQ(alone.engine.counters().calibration.searches, 0U);
  EXPECT_EQ(alone.engine.counters().calibration.programs, 0U);
}

// Until its first queue pair is connected, a program has no address. Others look for it all the
// same. Expect: what comes from them does not keep waking it.
TEST(MemberWithoutAnAddress, TakesWhatOthersSend) {
  Member idle;
  Member other;
  pollfd wait{idle.engine.wait_fd(), POLLIN, 0};
  other.sharing.answer(idle.slot.number(), {1, 2, 3});
  ASSERT_EQ(poll(&wait, 1, 10000), 1);
  ASSERT_FALSE(idle.engine.begin_wait());
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(idle.engine.receive().empty());
    return poll(&wait, 1, 0) == 0;
  }));
}

TEST(MemberWithoutAnAddress, AnswersWhoLooksForItsDirectory) {
  Member idle;
  pollfd wait{idle.engine.wait_fd(), POLLIN, 0};
  const auto links = find_beacons("", geteuid(), 64);
  ASSERT_FALSE(links.empty());
  ASSERT_EQ(poll(&wait, 1, 10000), 1);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(idle.engine.receive().empty());
    return poll(&wait, 1, 0) == 0;
  }));
  EXPECT_TRUE(std::ranges::any_of(
      links, [](const BeaconLink& link) { return receive_directory(link).has_value(); }));
}

/// Whoever calls then stays in line. Expect: it wakes the program once, not for ever, and is
/// answered when another one calls.
TEST(MemberWithoutAnAddress, IsNotKeptAwakeByACallerThatItHasNoDescriptorFor) {
  Member idle;
  pollfd wait{idle.engine.wait_fd(), POLLIN, 0};
  const auto links = find_beacons("", geteuid(), 64);
  ASSERT_FALSE(links.empty());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool sleeps = eventually([&] {
    EXPECT_TRUE(idle.engine.receive().empty());
    return poll(&wait, 1, 0) == 0;
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(sleeps);
  const auto later = find_beacons("", geteuid(), 64);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(idle.engine.receive().empty());
    return poll(&wait, 1, 0) == 0;
  }));
  EXPECT_TRUE(std::ranges::any_of(
      links, [](const BeaconLink& link) { return receive_directory(link).has_value(); }));
}

struct PortOf {
  FileDescriptor holder;
  FileDescriptor fd;
  uint16_t port = 0;
};

/// A send socket on some port, which no other process of the host has.
PortOf open_some_port(const Gid& local) {
  for (uint32_t i = 0; i < 1000; ++i) {
    const auto port =
        static_cast<uint16_t>(0xc000 + (static_cast<uint32_t>(getpid()) + i) % 0x4000);
    auto holder = take_port(port);
    if (!holder) continue;
    auto fd = open_send_socket(local, port, holder->get(), {});
    if (fd) return {*std::move(holder), *std::move(fd), port};
  }
  ADD_FAILURE() << "no port";
  return {};
}

TEST(SendSocket, KeepsLittleWithoutAFilter) {
  const Gid address = own_loopback(27);
  const PortOf opened = open_some_port(address);
  const FileDescriptor& fd = opened.fd;
  socklen_t instructions = 0;
  ASSERT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_GET_FILTER, nullptr, &instructions), 0);
  EXPECT_EQ(instructions, 0U) << "the kernel has compiled a filter";
  const SocketAddress to(address, opened.port, 0);
  const PortOf outsider = open_some_port(own_loopback(28));
  std::vector<uint8_t> datagram(1000);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(sendto(outsider.fd.get(), datagram.data(), datagram.size(), 0, to.get(), to.size()),
              static_cast<ssize_t>(datagram.size()));
  }
  int kept = 0;
  while (recv(fd.get(), datagram.data(), datagram.size(), MSG_DONTWAIT) >= 0) ++kept;
  EXPECT_LE(kept, 3);
}

TEST_F(TwoMembers, APacketForNobodyIsDroppedAndCounted) {
  uint32_t nobody = 0;
  {
    const Slot gone = Slot::acquire().value();
    nobody = gone.number();
  }
  sender_.send(nobody, 1, 3);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(a_.engine.receive().empty());
    EXPECT_TRUE(b_.engine.receive().empty());
    return a_.sharing.counters().not_owner + b_.sharing.counters().not_owner == 3;
  }));
}

// Expect: of packets that came in one datagram each process gets its own.
TEST_F(TwoMembers, ADatagramWithPacketsOfBothIsTakenApart) {
  constexpr size_t kBytes = 32;
  std::vector<uint8_t> bytes;
  for (const Member* of : {&b_, &a_, &b_}) {
    std::vector<uint8_t> packet(kBytes);
    packet[5] = static_cast<uint8_t>(of->slot.number() >> 1);
    packet[6] = static_cast<uint8_t>(of->slot.number() << 7);
    bytes.insert(bytes.end(), packet.begin(), packet.end());
  }
  std::vector<RxPacket> own;
  EXPECT_TRUE(a_.sharing.sort({sender_.flow(), kBytes, bytes}, own));
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].bytes.data(), &bytes[kBytes]);
  EXPECT_EQ(own[0].bytes.size(), kBytes);
  EXPECT_EQ(a_.sharing.counters().forwarded, 2U);
}

TEST_F(TwoMembers, AForwardedPacketThatIsNotOursIsNotForwardedAgain) {
  const auto bytes = std::vector<uint8_t>(32, 0);
  std::vector<uint8_t> packet = bytes;
  packet[5] = static_cast<uint8_t>(b_.slot.number() >> 1);
  packet[6] = static_cast<uint8_t>(b_.slot.number() << 7);
  ASSERT_EQ(owner_slot(packet, a_.slot.number()), b_.slot.number());
  ASSERT_EQ(forward_packets(b_.slot.forward_fd(), a_.slot.directory().slot_name(a_.slot.number()),
                            {sender_.flow(), packet.size(), packet}),
            0);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(a_.engine.receive().empty());
    return a_.sharing.counters().not_owner == 1;
  }));
  settle();
  EXPECT_EQ(b_.sharing.counters().rx_forwarded, 0U);
}

TEST_F(TwoMembers, ForgedAnswersAndProbesChangeNothing) {
  for (uint32_t i = 0; i < 8; ++i) {
    b_.sharing.answer(a_.slot.number(), {12345, i, 77});
  }
  // Nobody answers a probe that comes from another address.
  const auto probe = encode_probe({0, 99, a_.slot.number()});
  const SocketAddress to(address_, kRoceUdpPort, 0);
  const PortOf outsider = open_some_port(own_loopback(24));
  ASSERT_EQ(sendto(outsider.fd.get(), probe.data(), probe.size(), 0, to.get(), to.size()),
            static_cast<ssize_t>(probe.size()));
  settle();
  sender_.send(a_.slot.number(), 1);
  sender_.send(b_.slot.number(), 2);
  EXPECT_EQ(receive_packets(a_.engine, 1).size(), 1U);
  EXPECT_EQ(receive_packets(b_.engine, 1).size(), 1U);
}

// Probes come from port 4791. Any user of the host can send from another port.
TEST_F(TwoMembers, AProbeFromAnotherPortGetsNoAnswer) {
  const Slot victim = Slot::acquire().value();
  const PortOf outsider = open_some_port(address_);
  const SocketAddress to(address_, kRoceUdpPort, 0);
  for (uint32_t i = 0; i < 8; ++i) {
    const auto probe = encode_probe({i, i, victim.number()});
    ASSERT_EQ(sendto(outsider.fd.get(), probe.data(), probe.size(), 0, to.get(), to.size()),
              static_cast<ssize_t>(probe.size()));
  }
  settle();
  uint8_t byte = 0;
  EXPECT_LT(recv(victim.forward_fd(), &byte, 1, MSG_DONTWAIT), 0) << "an answer has come";
}

TEST_F(TwoMembers, OpeningAnotherAddressLosesNothing) {
  constexpr size_t kPackets = 5;
  std::vector<uint8_t> packet(32, 0);
  store_be24(packet.data() + 5, qpn_of(a_.slot.number()));
  for (size_t i = 0; i < kPackets; ++i) {
    const PacketRun run{sender_.flow(), packet.size(), packet};
    ASSERT_EQ(
        forward_packets(b_.slot.forward_fd(), a_.slot.directory().slot_name(a_.slot.number()), run),
        0);
  }
  ASSERT_TRUE(a_.engine.open_address(own_loopback(29)));
  EXPECT_EQ(receive_packets(a_.engine, kPackets).size(), kPackets);
}

// Expect: a request that waits for a listener does not make every look for packets dearer.
TEST_F(TwoMembers, ARequestThatWaitsCostsFewSystemCalls) {
  CmReq req;
  req.service_id = ServiceId(0x4711);
  const auto mad = emit_cm_message({1, req});
  TxBatch batch(sender_.engine().batch_limits());
  Headers headers = send_only(kGsiQpn.value(), 1);
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.deth = {kGsiQKey, kGsiQpn};
  uint8_t* const payload = batch.append(sender_.flow(), headers, mad.size());
  ASSERT_NE(payload, nullptr);
  std::ranges::copy(mad, payload);
  batch.commit();
  sender_.engine().transmit(batch);
  ASSERT_TRUE(eventually([&] {
    (void)a_.engine.receive();
    (void)b_.engine.receive();
    return a_.sharing.has_waiting() || b_.sharing.has_waiting();
  }));
  UdpEngine& engine = a_.sharing.has_waiting() ? a_.engine : b_.engine;
  const uint64_t before = engine.counters().rx_syscalls;
  constexpr uint64_t kCalls = 320;
  for (uint64_t i = 0; i < kCalls; ++i) (void)engine.receive();
  EXPECT_LE(engine.counters().rx_syscalls - before, kCalls + kCalls / 4);
}

// While a newcomer knows only itself, chance decides which socket gets the packets of a source
// port. In five attempts, each with 8 ports or more, none goes astray with a chance of 2^-40.
constexpr int kAttempts = 5;

// Packets for others wait in a member's socket when it leaves. Expect: it forwards them.
TEST_F(SharedPort, NothingOfOthersIsLostWithAMemberThatLeaves) {
  uint64_t forwarded = 0;
  for (int attempt = 0; attempt < kAttempts && forwarded == 0; ++attempt) {
    auto leaver = std::make_unique<Member>();
    Member stayer;
    ASSERT_TRUE(stayer.engine.open_address(address_));
    ASSERT_TRUE(leaver->engine.open_address(address_));
    constexpr size_t kPorts = 12;  // the unix socket that they are forwarded to holds some ten
    for (uint32_t i = 0; i < kPorts; ++i) {
      sender_->send(stayer.slot.number(), i);
      sender_->change_port();
    }
    leaver.reset();
    EXPECT_EQ(receive_packets(stayer.engine, kPorts).size(), kPorts);
    forwarded = stayer.sharing.counters().rx_forwarded;
  }
  EXPECT_GT(forwarded, 0U) << "none had gone astray";
}

// As before, but the member stays and only closes the address.
TEST_F(SharedPort, NothingOfOthersIsLostWithAnAddressThatIsClosed) {
  uint64_t forwarded = 0;
  for (int attempt = 0; attempt < kAttempts && forwarded == 0; ++attempt) {
    Member leaver;
    Member stayer;
    ASSERT_TRUE(stayer.engine.open_address(address_));
    ASSERT_TRUE(leaver.engine.open_address(address_));
    constexpr size_t kPorts = 8;  // no more than the socket that they are forwarded to holds
    for (uint32_t i = 0; i < kPorts; ++i) {
      sender_->send(stayer.slot.number(), i);
      sender_->change_port();
    }
    leaver.engine.close_address(address_);
    EXPECT_EQ(receive_packets(stayer.engine, kPorts).size(), kPorts);
    EXPECT_FALSE(leaver.engine.is_joining());
    EXPECT_TRUE(leaver.engine.receive().empty());
    forwarded = stayer.sharing.counters().rx_forwarded;
  }
  EXPECT_GT(forwarded, 0U) << "none had gone astray";
}

// The last of four members gets the index of the first when that one leaves. Then the second
// leaves. Expect: it has given the kernel the new order, in most cases; a crowded machine may leave
// it no time.
TEST_F(SharedPort, AMemberThatLeavesPutsTheProgramRight) {
  bool direct = false;
  for (int attempt = 0; attempt < 6 && !direct; ++attempt) {
    members_.clear();
    slots_.clear();
    for (int i = 0; i < 4; ++i) add_member();
    expect_direct_delivery({0, 1, 2, 3});
    const uint64_t forwarded = deliver(3).forwarded_to_it;
    for (const size_t i : {0, 1}) {
      members_[i].signal(SIGTERM);
      EXPECT_FALSE(members_[i].read<Report>()) << "it has received something";
    }
    direct = true;
    for (int port = 0; port < 16; ++port) {
      sender_->change_port();
      direct = deliver(3).forwarded_to_it == forwarded && direct;
    }
  }
  EXPECT_TRUE(direct);
}

TEST_F(TwoMembers, AForkedChildLeavesWhatHasComeToItsParent) {
  sender_.send(a_.slot.number(), 1);
  sender_.send(a_.slot.number(), 2);
  ChildProcess child([this](int pipe) {
    a_.engine.abandon();
    std::destroy_at(&a_.engine);
    EXPECT_EQ(write(pipe, "d", 1), 1);
  });
  ASSERT_TRUE(child.read<char>());
  EXPECT_EQ(receive_packets(a_.engine, 2).size(), 2U);
}

TEST_F(TwoMembers, WhoHasLeftReceivesNothing) {
  sender_.send(a_.slot.number(), 1);
  a_.engine.leave();
  EXPECT_TRUE(a_.engine.receive().empty());
  sender_.send(b_.slot.number(), 2);
  EXPECT_EQ(receive_packets(b_.engine, 1).size(), 1U);
}

}  // namespace
}  // namespace urxe::test
