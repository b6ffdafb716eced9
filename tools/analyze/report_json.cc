// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <utility>

#include "tools/analyze/report.h"
#include "tools/analyze/report_object.h"

namespace urxe::analyze {
namespace {

Json histogram_json(const LogHistogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  return {{"count", histogram.count()},
          {"min", histogram.min()},
          {"median", histogram.quantile(0.5)},
          {"p99", histogram.quantile(0.99)},
          {"max", histogram.max()}};
}

Json capture_json(const CaptureCounts& counts) {
  return {{"frames", counts.frames},
          {"duration_ns", counts.last_ns - counts.first_ns},
          {"roce", counts.roce},
          {"fragments", counts.fragments},
          {"cut", counts.cut},
          {"split", counts.split},
          {"merged", counts.merged},
          {"bad_icrc", counts.bad_icrc},
          {"bad_icrc_frames", counts.bad_icrc_frames},
          {"unchecked_icrc", counts.unchecked_icrc},
          {"unknown_opcodes", counts.unknown_opcodes},
          {"congestion_notifications", counts.cnps},
          {"urxe_gap", counts.about_gaps},
          {"urxe_drain", counts.about_buffers},
          {"urxe_probe", counts.about_ports},
          {"datagrams", counts.datagrams},
          {"datagram_bytes", counts.datagram_bytes},
          {"multicast", counts.multicast},
          {"qp1", counts.gsi},
          {"clock_steps_back", counts.clock_steps},
          {"clock_stepped_back_ns", counts.stepped_ns}};
}

Json messages_json(const MessageQueue& messages) {
  Json json = Json::object();
  for (size_t i = 0; i < kMessageKinds; ++i) {
    const MessageCounts& kind = messages.counts().at(i);
    if (kind.sent == 0) continue;
    json[std::string(message_kind_name(static_cast<MessageKind>(i)))] = {
        {"sent", kind.sent},
        {"answered", kind.answered},
        {"failed", kind.failed},
        {"bytes", kind.bytes},
        {"latency_ns", histogram_json(kind.latency)}};
  }
  return json;
}

Json repeats_json(const FlowCounts& counts) {
  Json json = Json::object();
  for (size_t i = 0; i < kRepeatReasons; ++i) {
    json[std::string(repeat_reason_name(static_cast<RepeatReason>(i)))] = counts.repeats.at(i);
  }
  return json;
}

Json naks_json(const FlowCounts& counts) {
  Json json = Json::object();
  for (size_t code = 0; code < kNakCodes; ++code) {
    if (counts.naks.at(code) != 0) json[std::to_string(code)] = counts.naks.at(code);
  }
  return json;
}

Json error_naks_json(const FlowCounts& counts) {
  Json json = Json::array();
  for (const ErrorNak& nak : counts.error_naks) {
    json.push_back({{"frame", nak.frame}, {"code", nak.code}, {"psn", nak.psn}});
  }
  return json;
}

Json rate_json(const RateSeries& rate, int64_t start_ns) {
  Json bytes = Json::array();
  for (size_t i = 0; i < rate.used(); ++i) bytes.push_back(rate.bytes_in(i));
  Json at = nullptr;
  if (rate.used() != 0) at = rate.start_ns() - start_ns;
  return {{"at_ns", at}, {"slot_ns", rate.slot_ns()}, {"bytes", std::move(bytes)}};
}

Json silences_json(const Silences& silences, int64_t start_ns) {
  Json longest = Json::array();
  for (const Silence& silence : silences.longest()) {
    longest.push_back({{"at_ns", silence.from_ns - start_ns},
                       {"duration_ns", silence.to_ns - silence.from_ns},
                       {"turn", turn_name(silence.turn)}});
  }
  return {{"count", silences.count()}, {"longest", std::move(longest)}};
}

Json ack_timeout_json(const RequestFlow& flow) {
  if (!flow.ack_timeout_ns()) return nullptr;
  return *flow.ack_timeout_ns();
}

Json direction_json(const Stream& stream, int64_t start_ns) {
  const RequestFlow& flow = stream.requests;
  const FlowCounts& counts = flow.counts();
  return {{"packets", counts.packets},
          {"bytes", counts.bytes},
          {"first_frame", counts.first_frame},
          {"start_ns", counts.packets == 0 ? 0 : counts.first_ns - start_ns},
          {"duration_ns", counts.duration_ns()},
          {"path_mtu", flow.path_mtu()},
          {"messages", messages_json(flow.messages())},
          {"outstanding", flow.messages().outstanding().size()},
          {"lost_messages", flow.lost_messages()},
          {"turn", turn_name(flow.turn())},
          {"out_of_order", counts.out_of_order},
          {"repeats", repeats_json(counts)},
          {"ack_timeout_ns", ack_timeout_json(flow)},
          {"guesses",
           {{"duplicates", counts.guessed_copies},
            {"duplicate_within_ns", kCopyGuessNs},
            {"probes_or_timeouts", counts.guessed_probes},
            {"probe_within_ns", kProbeGuessNs}}},
          {"timeouts", counts.timeouts},
          {"answers_lost_after", counts.answers_lost_after},
          {"lost_before", counts.lost_before},
          {"corrupted", counts.corrupted},
          {"corrupted_responses", counts.corrupted_responses},
          {"lost_after", counts.lost_after},
          {"missed_by_capture", counts.missed},
          {"never_seen", flow.missing()},
          {"acks", counts.acks},
          {"read_responses", counts.read_responses},
          {"atomic_acks", counts.atomic_acks},
          {"cut_answers", counts.cut_answers},
          {"repeated_responses", counts.repeated_responses},
          {"missing_responses", counts.missing_responses},
          {"early_responses", counts.early_responses},
          {"stray_responses", counts.stray_responses},
          {"naks", naks_json(counts)},
          {"error_naks", error_naks_json(counts)},
          {"rnr_naks", counts.rnr_naks},
          {"rnr_wait_ns", histogram_json(counts.rnr_waits)},
          {"source_port_changes", counts.source_port_changes},
          {"silences", silences_json(flow.silences(), start_ns)},
          {"rate", rate_json(flow.rate(), start_ns)}};
}

Json end_json(const Gid& address, const Stream* towards) {
  Json qpn = nullptr;
  if (towards != nullptr) qpn = towards->dest_qp.value();
  return {{"address", address.to_string()}, {"qpn", qpn}};
}

Json connection_json(const ConnectionView& view, int64_t start_ns) {
  const Stream& forth = *view.forth;
  Json directions = Json::array({direction_json(forth, start_ns)});
  if (view.back != nullptr) directions.push_back(direction_json(*view.back, start_ns));
  const char* const learnt = view.back == nullptr ? "peer unknown" : forth.from_cm ? "cm" : "psn";
  return {{"service", service_name(forth.service)},
          {"learnt_from", learnt},
          {"ends",
           Json::array({end_json(forth.source, view.back), end_json(forth.destination, &forth)})},
          {"unmatched_responses", unmatched_responses(view)},
          {"directions", std::move(directions)}};
}

Json time_json(int64_t time_ns, int64_t start_ns) {
  if (time_ns == kNotSeen) return nullptr;
  return time_ns - start_ns;
}

Json cm_json(const CmExchange& exchange, int64_t start_ns) {
  Json json = {{"active", exchange.active.to_string()},
               {"passive", exchange.passive.to_string()},
               {"active_id", exchange.active_id.value()},
               {"passive_id", exchange.passive_id.value()},
               {"service_id", fmt::format("{:#x}", exchange.service.value())},
               {"datagrams", exchange.datagrams},
               {"frame", exchange.frame},
               {"active_qpn", exchange.active_qpn.value()},
               {"passive_qpn", exchange.passive_qpn.value()},
               {"repeated", exchange.repeated},
               {"questions", exchange.questions}};
  const std::pair<const char*, int64_t> times[] = {
      {"req", exchange.req_ns}, {"rep", exchange.rep_ns},   {"rtu", exchange.rtu_ns},
      {"rej", exchange.rej_ns}, {"dreq", exchange.dreq_ns}, {"drep", exchange.drep_ns}};
  for (const auto& [name, time_ns] : times) json["at_ns"][name] = time_json(time_ns, start_ns);
  json["reject_reason"] = nullptr;
  json["reject_text"] = nullptr;
  if (exchange.reject_reason) {
    json["reject_reason"] = *exchange.reject_reason;
    json["reject_text"] = reject_reason_text(*exchange.reject_reason);
  }
  return json;
}

Json violation_json(const Violation& violation) {
  const RuleText& rule = rule_text(violation.rule);
  return {{"frame", violation.frame},
          {"rule", rule.name},
          {"text", rule.text},
          {"section", rule.section},
          {"source", violation.source.to_string()},
          {"destination", violation.destination.to_string()},
          {"dest_qp", violation.dest_qp.value()},
          {"detail", violation.detail}};
}

}  // namespace

Json report_object(const Analysis& analysis) {
  const int64_t start_ns = analysis.counts().first_ns;
  Json connections = Json::array();
  for (const ConnectionView& view : list_connections(analysis.connections())) {
    connections.push_back(connection_json(view, start_ns));
  }
  Json exchanges = Json::array();
  for (const CmExchange& exchange : analysis.cm().all()) {
    exchanges.push_back(cm_json(exchange, start_ns));
  }
  Json violations = Json::array();
  for (const Violation& violation : analysis.violations().kept()) {
    violations.push_back(violation_json(violation));
  }
  return {{"capture", capture_json(analysis.counts())},
          {"connections", std::move(connections)},
          {"cm", std::move(exchanges)},
          {"violation_count", analysis.violations().total()},
          {"violations", violations},
          {"unread", analysis.unread()},
          {"found_something", analysis.found_something()}};
}

std::string json_report(const Analysis& analysis) {
  return report_object(analysis).dump(2) + "\n";
}

}  // namespace urxe::analyze
