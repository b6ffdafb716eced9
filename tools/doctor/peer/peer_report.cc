// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <vector>

#include "tools/doctor/peer/cm_probe.h"
#include "tools/doctor/peer/path_probe.h"

namespace urxe::doctor {
namespace {

struct Answers {
  std::vector<int64_t> took_ns;
  bool is_silent = false;
  std::string failure;
};

Answers parse(const std::string& out) {
  Answers answers;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    int64_t ns = 0;
    if (word == kAnswerWord && words >> ns) answers.took_ns.push_back(ns);
    if (word == kSilenceWord) answers.is_silent = true;
    if (word == kFailureWord) std::getline(words >> std::ws, answers.failure);
  }
  return answers;
}

std::string advice_for_silence(const PeerSurroundings& known) {
  if (!known.faults.empty()) {
    return "unset URXE_FAULTS, which makes programs lose or change packets";
  }
  if (known.host_answers) {
    return "the host itself answers: run `urxe doctor` there; a program that does no RDMA may have "
           "UDP port 4791 (`ss -ulpn sport = :4791`), or a firewall drops packets to it or from it";
  }
  return "look for a firewall on the way or there (UDP port 4791, both directions), and "
         "run `urxe doctor` there";
}

}  // namespace

Finding judge_peer(const std::string& address, const ChildResult& child,
                   const PeerSurroundings& known) {
  Answers answers = parse(child.out);
  if (!answers.failure.empty()) {
    const bool lacks_library = answers.failure.find("librdmacm") != std::string::npos;
    return problem(kPeerCheck, address + " was not asked: " + answers.failure,
                   lacks_library
                       ? "see the other checks; librdmacm is in Debian's package librdmacm1"
                       : "see the other checks, and whether `ping " + address + "` finds the peer");
  }
  if (!answers.is_silent && (answers.took_ns.empty() || !child.succeeded())) {
    return problem(kPeerCheck, address + ": the program that asks failed, or hangs",
                   "see the check self-ping");
  }
  if (answers.is_silent) {
    return problem(
        kPeerCheck,
        fmt::format("the connection manager of {} does not answer; {} answers came before", address,
                    answers.took_ns.size()),
        advice_for_silence(known));
  }
  const auto middle = answers.took_ns.begin() + static_cast<ptrdiff_t>(answers.took_ns.size() / 2);
  std::ranges::nth_element(answers.took_ns, middle);
  return ok(kPeerCheck,
            fmt::format("the connection manager of {} answers: {:.3f} ms, the median of {} (a urxe "
                        "peer takes 100 ms more, in case a server is about to listen)",
                        address, static_cast<double>(*middle) / 1e6, answers.took_ns.size()));
}

}  // namespace urxe::doctor
