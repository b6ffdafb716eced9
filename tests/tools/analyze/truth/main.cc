// SPDX-License-Identifier: BSD-2-Clause
// urxe_analyze_truth: whether urxe analyze finds what really happened.
//
//   urxe_analyze_truth FAULT [--seed N] [--count M] [--save PREFIX]
//
// FAULT is clean, loss, duplication, reordering or corruption. The simulator runs the seeds N ..
// N+M-1 with this fault alone, and knows the fate of every packet. Each host's capture is analyzed:
// what did not happen must not be found, and of what happened no more than there was. Prints the
// differences.
// --save writes the captures of a seed that fails.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/tools/analyze/truth/witness.h"

namespace {

using urxe::analyze::RepeatReason;
using urxe::truth::Fates;
using urxe::truth::Witness;

enum class Fault : uint8_t { kClean, kLoss, kDuplication, kReordering, kCorruption };

struct Options {
  Fault fault = Fault::kClean;
  uint64_t seed = 1;
  uint64_t count = 1;
  std::string save;
};

/// What the analysis of a capture found in all.
struct Found {
  uint64_t lost_before = 0;
  uint64_t lost_after = 0;
  uint64_t out_of_order = 0;
  uint64_t duplicates = 0;
  uint64_t corrupted = 0;
  uint64_t corrupted_responses = 0;
  uint64_t missing_responses = 0;
  uint64_t reads = 0;
  uint64_t reads_answered = 0;
};

Found sum_of(const urxe::analyze::Analysis& analysis) {
  Found found;
  for (const auto& stream : analysis.connections().streams()) {
    const auto& counts = stream.requests.counts();
    found.lost_before += counts.lost_before;
    found.lost_after += counts.lost_after;
    found.out_of_order += counts.out_of_order;
    found.duplicates += counts.repeats.at(static_cast<size_t>(RepeatReason::kDuplicate));
    found.corrupted += counts.corrupted;
    found.corrupted_responses += counts.corrupted_responses;
    found.missing_responses += counts.missing_responses;
    const auto& reads = stream.requests.messages().counts().at(
        static_cast<size_t>(urxe::analyze::MessageKind::kRead));
    found.reads += reads.sent;
    found.reads_answered += reads.answered;
  }
  return found;
}

/// The plan of the seed between two hosts, reliable connections only, with one fault.
urxe::sim::Plan plan_for(Fault fault, uint64_t seed) {
  urxe::sim::Plan plan = urxe::sim::draw_plan(seed);
  plan.hosts = 2;
  plan.ipv6 = plan.cut = plan.alternate_paths = false;
  plan.uc_percent = plan.ud_percent = plan.xrc_percent = plan.groups = 0;
  plan.min_ack_timeout = urxe::milliseconds(4);  // as the devices of urxe run
  urxe::sim::NetworkPlan network;
  network.latency = plan.network.latency;
  network.picoseconds_per_byte = plan.network.picoseconds_per_byte;
  network.reorder_delay = plan.network.reorder_delay;
  constexpr uint32_t kPerMillion = 10000;
  if (fault == Fault::kLoss) network.loss = kPerMillion;
  if (fault == Fault::kDuplication) network.duplicate = kPerMillion;
  if (fault == Fault::kReordering) network.reorder = kPerMillion;
  if (fault == Fault::kCorruption) network.corrupt = kPerMillion;
  plan.network = network;
  return plan;
}

/// Compares counts, and remembers whether all were right.
class Judge {
 public:
  Judge(uint64_t seed, size_t host) : seed_(seed), host_(host) {}
  void expect(bool holds, const char* what, uint64_t found, uint64_t truth) {
    if (holds) return;
    right_ = false;
    fmt::print("seed {} host {}: {}: {} found, {} happened\n", seed_, host_, what, found, truth);
  }
  void equal(const char* what, uint64_t found, uint64_t truth) {
    expect(found == truth, what, found, truth);
  }
  void at_most(const char* what, uint64_t found, uint64_t truth) {
    expect(found <= truth, what, found, truth);
  }
  [[nodiscard]] bool right() const { return right_; }

 private:
  uint64_t seed_;
  size_t host_;
  bool right_ = true;
};

bool judge(const Witness& witness, size_t host, uint64_t seed, Found& total, Fates& truth) {
  const Fates& requests = witness.requests_to(host);
  const Fates& responses = witness.responses_to(host);
  const Found found = sum_of(witness.analysis(host));
  Judge judge(seed, host);
  judge.equal("violations", witness.analysis(host).violations().total(), 0);
  judge.at_most("requests lost before", found.lost_before, requests.lost());
  judge.at_most("requests out of order", found.out_of_order, requests.late);
  judge.at_most("requests delivered twice", found.duplicates, requests.duplicated);
  // One whose headers are damaged too much belongs to no connection.
  const uint64_t corrupted = requests.corrupted + responses.corrupted;
  judge.equal("wrong ICRCs", witness.analysis(host).counts().bad_icrc, corrupted);
  judge.at_most("corrupted, of connections", found.corrupted + found.corrupted_responses,
                corrupted);
  const Fates& sent = witness.requests_to(1 - host);
  judge.at_most("requests lost or overtaken behind", found.lost_after,
                sent.lost() + sent.late + sent.corrupted);
  judge.at_most("responses missing", found.missing_responses, responses.lost() + responses.late);
  total.lost_before += found.lost_before;
  total.lost_after += found.lost_after;
  total.out_of_order += found.out_of_order;
  total.duplicates += found.duplicates;
  total.corrupted += found.corrupted;
  total.reads += found.reads;
  total.reads_answered += found.reads_answered;
  truth.sent += requests.sent;
  truth.arrived += requests.arrived;
  truth.late += requests.late;
  truth.duplicated += requests.duplicated;
  truth.corrupted += requests.corrupted;
  return judge.right();
}

bool parse_number(const char* text, uint64_t& value) {
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool parse_options(int argc, char** argv, Options& options) {
  constexpr std::string_view kFaults[] = {"clean", "loss", "duplication", "reordering",
                                          "corruption"};
  if (argc < 2) return false;
  size_t fault = 0;
  while (fault < std::size(kFaults) && kFaults[fault] != argv[1]) ++fault;
  if (fault == std::size(kFaults)) return false;
  options.fault = static_cast<Fault>(fault);
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--save") {
      options.save = argv[i + 1];
    } else if (name != "--seed" && name != "--count") {
      return false;
    } else if (!parse_number(argv[i + 1], name == "--seed" ? options.seed : options.count)) {
      return false;
    }
  }
  return argc % 2 == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fputs("usage: urxe_analyze_truth FAULT [--seed N] [--count M] [--save PREFIX]\n", stderr);
    return 2;
  }
  uint64_t wrong = 0;
  Found found;
  Fates truth;
  for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    Witness witness;
    urxe::sim::Simulation simulation(plan_for(options.fault, seed), false);
    simulation.set_tap(&witness);
    simulation.run();
    witness.finish();
    for (size_t host = 0; host < Witness::kHosts; ++host) {
      if (judge(witness, host, seed, found, truth)) continue;
      ++wrong;
      if (options.save.empty()) continue;
      witness.save(host, fmt::format("{}.{}.{}.pcap", options.save, seed, host));
    }
  }
  fmt::print(
      "{} seeds, {} captures wrong; found: {} lost before, {} behind, {} out of order, {} twice, "
      "{} "
      "corrupted, {} of {} READs answered; happened: {} lost, {} late, {} twice, {} corrupted of "
      "{} requests\n",
      options.count, wrong, found.lost_before, found.lost_after, found.out_of_order,
      found.duplicates, found.corrupted, found.reads_answered, found.reads, truth.lost(),
      truth.late, truth.duplicated, truth.corrupted, truth.sent);
  return wrong == 0 ? 0 : 1;
}
