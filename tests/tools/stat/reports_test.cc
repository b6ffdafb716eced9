// SPDX-License-Identifier: BSD-2-Clause
// What `urxe stat` prints of given observations.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tools/stat/completion_queues.h"
#include "tools/stat/export.h"
#include "tools/stat/groups.h"
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
  report.outstanding = 37;
  report.window_used = 151'552;
  report.window = 1'048'576;
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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

TEST(StatTable, ALineAQueuePair) {
  const auto lines = lines_of(stat::table_report(observation(), nullptr));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("PROGRAM")) << lines[0];
  for (const char* part : {"ib_write?", "42", "0x000011", "RC", "RTS", "1.5M", "12us", "credits"}) {
    EXPECT_NE(lines[1].find(part), std::string::npos) << part << " in: " << lines[1];
  }
}

/// Also if all values are as long as they get.
TEST(StatTable, FitsEightyColumns) {
  Observation seen = observation();
  DeviceObservation& device = device_of(seen);
  device.pid = 4194304;
  device.program = "a_program_with_a_long_name";
  for (uint8_t reason = 0; reason < static_cast<uint8_t>(ErrorReason::kCount); ++reason) {
    QpReport& report = device.queue_pairs[0];
    report.type = IBV_QPT_XRC_SEND;
    report.state = IBV_QPS_RESET;
    report.round_trip_ns = 9'900'000;
    report.counters.sent_bytes = 999'000'000;
    report.counters.received_bytes = 9'900'000'000;
    report.counters.sends_completed = 999;
    report.counters.retransmitted_packets = 9900;
    report.cause.reason = static_cast<ErrorReason>(reason);
    for (const std::string& line : lines_of(stat::table_report(seen, nullptr))) {
      EXPECT_LE(line.size(), 80U) << line;
    }
    const std::string last = lines_of(stat::table_report(seen, nullptr))[1];
    EXPECT_TRUE(last.starts_with("a_program")) << last;
  }
}

TEST(StatTable, StoppedProcessesAreOld) {
  Observation seen = observation();
  device_of(seen).process_state = 'T';
  device_of(seen).published.ns = device_of(seen).observed.ns - 12'000'000'000;
  for (const std::string& table :
       {stat::table_report(seen, nullptr), stat::wide_report(seen, nullptr)}) {
    EXPECT_NE(table.find("stopped 12s"), std::string::npos) << table;
  }
  EXPECT_NE(stat::explain(device_of(seen), connected(0x11)).find("stopped, as of 12s ago"),
            std::string::npos);
  const auto json = nlohmann::json::parse(stat::json_report(seen));
  EXPECT_EQ(json["devices"][0]["stopped"], true);
}

TEST(StatTable, CompletionQueues) {
  Observation seen = observation();
  for (QpReport& report : device_of(seen).queue_pairs) {
    report.send_cq = {.number = 1, .waiting = 3, .capacity = 64};
    report.receive_cq = {.number = 2, .waiting = 5, .capacity = 128, .in_error = true};
  }
  device_of(seen).queue_pairs[1].receive_cq = device_of(seen).queue_pairs[1].send_cq;
  const auto lines = lines_of(stat::cq_report(seen));
  ASSERT_EQ(lines.size(), 3U);
  const std::regex first(R"(ib_write\? +urxe_eth0 +42 +1 +3 +64 +2)");
  const std::regex second(R"(ib_write\? +urxe_eth0 +42 +2 +5 +128 +1 +overrun)");
  EXPECT_TRUE(std::regex_match(lines[1], first)) << lines[1];
  EXPECT_TRUE(std::regex_match(lines[2], second)) << lines[2];
}

/// Two processes, of which the first has two devices.
Observation processes_and_devices() {
  Observation seen = observation();
  seen.devices.resize(3, seen.devices[0]);
  seen.devices[1].device = "urxe_eth1";
  seen.devices[2].pid = 43;
  seen.devices[2].queue_pairs.pop_back();
  return seen;
}

TEST(StatTable, SumsOfProcesses) {
  Observation seen = processes_and_devices();
  seen.devices[1].queue_pairs[0].cause.reason = ErrorReason::kNak;
  const auto lines = lines_of(stat::group_report(seen, nullptr, stat::GroupBy::kProcess));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(std::regex_match(lines[0], std::regex("PROGRAM +PID +DEVICES +QPS +FAILED.*STATE")));
  const std::regex first(R"(ib_write\? +42 +2 +4 +1 +6.0M +0 +40 +0)");
  const std::regex second(R"(ib_write\? +43 +1 +1 +0 +1.5M +0 +10 +0)");
  EXPECT_TRUE(std::regex_match(lines[1], first)) << lines[1];
  EXPECT_TRUE(std::regex_match(lines[2], second)) << lines[2];
}

TEST(StatTable, SumsOfDevices) {
  Observation seen = processes_and_devices();
  seen.devices[2].process_state = 'T';
  const auto lines = lines_of(stat::group_report(seen, nullptr, stat::GroupBy::kDevice));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(std::regex_match(lines[0], std::regex("DEVICE +PROCESSES +QPS +FAILED.*STATE")));
  const std::regex first(R"(urxe_eth0 +2 +3 +0 +4.5M +0 +30 +0 +1 stopped)");
  const std::regex second(R"(urxe_eth1 +1 +2 +0 +3.0M +0 +20 +0)");
  EXPECT_TRUE(std::regex_match(lines[1], first)) << lines[1];
  EXPECT_TRUE(std::regex_match(lines[2], second)) << lines[2];
}

TEST(StatTable, SumsOfRates) {
  const Observation before = processes_and_devices();
  Observation now = before;
  for (DeviceObservation& device : now.devices) {
    device.observed.ns += 2'000'000'000;
    for (QpReport& report : device.queue_pairs) report.counters.sent_bytes += 4'000'000;
  }
  now.devices[2].process_state = 'T';
  const auto lines = lines_of(stat::group_report(now, &before, stat::GroupBy::kProcess));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[1].find(" 8.0M "), std::string::npos) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("stopped 2.0s")) << lines[2];
}

/// Two processes of two PID namespaces.
TEST(StatTable, SumsOfProcessesWithOneNumber) {
  Observation seen = processes_and_devices();
  seen.devices[1].process_started = 7;
  const auto lines = lines_of(stat::group_report(seen, nullptr, stat::GroupBy::kProcess));
  EXPECT_EQ(lines.size(), 4U);
}

TEST(StatTable, SumsFitEightyColumns) {
  Observation seen = processes_and_devices();
  for (DeviceObservation& device : seen.devices) {
    device.pid = 4194304;
    device.program = device.device = "a_name_that_is_very_long_because_somebody_wanted_it_so";
    device.process_state = 'T';
    device.published.ns = -9'900'000'000;
  }
  for (const auto by : {stat::GroupBy::kProcess, stat::GroupBy::kDevice}) {
    for (const std::string& line : lines_of(stat::group_report(seen, nullptr, by))) {
      EXPECT_LE(line.size(), 80U) << line;
    }
  }
}

TEST(StatTable, AllColumns) {
  const auto lines = lines_of(stat::wide_report(observation(), nullptr));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("PROGRAM")) << lines[0];
  for (const char* part : {"ib_write?", "urxe_eth0", "192.0.2.1 0x000022", "42", "0x000011", "RC",
                           "RTS", "4096", "1.5M", " 37 ", "152k/1.0M", "12us", "credits"}) {
    EXPECT_NE(lines[1].find(part), std::string::npos) << part << " in: " << lines[1];
  }
}

TEST(StatTable, NoWindowWithoutAPath) {
  EXPECT_EQ(stat::window_of(QpReport{}), "");
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
  EXPECT_NE(stat::table_report(now, &before).find(" 2.0M "), std::string::npos);
  device_of(now).queue_pairs[0].counters.ack_timeouts += 6;
  device_of(now).queue_pairs[0].counters.rnr_naks_sent += 10;
  const auto trouble = stat::rates_of(before, device_of(now), device_of(now).queue_pairs[0]);
  ASSERT_TRUE(trouble);
  EXPECT_DOUBLE_EQ(trouble->timeouts, 3);
  EXPECT_DOUBLE_EQ(trouble->rnr_naks, 5);
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
  EXPECT_EQ(stat::short_time(999'900'000), "999.9ms");
  EXPECT_EQ(stat::short_time(999'960'000), "1.0s");
  EXPECT_EQ(stat::short_time(2'653'100'000), "2.7s");
  EXPECT_EQ(stat::short_time(9'960'000'000), "10s");
  EXPECT_EQ(stat::short_time(12'000'000'000), "12s");
}

TEST(StatTable, BriefTimes) {
  constexpr int64_t kSecond = 1'000'000'000;
  const std::pair<int64_t, const char*> cases[] = {{0, "0ns"},
                                                   {999, "999ns"},
                                                   {1500, "1.5us"},
                                                   {12'345, "12us"},
                                                   {999'600, "1.0ms"},
                                                   {99 * kSecond, "99s"},
                                                   {100 * kSecond, "1.7m"},
                                                   {3600 * kSecond, "1.0h"},
                                                   {47 * 3600 * kSecond, "47h"},
                                                   {72 * 3600 * kSecond, "3.0d"}};
  for (const auto& [ns, text] : cases) EXPECT_EQ(stat::brief_time(ns), text);
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
  cause.work_request = IBV_WR_RDMA_WRITE;
  cause.timeout = 14;
  cause.at.ns = 3'000'000'000;
  cause.dest_qpn = 0x22;
  cause.remote = connected(0x12).remote;
  device_of(seen).queue_pairs[1].last_error.reason = ErrorReason::kReceiverNotReady;
  device_of(seen).queue_pairs[1].last_error.syndrome = 0x21;
  device_of(seen).queue_pairs[1].trouble.reason = ErrorReason::kRnrNak;
  device_of(seen).queue_pairs[1].trouble.syndrome = 0x21;
  device_of(seen).queue_pairs[1].send_cq.number = 3;
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
  const auto& error = device["queue_pairs"][1]["error"];
  EXPECT_EQ(error["wr_id"], 7);
  EXPECT_EQ(error["request"], "RDMA_WRITE");
  EXPECT_DOUBLE_EQ(error["ack_timeout_us"], 67108.864);
  EXPECT_EQ(error["age_ms"], 2000);
  EXPECT_EQ(error["peer"]["qpn"], 0x22);
  EXPECT_EQ(device["queue_pairs"][1]["last_error"]["reason"], "rnr");
  EXPECT_DOUBLE_EQ(device["queue_pairs"][1]["last_error"]["rnr_timer_us"], 10);
  EXPECT_EQ(device["queue_pairs"][1]["last_trouble"]["reason"], "rnr-nak");
  EXPECT_DOUBLE_EQ(device["queue_pairs"][1]["last_trouble"]["rnr_timer_us"], 10);
  EXPECT_EQ(device["queue_pairs"][1]["send_cq"]["number"], 3);
  EXPECT_TRUE(device["queue_pairs"][0]["send_cq"].is_null());
  EXPECT_EQ(device["completion_queues"].size(), 1U);
  EXPECT_EQ(device["completion_queues"][0]["number"], 3);
  EXPECT_EQ(device["completion_queues"][0]["queue_pairs"], 1);
  EXPECT_EQ(device["stopped"], false);
  EXPECT_EQ(json["time"].get<std::string>().substr(0, 2), "20");
}

/// Each line is a comment, or a name, labels and a value; each metric has one HELP and one TYPE.
TEST(StatPrometheus, Format) {
  Observation seen = observation();
  device_of(seen).program = "a\"b\\c";
  device_of(seen).queue_pairs[0].send_cq = {.number = 5, .waiting = 3, .capacity = 64};
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
  const std::string text = stat::prometheus_report(seen);
  EXPECT_NE(text.find(R"(urxe_cq_waiting{pid="42",program="a\"b\\c",device="urxe_eth0",cq="5"} 3)"),
            std::string::npos)
      << text;
}

/// Processes of containers may have the same ID.
TEST(StatPrometheus, SeriesOfTwoPidNamespacesDiffer) {
  Observation seen = observation();
  seen.pid_namespace = seen.devices[0].pid_namespace = 4026531836;
  seen.devices.push_back(seen.devices[0]);
  seen.devices[1].pid_namespace = 4026532001;
  const std::string text = stat::prometheus_report(seen);
  std::istringstream lines(text);
  std::set<std::string> series;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_NE(text.find(R"({pid="42",program=)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({pid="42",pid_namespace="4026532001",program=)"), std::string::npos)
      << text;
}

TEST(StatTable, SumsOfProcessesOfTwoPidNamespaces) {
  Observation seen = observation();
  seen.devices.resize(2, seen.devices[0]);
  seen.devices[1].pid_namespace = 4026532001;
  EXPECT_EQ(lines_of(stat::group_report(seen, nullptr, stat::GroupBy::kProcess)).size(), 3U);
  const auto lines = lines_of(stat::group_report(seen, nullptr, stat::GroupBy::kDevice));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(std::regex_match(lines[1], std::regex("urxe_eth0 +2 +4 .*"))) << lines[1];
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
    EXPECT_EQ(failure_of(report) != nullptr, report.cause.reason != ErrorReason::kByApplication);
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
  for (const char* part : {"WRITE Only", "PSN 1193046,", "0x62", "remote access error",
                           "0x0000abcd", "64 B at 0x7f00", "192.0.2.1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

/// The NAK of a refused request is this side's; the receive that it has taken fails with it.
TEST(StatWhy, RefusedHere) {
  const Observation seen = observation();
  QpReport report = connected(0x11);
  report.cause.reason = ErrorReason::kRefusedRequest;
  report.cause.check = Check::kReceiveLength;
  report.cause.opcode = Opcode(Service::kRc, Operation::kSendOnly).value;
  report.cause.syndrome = 0x61;
  report.cause.status = IBV_WC_LOC_LEN_ERR;
  report.cause.wr_id = 9;
  const std::string text = stat::explain(seen.devices[0], report);
  for (const char* part : {"answered with AETH syndrome 0x61", "receive, wr_id 9", "LOC_LEN_ERR"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(StatWhy, LastError) {
  const Observation seen = observation();
  QpReport report = connected(0x11);
  report.last_error.reason = ErrorReason::kNak;
  report.last_error.syndrome = 0x62;
  report.last_error.at.ns = seen.devices[0].observed.ns - 12'000'000'000;
  const std::string text = stat::explain(seen.devices[0], report);
  for (const char* part : {"LAST ERROR", "the peer has refused", "12s ago", "RTS"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(StatWhy, LastTrouble) {
  const Observation seen = observation();
  QpReport report = connected(0x11);
  report.trouble.reason = ErrorReason::kRnrNak;
  report.trouble.syndrome = 0x2c;
  report.trouble.psn = Psn(77);
  report.trouble.opcode = Opcode(Service::kRc, Operation::kAcknowledge).value;
  report.trouble.at.ns = seen.devices[0].observed.ns - 12'000'000'000;
  const std::string text = stat::explain(seen.devices[0], report);
  for (const char* part :
       {"LAST TROUBLE", "asked to wait for 640.0us", "RC ACK, PSN 77", "12s ago"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_EQ(text.find("nothing went wrong"), std::string::npos) << text;
  EXPECT_EQ(failure_of(report), nullptr) << "it has not failed";
}

/// The newest of what went wrong.
TEST(StatTable, LastError) {
  const Observation seen = observation();
  const int64_t now = seen.devices[0].observed.ns;
  QpReport report = connected(0x11);
  EXPECT_EQ(stat::last_error_of(seen.devices[0], report), "");
  report.last_error.reason = ErrorReason::kNak;
  report.last_error.at.ns = now - 3'000'000'000;
  EXPECT_EQ(stat::last_error_of(seen.devices[0], report), "nak 3.0s");
  report.trouble.reason = ErrorReason::kRnrNak;
  report.trouble.at.ns = now - 2'000'000'000;
  EXPECT_EQ(stat::last_error_of(seen.devices[0], report), "rnr-nak 2.0s");
  report.cause.reason = ErrorReason::kByApplication;
  report.cause.at.ns = now;
  EXPECT_EQ(stat::last_error_of(seen.devices[0], report), "rnr-nak 2.0s");
  report.cause.reason = ErrorReason::kNoAnswer;
  report.cause.at.ns = now - 1'000'000'000;
  EXPECT_EQ(stat::last_error_of(seen.devices[0], report), "no-answer 1.0s");
}

TEST(StatWhy, Ended) {
  Observation seen = observation();
  EndedQueuePair ended{seen.devices[0], true, {}, connected(0x11)};
  ended.ended.ns = seen.devices[0].observed.ns - 12'000'000'000;
  ended.report.cause.reason = ErrorReason::kNak;
  const std::string text = stat::explain(ended);
  EXPECT_NE(text.find("its process has ended 12s ago"), std::string::npos) << text;
  EXPECT_NE(text.find("the peer has refused"), std::string::npos) << text;
  seen.ended.push_back(ended);
  const auto json = nlohmann::json::parse(stat::json_report(seen));
  EXPECT_EQ(json["ended"][0]["ended_ms"], 12000);
  EXPECT_EQ(json["ended"][0]["queue_pair"]["error"]["reason"], "nak");
  stat::select(seen, {.pid = 43, .device = {}, .qpn = {}});
  EXPECT_TRUE(seen.ended.empty());
}

TEST(StatWhy, NothingWentWrong) {
  const Observation seen = observation();
  EXPECT_EQ(failure_of(connected(0x11)), nullptr);
  EXPECT_NE(stat::explain(seen.devices[0], connected(0x11)).find("nothing went wrong"),
            std::string::npos);
}

TEST(StatNames, UnknownValues) {
  EXPECT_EQ(state_name(200), "?");
  EXPECT_EQ(type_name(200), "?");
  EXPECT_EQ(status_name(200), "?");
  EXPECT_EQ(status_name(IBV_WC_RETRY_EXC_ERR), "RETRY_EXC_ERR");
  EXPECT_EQ(work_request_name(IBV_WR_ATOMIC_WRITE), "ATOMIC_WRITE");
}

}  // namespace
}  // namespace urxe::test
