// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include "tools/stat/export.h"
#include "tools/stat/names.h"

namespace urxe::stat {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1e3;
constexpr int64_t kNsPerMs = 1'000'000;

Json fill_of(const QueueFill& fill) {
  return {{"waiting", fill.waiting}, {"capacity", fill.capacity}};
}

Json counters_of(const QpCounters& counters) {
  return {{"sent_bytes", counters.sent_bytes},
          {"sent_packets", counters.sent_packets},
          {"received_bytes", counters.received_bytes},
          {"received_packets", counters.received_packets},
          {"sends_completed", counters.sends_completed},
          {"receives_completed", counters.receives_completed},
          {"requests_executed", counters.requests_executed},
          {"retransmitted_packets", counters.retransmitted_packets},
          {"ack_timeouts", counters.ack_timeouts},
          {"sequence_naks_received", counters.sequence_naks_received},
          {"rnr_naks_received", counters.rnr_naks_received},
          {"rnr_naks_sent", counters.rnr_naks_sent}};
}

Json cause_of(const ErrorCause& cause) {
  if (cause.reason == ErrorReason::kNone) return nullptr;
  Json json{{"reason", reason_name(cause.reason)}};
  if (cause.check != Check::kNone) json["check"] = check_name(cause.check);
  if (cause.status != 0) {
    json["status"] = status_name(cause.status);
    json["wr_id"] = cause.wr_id;
  }
  if (cause.opcode != ErrorCause::kNoOpcode) {
    json["opcode"] = opcode_info(Opcode(cause.opcode)).name;
  }
  if (cause.syndrome != 0) json["syndrome"] = cause.syndrome;
  json["psn"] = cause.psn.value();
  if (cause.key != 0) json["key"] = cause.key;
  if (cause.length != 0) {
    json["address"] = cause.address;
    json["length"] = cause.length;
  }
  return json;
}

Json peer_json(const QpReport& report) {
  if (!report.has_peer) return nullptr;
  return {{"gid", report.remote.to_string()},
          {"qpn", report.dest_qpn},
          {"source_port", report.source_port}};
}

Json path_of(const QpReport& report) {
  if (report.window == 0) return nullptr;
  return {{"window_bytes", report.window},
          {"window_used_bytes", report.window_used},
          {"round_trip_us", static_cast<double>(report.round_trip_ns) / kNsPerUs}};
}

Json queue_pair_of(const QpReport& report) {
  return {{"qpn", report.qpn},
          {"type", type_name(report.type)},
          {"state", state_name(report.state)},
          {"waits_for", wait_name(report.waits_for)},
          {"peer", peer_json(report)},
          {"mtu", report.mtu},
          {"path", path_of(report)},
          {"outstanding_packets", report.outstanding},
          {"reads_owed", report.reads_owed},
          {"next_psn", report.next_psn},
          {"unacknowledged_psn", report.unacked_psn},
          {"expected_psn", report.expected_psn},
          {"send_queue", fill_of(report.send_queue)},
          {"receive_queue", fill_of(report.receive_queue)},
          {"shared_receive_queue", report.uses_srq},
          {"send_cq", fill_of(report.send_cq)},
          {"receive_cq", fill_of(report.receive_cq)},
          {"counters", counters_of(report.counters)},
          {"error", cause_of(report.cause)}};
}

}  // namespace

std::string json_report(const Observation& seen) {
  Json devices = Json::array();
  for (const DeviceObservation& device : seen.devices) {
    Json queue_pairs = Json::array();
    for (const QpReport& report : device.queue_pairs) queue_pairs.push_back(queue_pair_of(report));
    devices.push_back({{"pid", device.pid},
                       {"program", printable(device.program)},
                       {"device", printable(device.device)},
                       {"engine", printable(device.engine)},
                       {"age_ms", (device.observed - device.published).ns / kNsPerMs},
                       {"queue_pairs", std::move(queue_pairs)}});
  }
  const Json report{{"urxe", URXE_VERSION}, {"devices", std::move(devices)}};
  return report.dump() + "\n";
}

}  // namespace urxe::stat
