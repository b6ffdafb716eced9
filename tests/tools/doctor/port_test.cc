// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/port.h"

#include <gtest/gtest.h>

#include "tools/doctor/soft_roce.h"

namespace urxe::doctor {
namespace {

constexpr uint8_t kLoopback[4] = {127, 0, 0, 1};
constexpr uint8_t kElsewhere[4] = {10, 0, 0, 1};
constexpr uint64_t kInode = 77;
constexpr uid_t kUser = 1000;

PortFacts one_socket(bool is_wildcard, uid_t user) {
  PortFacts facts;
  facts.user = kUser;
  facts.sockets = {{Gid::from_ipv4(kLoopback), is_wildcard, user, kInode}};
  return facts;
}

Findings judge(const PortFacts& facts) {
  return judge_port(facts, {Gid::from_ipv4(kLoopback)});
}

TEST(DoctorPort, ReadsTheKernelsTables) {
  const auto sockets = parse_udp_table(
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode ref pointer drops\n"
      "  290: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 "
      "1234 2 0000000000000000 0\n"
      "  291: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
      "5 2 0000000000000000 0\n"
      "  292: 0100007F:12B8 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 "
      "6 2 0000000000000000 0\n"
      "  293: 00000000000000000000000001000000:12B7 00000000000000000000000000000000:0000 07 "
      "00000000:00000000 00:00000000 00000000  1001        0 7 2 0000000000000000 0\n");
  ASSERT_EQ(sockets.size(), 3u);
  EXPECT_EQ(sockets[0].address.to_string(), "127.0.0.1");
  EXPECT_EQ(sockets[0].user, 1000u);
  EXPECT_EQ(sockets[0].inode, 1234u);
  EXPECT_FALSE(sockets[0].is_wildcard);
  EXPECT_TRUE(sockets[1].is_wildcard);
  EXPECT_EQ(sockets[2].address.to_string(), "::1");
  EXPECT_EQ(sockets[2].user, 1001u);
}

TEST(DoctorPort, SkipsLinesThatItCannotRead) {
  EXPECT_TRUE(parse_udp_table("").empty());
  EXPECT_TRUE(parse_udp_table("0: 0100007F:12B7\n").empty());
  EXPECT_TRUE(parse_udp_table("0: 0100:12B7 a b c d e 0 0 1 2\n0: x b c d e f g h i j\n").empty());
}

TEST(DoctorPort, IsFineIfNobodyHasIt) {
  EXPECT_EQ(judge(PortFacts{}), Findings{ok("port", "UDP port 4791 is free")});
}

TEST(DoctorPort, IsFineIfUrxesProgramsOfTheUserShareIt) {
  PortFacts facts = one_socket(false, kUser);
  facts.owners[kInode] = {123, "ib_send_lat", true};
  const Findings findings = judge(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "UDP port 4791 is shared with 1 urxe process of this user");
}

TEST(DoctorPort, AnotherProgramOfTheUserIsInTheWay) {
  PortFacts facts = one_socket(false, kUser);
  facts.owners[kInode] = {123, "nc", false};
  const Findings findings = judge(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kProblem);
  EXPECT_NE(findings[0].what.find("nc (process 123"), std::string::npos);
}

TEST(DoctorPort, AnotherUserIsInTheWay) {
  PortFacts facts = one_socket(false, 1001);
  EXPECT_EQ(judge(facts)[0].level, Level::kProblem);
  // Also if root can see that it is urxe.
  facts.owners[kInode] = {123, "ib_send_lat", true};
  EXPECT_EQ(judge(facts)[0].level, Level::kProblem);
}

TEST(DoctorPort, AddressesOfOthersDoNotMatter) {
  PortFacts facts = one_socket(false, 1001);
  facts.sockets[0].address = Gid::from_ipv4(kElsewhere);
  EXPECT_EQ(judge(facts)[0].level, Level::kOk);
  facts.sockets[0].is_wildcard = true;
  EXPECT_EQ(judge(facts)[0].level, Level::kProblem);
}

TEST(DoctorPort, AProgramThatCannotBeSeenMayBeOurs) {
  EXPECT_EQ(judge(one_socket(false, kUser))[0].level, Level::kNote);
}

TEST(DoctorPort, TellsTheKernelFromPrograms) {
  PortFacts facts = one_socket(true, 0);
  EXPECT_FALSE(facts.is_kernels(facts.sockets[0])) << "only root sees all programs";
  facts.user = 0;
  EXPECT_TRUE(facts.is_kernels(facts.sockets[0]));
  EXPECT_NE(judge(facts)[0].what.find("soft-RoCE"), std::string::npos);
  facts.owners[kInode] = {123, "nc", false};
  EXPECT_FALSE(facts.is_kernels(facts.sockets[0]));
}

TEST(DoctorSoftRoce, IsAProblemIfItHasThePort) {
  DeviceDescription eth0;
  eth0.ifname = "eth0";
  EXPECT_EQ(judge_soft_roce({}, {eth0}, true)[0].level, Level::kOk);
  EXPECT_EQ(judge_soft_roce({{"rxe0", "eth0"}}, {eth0}, false)[0].level, Level::kNote);
  EXPECT_EQ(judge_soft_roce({{"rxe0", "eth1"}}, {eth0}, false)[0].level, Level::kNote);
  const Finding taken = judge_soft_roce({{"rxe0", "eth1"}}, {eth0}, true)[0];
  EXPECT_EQ(taken.level, Level::kProblem);
  EXPECT_EQ(taken.advice, "rdma link delete rxe0");
}

}  // namespace
}  // namespace urxe::doctor
