// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ping/ping_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace urxe::doctor {
namespace {

constexpr const char* kFine =
    "presence\n"
    "device urxe_lo\n"
    "ping urxe_lo 127.0.0.1 took 5123 1000\n"
    "ping urxe_lo ::1 failed no acknowledgement comes back\n"
    "end\n";

Level worst(const Findings& findings) {
  Level level = Level::kOk;
  for (const Finding& finding : findings) level = std::max(level, finding.level);
  return level;
}

TEST(DoctorPingReport, ReadsWhatTheChildSays) {
  const PingReport report = parse_ping_report(kFine);
  EXPECT_TRUE(report.presence);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.devices, std::vector<std::string>{"urxe_lo"});
  ASSERT_EQ(report.pings.size(), 2u);
  EXPECT_EQ(report.pings[0].address, "127.0.0.1");
  EXPECT_DOUBLE_EQ(report.pings[0].round_trip_us, 5.123);
  EXPECT_EQ(report.pings[0].rounds, 1000u);
  EXPECT_EQ(report.pings[1].failure, "no acknowledgement comes back");
}

TEST(DoctorPingReport, ReadsWhatIsCutOff) {
  const std::string text = kFine;
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_LE(parse_ping_report(text.substr(0, size)).pings.size(), 2u);
  }
  EXPECT_FALSE(parse_ping_report(text.substr(0, text.size() - 4)).complete);
  EXPECT_FALSE(parse_ping_report("device urxe_lo\nend\n").presence);
}

TEST(DoctorPings, EachAddressHasAFinding) {
  ChildResult child;
  child.err = "urxe: something else\nurxe: UDP port 4791 on ::1 is taken\n";
  const Findings findings = judge_pings(parse_ping_report(kFine), child, {"urxe_lo"}, 2);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0],
            ok("self-ping", "urxe_lo 127.0.0.1: 5.1 us a round trip, the median of 1000"));
  EXPECT_EQ(findings[1].level, Level::kProblem);
  EXPECT_EQ(findings[1].advice, "urxe: UDP port 4791 on ::1 is taken");
}

TEST(DoctorPings, AddressesThatWereNotTriedAreTold) {
  const Findings findings = judge_pings(parse_ping_report(kFine), {}, {"urxe_lo"}, 5);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[2].level, Level::kNote);
  EXPECT_NE(findings[2].what.find("other 3 addresses"), std::string::npos);
}

TEST(DoctorPings, AChildThatFailsIsAProblem) {
  const PingReport report = parse_ping_report("presence\ndevice urxe_lo\n");
  ChildResult hung;
  hung.timed_out = true;
  hung.status = SIGKILL;
  Findings findings = judge_pings(report, hung, {"urxe_lo"}, 1);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].what.find("it hangs"), std::string::npos);
  ChildResult crashed;
  crashed.status = SIGSEGV;
  findings = judge_pings(report, crashed, {"urxe_lo"}, 1);
  EXPECT_NE(findings[0].what.find("signal 11"), std::string::npos);
  EXPECT_EQ(worst(judge_pings(report, {}, {"urxe_lo"}, 1)), Level::kProblem) << "no end";
  EXPECT_EQ(worst(judge_pings(parse_ping_report("error no library\n"), {}, {"urxe_lo"}, 1)),
            Level::kProblem);
}

TEST(DoctorPings, ADeviceThatIsNotSeenIsAProblem) {
  ChildResult child;
  child.err = "libibverbs: Warning: couldn't load driver 'liburxe-rdmav34.so'\n";
  const Findings findings =
      judge_pings(parse_ping_report("presence\nend\n"), child, {"urxe_lo"}, 1);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "libibverbs does not show urxe_lo");
  EXPECT_EQ(findings[0].advice, "libibverbs: Warning: couldn't load driver 'liburxe-rdmav34.so'");
}

TEST(DoctorPreload, TellsWhatIsInTheWay) {
  PingReport report;
  ChildResult child;
  child.err = "ERROR: ld.so: object '/x/liburxe-presence.so' from LD_PRELOAD cannot be preloaded\n";
  Findings findings = judge_preload(report, child, "");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kProblem);
  EXPECT_NE(findings[0].advice.find("cannot be preloaded"), std::string::npos);
  report.presence = true;
  EXPECT_EQ(judge_preload(report, {}, "").size(), 1u);
  findings = judge_preload(report, {}, "libother.so");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].level, Level::kNote);
}

}  // namespace
}  // namespace urxe::doctor
