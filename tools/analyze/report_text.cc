// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "packet/wire/aeth_syndrome.h"
#include "tools/analyze/report.h"

namespace urxe::analyze {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr double kNsPerSecond = 1e9;

std::string duration_text(int64_t ns) {
  constexpr double kNsPerUs = 1e3;
  constexpr double kNsPerMs = 1e6;
  const auto value = static_cast<double>(ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", value / kNsPerUs);
  if (ns < 1'000'000'000) return fmt::format("{:.2f} ms", value / kNsPerMs);
  return fmt::format("{:.3f} s", value / kNsPerSecond);
}

std::string rate_text(uint64_t bytes, int64_t ns) {
  constexpr double kMega = 1e6;
  if (ns <= 0) return "";
  return fmt::format(", {:.2f} MB/s",
                     static_cast<double>(bytes) / (static_cast<double>(ns) / kNsPerSecond) / kMega);
}

std::string spread_text(const LogHistogram& histogram) {
  return fmt::format("min {}, median {}, 99 % {}, max {}", duration_text(histogram.min()),
                     duration_text(histogram.quantile(0.5)),
                     duration_text(histogram.quantile(0.99)), duration_text(histogram.max()));
}

/// A phrase for one thing, and for several.
struct Noun {
  std::string_view one;
  std::string_view many;
};
constexpr Noun kPackets = {"packet", "packets"};
constexpr Noun kBytes = {"byte", "bytes"};
constexpr Noun kResponses = {"response", "responses"};

/// "1 packet", "2 packets".
std::string counted(uint64_t count, const Noun& noun) {
  return fmt::format("{} {}", count, count == 1 ? noun.one : noun.many);
}

/// A line for a count, unless it is 0.
void count_line(Out out, uint64_t count, const Noun& noun, std::string_view rest = {}) {
  if (count == 0) return;
  fmt::format_to(out, "    {}{}{}\n", counted(count, noun), rest.empty() ? "" : " ", rest);
}

std::string end_text(const Gid& address, const Stream* towards) {
  if (towards == nullptr) return address.to_string() + " (queue pair unknown)";
  return fmt::format("{} qp {:#08x}", address.to_string(), towards->dest_qp.value());
}

std::string_view nak_name(size_t code) {
  constexpr std::string_view kNames[] = {"PSN sequence error", "invalid request",
                                         "remote access error", "remote operational error",
                                         "invalid RD request"};
  return code < std::size(kNames) ? kNames[code] : "reserved code";
}

/// Why a capture may have no packet of RoCEv2.
void append_none_found(Out out, const CaptureCounts& counts) {
  if (counts.roce != 0) return;
  fmt::format_to(
      out,
      "    No RoCEv2 packet was found: no frame is a whole UDP datagram to port {}.\n"
      "    What programs on one host send each other through urxe's shared memory passes "
      "no interface:\n    record it by urxe run --capture.\n",
      kRoceUdpPort);
}

void append_capture(Out out, const CaptureCounts& counts) {
  fmt::format_to(out, "{} in {}, {} of them RoCEv2\n", counted(counts.frames, {"frame", "frames"}),
                 duration_text(counts.last_ns - counts.first_ns), counts.roce);
  append_none_found(out, counts);
  count_line(out, counts.clock_steps, {"time", "times"},
             fmt::format("the clock of the capture stepped back, {} in all: later times are shown "
                         "as if it had not",
                         duration_text(counts.stepped_ns)));
  count_line(out, counts.fragments, {"IP fragment was", "IP fragments were"}, "not looked into");
  count_line(out, counts.cut, {"packet is", "packets are"}, "too short to be looked into");
  count_line(out, counts.split, {"datagram was", "datagrams were"},
             "captured above an offload: each is several packets, which were looked at one by one");
  count_line(out, counts.merged, {"datagram is", "datagrams are"},
             "longer than any packet: capture with segmentation offload off");
  count_line(out, counts.unchecked_icrc, {"ICRC", "ICRCs"}, "could not be checked");
  count_line(out, counts.bad_icrc, {"ICRC is", "ICRCs are"}, "wrong");
  if (!counts.bad_icrc_frames.empty()) {
    fmt::format_to(out, "      {} {}\n", counts.bad_icrc_frames.size() == 1 ? "frame" : "frames",
                   fmt::join(counts.bad_icrc_frames, " "));
  }
  count_line(out, counts.unknown_opcodes, {"packet has an opcode", "packets have opcodes"},
             "not known");
  count_line(out, counts.cnps, {"congestion notification", "congestion notifications"});
  count_line(out, counts.about_gaps, kPackets, "of urxe's own about losses (GAP)");
  count_line(out, counts.about_buffers, kPackets, "of urxe's own about receive buffers (DRAIN)");
  count_line(out, counts.about_ports, kPackets, "of urxe's own about port 4791 (PROBE)");
  if (counts.datagrams != 0) {
    fmt::format_to(out, "    {}, {} of them multicast, {}\n",
                   counted(counts.datagrams, {"datagram", "datagrams"}), counts.multicast,
                   counted(counts.datagram_bytes, kBytes));
  }
  count_line(out, counts.gsi, kPackets, "to QP1");
}

void append_messages(Out out, const MessageQueue& messages) {
  for (size_t i = 0; i < kMessageKinds; ++i) {
    const MessageCounts& kind = messages.counts().at(i);
    if (kind.sent == 0) continue;
    fmt::format_to(out, "    {} {}: {} answered, {}", kind.sent,
                   message_kind_name(static_cast<MessageKind>(i)), kind.answered,
                   counted(kind.bytes, kBytes));
    if (kind.failed != 0) fmt::format_to(out, ", {} failed", kind.failed);
    if (kind.latency.count() != 0) fmt::format_to(out, "; {}", spread_text(kind.latency));
    fmt::format_to(out, "\n");
  }
}

void append_responses(Out out, const FlowCounts& counts) {
  if (counts.acks != 0) {
    fmt::format_to(out, "    {}, {:.1f} request packets each\n",
                   counted(counts.acks, {"ACK", "ACKs"}),
                   static_cast<double>(counts.packets) / static_cast<double>(counts.acks));
  }
  count_line(out, counts.cut_answers, {"ACK or NAK", "ACKs or NAKs"},
             "cut by the capture before the syndrome");
  for (size_t code = 0; code < kNakCodes; ++code) {
    if (counts.naks.at(code) == 0) continue;
    fmt::format_to(out, "    {}, {}\n", counted(counts.naks.at(code), {"NAK", "NAKs"}),
                   nak_name(code));
  }
  for (const ErrorNak& nak : counts.error_naks) {
    fmt::format_to(out, "      frame {}: NAK {} of PSN {}\n", nak.frame, nak_name(nak.code),
                   nak.psn);
  }
  if (counts.rnr_naks != 0) {
    fmt::format_to(out, "    {}", counted(counts.rnr_naks, {"RNR NAK", "RNR NAKs"}));
    if (counts.rnr_waits.count() != 0) {
      fmt::format_to(out, "; then a wait of {}", spread_text(counts.rnr_waits));
    }
    fmt::format_to(out, "\n");
  }
}

void append_guesses(Out out, const FlowCounts& counts) {
  if (counts.guessed_copies != 0) {
    fmt::format_to(out, "      {} delivered twice by a guess: nothing asks for {} within {}\n",
                   counted(counts.guessed_copies, kPackets),
                   counts.guessed_copies == 1 ? "it" : "them", duration_text(kCopyGuessNs));
  }
  if (counts.guessed_probes != 0) {
    fmt::format_to(out,
                   "      {} by a guess: up to {} a probe, later after a time-out (no CM message "
                   "tells the ACK timeout)\n",
                   counted(counts.guessed_probes, kPackets), duration_text(kProbeGuessNs));
  }
}

void append_repeats(Out out, const FlowCounts& counts) {
  constexpr std::string_view kWhy[kRepeatReasons] = {
      "sent again after a NAK for the PSN",
      "sent again after an RNR NAK",
      "sent again because a later request was answered first",
      "sent again after a time-out",
      "delivered twice",
      "sent again early, after a silence (probes)",
      "sent again, perhaps after an answer that the capture cut"};
  for (size_t i = 0; i < kRepeatReasons; ++i) {
    count_line(out, counts.repeats.at(i), kPackets, kWhy[i]);
  }
  append_guesses(out, counts);
}

void append_losses(Out out, const RequestFlow& flow) {
  const FlowCounts& counts = flow.counts();
  count_line(out, counts.lost_before, kPackets, "lost before the capture point");
  count_line(out, counts.corrupted, kPackets, "corrupted before the capture point");
  count_line(out, counts.corrupted_responses, kResponses, "corrupted before the capture point");
  count_line(out, counts.lost_after, kPackets, "lost or overtaken behind the capture point");
  count_line(out, counts.timeouts, {"time-out", "time-outs"}, "of the requester");
  count_line(out, counts.answers_lost_after, {"of them", "of them"},
             "although an answer had been seen");
  count_line(out, counts.missed, {"packet was", "packets were"},
             "missed by the capture, but acknowledged");
  count_line(out, flow.missing(), {"PSN", "PSNs"}, "never seen");
  count_line(out, counts.out_of_order, kPackets, "out of order");
  count_line(out, counts.missing_responses, {"READ response", "READ responses"}, "missing");
  count_line(out, counts.repeated_responses, kResponses, "to what was answered before");
  count_line(out, counts.early_responses, kResponses, "to packets not seen yet");
  count_line(out, counts.stray_responses, kResponses, "far from any request");
  count_line(out, counts.source_port_changes, {"change", "changes"}, "of the UDP source port");
}

/// Stalls, with the side whose turn it was.
void append_silences(Out out, const Silences& silences, int64_t start_ns) {
  constexpr int64_t kNsPerMs = 1'000'000;
  if (silences.count() == 0) return;
  fmt::format_to(out, "    {} of {} ms or more", counted(silences.count(), {"silence", "silences"}),
                 Silences::kLeastNs / kNsPerMs);
  if (silences.count() > silences.longest().size()) {
    fmt::format_to(out, ", the longest {}", silences.longest().size());
  }
  fmt::format_to(out, "\n");
  for (const Silence& silence : silences.longest()) {
    fmt::format_to(out, "      after {}, for {}: the {} had to send\n",
                   duration_text(silence.from_ns - start_ns),
                   duration_text(silence.to_ns - silence.from_ns), turn_name(silence.turn));
  }
}

void append_end(Out out, const Stream& stream, int64_t end_ns) {
  const RequestFlow& flow = stream.requests;
  count_line(out, flow.lost_messages(), {"message", "messages"}, "LOST: sent again in vain");
  if (flow.failed()) fmt::format_to(out, "    ended by a NAK\n");
  if (flow.turn() == Turn::kNobody || stream.service == Service::kUc) return;
  fmt::format_to(
      out, "    {} unanswered at the end, {} after the last packet; the {} has to send next\n",
      counted(flow.messages().outstanding().size(), {"message", "messages"}),
      duration_text(end_ns - flow.counts().last_ns), turn_name(flow.turn()));
}

void append_direction(Out out, const Stream& stream, const Stream* opposite,
                      const CaptureCounts& capture) {
  const FlowCounts& counts = stream.requests.counts();
  if (counts.packets == 0) return;
  const int64_t ns = counts.duration_ns();
  fmt::format_to(out, "  {} sends {}, {} in {}{}\n", end_text(stream.source, opposite),
                 counted(counts.packets, {"request packet", "request packets"}),
                 counted(counts.bytes, kBytes), duration_text(ns), rate_text(counts.bytes, ns));
  append_messages(out, stream.requests.messages());
  append_responses(out, counts);
  append_repeats(out, counts);
  append_losses(out, stream.requests);
  append_silences(out, stream.requests.silences(), capture.first_ns);
  append_end(out, stream, capture.last_ns);
}

void append_connection(Out out, const ConnectionView& view, const CaptureCounts& capture) {
  const Stream& forth = *view.forth;
  fmt::format_to(out, "\n{} {} - {}", service_name(forth.service),
                 end_text(forth.source, view.back), end_text(forth.destination, &forth));
  if (forth.from_cm) fmt::format_to(out, ", by CM");
  fmt::format_to(out, "\n");
  append_direction(out, forth, view.back, capture);
  if (view.back != nullptr) append_direction(out, *view.back, &forth, capture);
  count_line(out, unmatched_responses(view), kResponses, "to requests that were not found");
}

std::string since_text(std::string_view what, int64_t time_ns, int64_t start_ns) {
  return time_ns == kNotSeen
             ? ""
             : fmt::format(", {} after {}", what, duration_text(time_ns - start_ns));
}

void append_exchange(Out out, const CmExchange& exchange) {
  fmt::format_to(out, "  frame {}: {} asks {} for service {:#x}", exchange.frame,
                 exchange.active.to_string(), exchange.passive.to_string(),
                 exchange.service.value());
  const int64_t start = exchange.req_ns;
  fmt::format_to(out, "{}{}",
                 since_text(exchange.datagrams ? "SIDR_REP" : "REP", exchange.rep_ns, start),
                 since_text("RTU", exchange.rtu_ns, start));
  if (exchange.reject_reason) {
    fmt::format_to(out, "{} by the {} side: {}", since_text("REJ", exchange.rej_ns, start),
                   exchange.rejected_by_active ? "active" : "passive",
                   reject_reason_text(*exchange.reject_reason));
  }
  fmt::format_to(out, "{}{}", since_text("DREQ", exchange.dreq_ns, start),
                 since_text("DREP", exchange.drep_ns, start));
  if (exchange.repeated != 0) {
    fmt::format_to(out, ", {} repeated", counted(exchange.repeated, {"message", "messages"}));
  }
  if (exchange.questions != 0) {
    fmt::format_to(out, ", {} whether the other end exists",
                   counted(exchange.questions, {"question", "questions"}));
  }
  fmt::format_to(out, "\n");
}

void append_violations(Out out, const ViolationLog& violations) {
  if (violations.total() == 0) return;
  fmt::format_to(out, "\n{} of the specification\n",
                 counted(violations.total(), {"violation", "violations"}));
  for (const Violation& violation : violations.kept()) {
    const RuleText& rule = rule_text(violation.rule);
    fmt::format_to(out, "  frame {}: {} to {} qp {:#08x}: {}", violation.frame,
                   violation.source.to_string(), violation.destination.to_string(),
                   violation.dest_qp.value(), rule.name);
    if (!violation.detail.empty()) fmt::format_to(out, " ({})", violation.detail);
    fmt::format_to(out, "\n    section {}: {}\n", rule.section, rule.text);
  }
}

}  // namespace

std::string text_report(const Analysis& analysis) {
  std::string text;
  const Out out(text);
  append_capture(out, analysis.counts());
  for (const ConnectionView& view : list_connections(analysis.connections())) {
    append_connection(out, view, analysis.counts());
  }
  if (!analysis.cm().all().empty()) fmt::format_to(out, "\nExchanges of the connection managers\n");
  for (const CmExchange& exchange : analysis.cm().all()) append_exchange(out, exchange);
  append_violations(out, analysis.violations());
  return text;
}

}  // namespace urxe::analyze
