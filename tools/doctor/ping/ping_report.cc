// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ping/ping_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace urxe::doctor {
namespace {

constexpr const char* kPreload = "preload";
constexpr const char* kPing = "self-ping";

std::string rest_of(std::istream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

PingResult parse_ping(std::istringstream& words) {
  PingResult ping;
  std::string outcome;
  words >> ping.device >> ping.address >> outcome;
  if (outcome == "took") {
    int64_t ns = 0;
    words >> ns >> ping.rounds;
    ping.round_trip_us = static_cast<double>(ns) / 1000;
  } else {
    ping.failure = rest_of(words);
  }
  return ping;
}

/// The first line with `text`; empty: there is none.
std::string line_with(const std::string& lines, const std::string& text) {
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    if (line.find(text) != std::string::npos) return line;
  }
  return "";
}

/// The line in which urxe, or libibverbs, says why; of several the one about `subject`.
std::string reason(const std::string& err, const std::string& subject) {
  std::istringstream lines(err);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("urxe: ") && !line.starts_with("libibverbs: ")) continue;
    if (!subject.empty() && line.find(subject) != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

/// How a child has ended that did not come to its end; empty: it did.
std::string failure_of(const ChildResult& child, bool complete) {
  if (child.start_error != 0) {
    return std::string("it cannot be started: ") + std::strerror(child.start_error);
  }
  if (child.timed_out) return "it hangs, and was ended";
  if (WIFSIGNALED(child.status)) {
    return fmt::format("it was ended by signal {}", WTERMSIG(child.status));
  }
  if (WEXITSTATUS(child.status) != 0) {
    return fmt::format("it ended with {}", WEXITSTATUS(child.status));
  }
  return complete ? "" : "it ended early";
}

std::string or_else(const std::string& text, const std::string& other) {
  return text.empty() ? other : text;
}

/// Of a ping that failed, although the program that pings does not complain.
std::string advice_for(const std::string& faults) {
  if (!faults.empty()) return "unset URXE_FAULTS, which makes programs lose or change packets";
  return "a firewall on this host may drop UDP port 4791: see the checks of the firewall and the "
         "port";
}

Finding judge(const PingResult& ping, const std::string& err, const std::string& faults) {
  const std::string subject = ping.device + " " + ping.address;
  if (ping.failure.empty()) {
    return ok(kPing, fmt::format("{}: {:.1f} us a round trip, the median of {}", subject,
                                 ping.round_trip_us, ping.rounds));
  }
  return problem(kPing, subject + ": " + ping.failure,
                 or_else(reason(err, ping.address), advice_for(faults)));
}

}  // namespace

PingReport parse_ping_report(const std::string& out) {
  PingReport report;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == kPresenceWord) report.presence = true;
    if (word == kErrorWord) report.error = rest_of(words);
    if (word == kDeviceWord) report.devices.push_back(rest_of(words));
    if (word == kPingWord) report.pings.push_back(parse_ping(words));
    if (word == kEndWord) report.complete = true;
  }
  return report;
}

Findings judge_preload(const PingReport& report, const ChildResult& child,
                       const std::string& others) {
  Findings findings;
  const std::string linker = line_with(child.err, "ld.so:");
  if (report.presence) {
    findings.push_back(ok(kPreload, "liburxe-presence.so is loaded into programs"));
  } else {
    const std::string ended = failure_of(child, true);
    findings.push_back(problem(
        kPreload,
        "liburxe-presence.so is not loaded into programs" + (ended.empty() ? "" : ": " + ended),
        or_else(linker, "install urxe, or build it, as a whole, where all users may read it")));
  }
  if (!others.empty()) {
    findings.push_back(note(kPreload, "LD_PRELOAD also has " + others,
                            "if devices are missing, try without: what replaces open() or read() "
                            "may hide them"));
  }
  if (report.presence && !linker.empty()) {
    findings.push_back(note(kPreload, "the dynamic linker complains: " + linker));
  }
  return findings;
}

Findings judge_pings(const PingReport& report, const ChildResult& child,
                     const std::vector<std::string>& expected, size_t addresses,
                     const std::string& faults) {
  Findings findings;
  for (const PingResult& ping : report.pings) findings.push_back(judge(ping, child.err, faults));
  if (!report.error.empty()) {
    findings.push_back(problem(kPing, "not possible: " + report.error, "see the check libibverbs"));
    return findings;
  }
  const std::string failure = failure_of(child, report.complete);
  if (!failure.empty()) {
    findings.push_back(problem(kPing, "the program that pings failed: " + failure,
                               or_else(reason(child.err, ""), "see the other checks")));
    return findings;
  }
  for (const std::string& name : expected) {
    if (std::ranges::find(report.devices, name) != report.devices.end()) continue;
    findings.push_back(
        problem(kPing, "libibverbs does not show " + name,
                or_else(reason(child.err, name), "see the checks libibverbs and preload")));
  }
  if (findings.size() == report.pings.size() && report.pings.size() < addresses) {
    findings.push_back(
        note(kPing,
             fmt::format("the other {} addresses were not tried: too many, or too slow",
                         addresses - report.pings.size()),
             "urxe doctor --device IFACE"));
  }
  return findings;
}

}  // namespace urxe::doctor
