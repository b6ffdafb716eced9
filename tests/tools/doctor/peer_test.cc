// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>
#include <csignal>

#include "tools/doctor/peer/cm_probe.h"
#include "tools/doctor/peer/path_probe.h"

namespace urxe::doctor {
namespace {

PeerAddress peer() {
  PeerAddress made;
  made.text = "192.0.2.1";
  return made;
}

ChildResult saying(const std::string& out) {
  ChildResult child;
  child.out = out;
  return child;
}

TEST(DoctorPath, TellsThePathMtuThatFollows) {
  const Finding finding = judge_path(peer(), {0, false, 1500, IBV_MTU_1024})[0];
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_NE(finding.what.find("1500 bytes"), std::string::npos);
  EXPECT_NE(finding.what.find("path MTU 1024 arrive"), std::string::npos);
}

TEST(DoctorPath, APathMtuThatDoesNotArriveIsAProblem) {
  const Finding finding = judge_path(peer(), {0, false, 9000, IBV_MTU_1024})[0];
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_NE(finding.what.find("path MTU 2048 do not arrive"), std::string::npos) << finding.what;
  EXPECT_NE(finding.what.find("path MTU 1024 do"), std::string::npos);
  EXPECT_NE(finding.advice.find("4184 bytes"), std::string::npos) << finding.advice;
  EXPECT_NE(finding.advice.find("to 1112"), std::string::npos);
}

// The defect: a way that takes less than the device sends was called fine.
TEST(DoctorPath, AWayThatIsNarrowerThanTheDeviceIsTold) {
  const Finding finding = judge_path(peer(), {0, false, 1500, IBV_MTU_1024, 9000})[0];
  EXPECT_EQ(finding.level, Level::kNote);
  EXPECT_NE(finding.what.find("path MTU 1024. That of this host's device is 4096"),
            std::string::npos)
      << finding.what;
  EXPECT_NE(finding.advice.find("ib_write_bw -m 1024"), std::string::npos) << finding.advice;
  EXPECT_NE(finding.advice.find("to 1500"), std::string::npos);
  EXPECT_EQ(judge_path(peer(), {0, false, 1500, IBV_MTU_1024, 1500})[0].level, Level::kOk);
}

TEST(DoctorPath, WhatTheyDoNotKnowIsNotCalledFine) {
  const Finding finding = judge_path(peer(), {0, false, 1500, std::nullopt})[0];
  EXPECT_EQ(finding.level, Level::kNote);
  EXPECT_NE(finding.what.find("whether those arrive is not known"), std::string::npos);
}

TEST(DoctorPath, TellsRefusalsApart) {
  const Finding refused = judge_path(peer(), {ECONNREFUSED, true, 1500})[0];
  EXPECT_EQ(refused.level, Level::kProblem);
  EXPECT_NE(refused.what.find("nobody has UDP port 4791"), std::string::npos);
  const Finding unreachable = judge_path(peer(), {ENETUNREACH, false, 0})[0];
  EXPECT_EQ(unreachable.level, Level::kProblem);
  EXPECT_NE(unreachable.advice.find("ip route get 192.0.2.1"), std::string::npos);
  const Finding filtered = judge_path(peer(), {EPERM, false, 0})[0];
  EXPECT_NE(filtered.advice.find("firewall of this host"), std::string::npos);
}

TEST(DoctorPath, ReadsAddresses) {
  const auto v4 = resolve_peer("192.0.2.1");
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->text, "192.0.2.1");
  EXPECT_EQ(v4->address.ss_family, AF_INET);
  const auto v6 = resolve_peer("2001:db8::1");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->text, "2001:db8::1");
}

// The defect: no answer to such an address was heard, so the way to it was a problem.
TEST(DoctorPath, ReadsAnIpv4AddressAsVerbsProgramsPrintIt) {
  const auto mapped = resolve_peer("::ffff:192.0.2.1");
  ASSERT_TRUE(mapped.has_value());
  EXPECT_EQ(mapped->text, "192.0.2.1");
  EXPECT_EQ(mapped->address.ss_family, AF_INET);
  EXPECT_EQ(mapped->size, resolve_peer("192.0.2.1")->size);
  EXPECT_EQ(reinterpret_cast<const sockaddr_in*>(&mapped->address)->sin_port, htons(4791));
}

TEST(DoctorPeer, TheMedianOfTheAnswersCounts) {
  const Finding finding = judge_peer("192.0.2.1", saying("answer 3000000\nanswer 1000000\n"
                                                         "answer 2000000\n"));
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_NE(finding.what.find("2.000 ms, the median of 3"), std::string::npos) << finding.what;
}

TEST(DoctorPeer, SilenceIsAProblem) {
  const Finding finding = judge_peer("192.0.2.1", saying("answer 3000000\nsilence\n"));
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_NE(finding.what.find("does not answer; 1 answers"), std::string::npos);
}

TEST(DoctorPeer, TheAdviceOnSilenceFitsWhatElseIsKnown) {
  const ChildResult silent = saying("silence\n");
  EXPECT_NE(judge_peer("h", silent).advice.find("firewall on the way"), std::string::npos);
  const std::string taken = judge_peer("h", silent, {true, ""}).advice;
  EXPECT_NE(taken.find("may have UDP port 4791"), std::string::npos) << taken;
  const std::string lossy = judge_peer("h", silent, {true, "loss=100%"}).advice;
  EXPECT_NE(lossy.find("unset URXE_FAULTS"), std::string::npos) << lossy;
  EXPECT_EQ(lossy.find("firewall"), std::string::npos) << lossy;
}

TEST(DoctorPeer, AProbeThatFailsIsAProblem) {
  EXPECT_NE(judge_peer("h", saying("failure there is no route\n")).what.find("there is no route"),
            std::string::npos);
  const std::string silent = judge_peer("h", saying("failure its neighbour is silent\n")).advice;
  EXPECT_NE(silent.find("`ping h`"), std::string::npos) << silent;
  EXPECT_EQ(silent.find("package"), std::string::npos) << silent;
  const std::string lacking = judge_peer("h", saying("failure librdmacm.so.1: no file\n")).advice;
  EXPECT_NE(lacking.find("package librdmacm1"), std::string::npos) << lacking;
  EXPECT_EQ(judge_peer("h", saying("")).level, Level::kProblem);
  EXPECT_EQ(judge_peer("h", saying("answer x\n")).level, Level::kProblem);
  ChildResult crashed = saying("answer 1000\n");
  crashed.status = SIGSEGV;
  EXPECT_EQ(judge_peer("h", crashed).level, Level::kProblem);
}

}  // namespace
}  // namespace urxe::doctor
