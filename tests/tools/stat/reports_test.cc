// SPDX-License-Identifier: BSD-2-Clause
// What `urxe stat` prints of given observations.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tools/stat/export.h"
#include "tools/stat/names.h"
#include "tools/stat/rates.h"
#include "tools/stat/selection.h"
#include "tools/stat/table.h"
#include "tools/stat/why.h"

namespace urxe::test {
namespace {

QpReport connected(uint32_t qpn) {
  QpReport report;
  report.qpn = qpn;
  report.dest_qpn = 0x22;
  report.type = IBV_QPT_RC;
  report.state = IBV_QPS_RTS;
  report.has_peer = true;
  const uint8_t address[4] = {192, 0, 2, 1};
  report.remote = Gid::from_ipv4(address);
  report.mtu = 4096;
  report.counters.sent_bytes = 1'500'000;
  report.counters.sends_completed = 10;
  report.round_trip_ns = 12'300;
  report.waits_for = WaitReason::kCredits;
  return report;
}

Observation observation() {
  DeviceObservation device;
  device.pid = 42;
  device.program = "ib_write\x1b";
  device.device = "urxe_eth0";
  device.engine = "udp";
  device.observed.ns = 5'000'000'000;
  device.published.ns = 4'990'000'000;
  device.queue_pairs = {connected(0x11), connected(0x12)};
  Observation seen;
  seen.devices.push_back(device);
  return seen;
}

DeviceObservation& device_of(Observation& seen) {
  return seen.devices[0];
}

TEST(StatTable, ALineAQueuePair) {
  const std::string table = stat::table_report(observation(), nullptr);
  std::istringstream lines(table);
  std::string heading;
  std::string first;
  std::getline(lines, heading);
  std::getline(lines, first);
  EXPECT_TRUE(heading.starts_with("PROGRAM")) << heading;
  for (const char* part : {"ib_write?", "urxe_eth0", "192.0.2.1 0x000022", "42", "0x000011", "RC",
                           "RTS", "4096", "1.5M", "12.3us", "credits"}) {
    EXPECT_NE(first.find(part), std::string::npos) << part << " in: " << first;
  }
  EXPECT_EQ(std::ranges::count(table, '\n'), 3);
}

TEST(StatTable, RatesBetweenTwo) {
  const Observation before = observation();
  Observation now = observation();
  device_of(now).observed.ns += 2'000'000'000;
  device_of(now).queue_pairs[0].counters.sent_bytes += 4'000'000;
  const auto rates = stat::rates_of(before, device_of(now), device_of(now).queue_pairs[0]);
  ASSERT_TRUE(rates);
  EXPECT_DOUBLE_EQ(rates->sent_bytes, 2'000'000);
  EXPECT_DOUBLE_EQ(rates->messages, 0);
  EXPECT_NE(stat::table_report(now, &before).find("2.0M/s"), std::string::npos);
}

TEST(StatTable, NoRateOfANewQueuePair) {
  Observation before = observation();
  before.devices[0].queue_pairs.pop_back();
  Observation now = observation();
  device_of(now).observed.ns += 1;
  EXPECT_FALSE(stat::rates_of(before, device_of(now), device_of(now).queue_pairs[1]));
}

TEST(StatTable, ShortNumbers) {
  EXPECT_EQ(stat::short_number(0), "0");
  EXPECT_EQ(stat::short_number(999), "999");
  EXPECT_EQ(stat::short_number(999.6), "1.0k");
  EXPECT_EQ(stat::short_number(12345), "12k");
  EXPECT_EQ(stat::short_number(9.96e6), "10M");
  EXPECT_EQ(stat::short_time(999), "999ns");
  EXPECT_EQ(stat::short_time(1500), "1.5us");
  EXPECT_EQ(stat::short_time(2'500'000), "2.5ms");
}

TEST(StatSelection, ByEach) {
  Observation seen = observation();
  stat::select(seen, {.pid = 42, .device = "urxe_eth0", .qpn = 0x12});
  ASSERT_EQ(seen.devices.size(), 1U);
  ASSERT_EQ(device_of(seen).queue_pairs.size(), 1U);
  EXPECT_EQ(device_of(seen).queue_pairs[0].qpn, 0x12U);
  for (const stat::Selection& nothing : {stat::Selection{.pid = 43, .device = {}, .qpn = {}},
                                         stat::Selection{.pid = {}, .device = "urxe_lo", .qpn = {}},
                                         stat::Selection{.pid = {}, .device = {}, .qpn = 0x13}}) {
    Observation none = observation();
    stat::select(none, nothing);
    EXPECT_TRUE(none.devices.empty());
  }
}

TEST(StatJson, SaysAll) {
  Observation seen = observation();
  ErrorCause& cause = device_of(seen).queue_pairs[1].cause;
  cause.reason = ErrorReason::kNak;
  cause.status = IBV_WC_REM_ACCESS_ERR;
  cause.wr_id = 7;
  const auto json = nlohmann::json::parse(stat::json_report(seen));
  const auto& device = json["devices"][0];
  EXPECT_EQ(device["pid"], 42);
  EXPECT_EQ(device["age_ms"], 10);
  EXPECT_EQ(device["queue_pairs"][0]["qpn"], 0x11);
  EXPECT_EQ(device["queue_pairs"][0]["peer"]["gid"], "192.0.2.1");
  EXPECT_EQ(device["queue_pairs"][0]["waits_for"], "credits");
  EXPECT_EQ(device["queue_pairs"][0]["counters"]["sent_bytes"], 1'500'000);
  EXPECT_TRUE(device["queue_pairs"][0]["error"].is_null());
  EXPECT_EQ(device["queue_pairs"][1]["error"]["status"], "REM_ACCESS_ERR");
  EXPECT_EQ(device["queue_pairs"][1]["error"]["wr_id"], 7);
}

/// Each line is a comment, or a name, labels and a value; each metric has one HELP and one TYPE.
TEST(StatPrometheus, Format) {
  Observation seen = observation();
  device_of(seen).program = "a\"b\\c";
  std::istringstream lines(stat::prometheus_report(seen));
  std::set<std::string> typed;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("# TYPE ")) {
      const std::string name = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(typed.insert(name).second) << name;
    }
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(typed.contains(line.substr(0, line.find('{')))) << line;
    EXPECT_NE(line.find(R"(program="a\"b\\c")"), std::string::npos) << line;
    EXPECT_NE(line.find("} "), std::string::npos) << line;
  }
  EXPECT_TRUE(typed.contains("urxe_qp_sent_bytes_total"));
  EXPECT_TRUE(typed.contains("urxe_qp_info"));
}

/// Each reason has a sentence, and each check.
TEST(StatWhy, EveryReasonAndCheckIsExplained) {
  const Observation seen = observation();
  std::set<std::string> texts;
  for (uint8_t reason = 1; reason < static_cast<uint8_t>(ErrorReason::kCount); ++reason) {
    QpReport report = connected(0x11);
    report.state = IBV_QPS_ERR;
    report.cause.reason = static_cast<ErrorReason>(reason);
    const std::string text = stat::explain(seen.devices[0], report);
    EXPECT_EQ(text.find("nothing went wrong"), std::string::npos) << int{reason};
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_EQ(stat::has_failed(report), report.cause.reason != ErrorReason::kByApplication);
  }
  for (uint8_t check = 1; check < static_cast<uint8_t>(Check::kCount); ++check) {
    QpReport report = connected(0x11);
    report.cause.reason = ErrorReason::kRefusedRequest;
    report.cause.check = static_cast<Check>(check);
    const std::string text = stat::explain(seen.devices[0], report);
    EXPECT_NE(text.find("  check "), std::string::npos) << int{check};
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(StatWhy, NamesTheMemoryAndThePacket) {
  const Observation seen = observation();
  QpReport report = connected(0x11);
  report.cause.reason = ErrorReason::kRefusedRequest;
  report.cause.check = Check::kBounds;
  report.cause.opcode = Opcode(Service::kRc, Operation::kWriteOnly).value;
  report.cause.syndrome = 0x62;
  report.cause.psn = Psn(0x123456);
  report.cause.key = 0xabcd;
  report.cause.address = 0x7f00;
  report.cause.length = 64;
  const std::string text = stat::explain(seen.devices[0], report);
  for (const char* part : {"WRITE Only", "0x123456", "0x62", "remote access error", "0x0000abcd",
                           "64 B at 0x7f00", "192.0.2.1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(StatWhy, NothingWentWrong) {
  const Observation seen = observation();
  EXPECT_FALSE(stat::has_failed(connected(0x11)));
  EXPECT_NE(stat::explain(seen.devices[0], connected(0x11)).find("nothing went wrong"),
            std::string::npos);
}

TEST(StatNames, UnknownValues) {
  EXPECT_EQ(stat::state_name(200), "?");
  EXPECT_EQ(stat::type_name(200), "?");
  EXPECT_EQ(stat::status_name(200), "?");
  EXPECT_EQ(stat::status_name(IBV_WC_RETRY_EXC_ERR), "RETRY_EXC_ERR");
  EXPECT_EQ(stat::work_request_name(IBV_WR_ATOMIC_WRITE), "ATOMIC_WRITE");
}

}  // namespace
}  // namespace urxe::test
