// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "packet/wire/ack_timeout.h"
#include "packet/wire/aeth_syndrome.h"
#include "provider/observation/explanation.h"
#include "tools/stat/completion_queues.h"
#include "tools/stat/export.h"
#include "tools/stat/names.h"
#include "tools/stat/wall_time.h"

namespace urxe::stat {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1e3;
constexpr int64_t kNsPerMs = 1'000'000;

Json fill_of(const QueueFill& fill) {
  return {{"waiting", fill.waiting}, {"capacity", fill.capacity}};
}

Json completions_of(const CqReport& cq) {
  if (cq.number == 0) return nullptr;
  return {{"number", cq.number},
          {"waiting", cq.waiting},
          {"capacity", cq.capacity},
          {"armed", cq.is_armed},
          {"overrun", cq.in_error}};
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

bool has_rnr_timer(const ErrorCause& cause) {
  return cause.reason == ErrorReason::kReceiverNotReady || cause.reason == ErrorReason::kRnrNak ||
         (cause.reason == ErrorReason::kNoReceive && cause.syndrome != 0);
}

/// What came of the timers.
void add_timers(Json& json, const ErrorCause& cause) {
  if (cause.timeout != 0 && cause.timeout <= kMaxTimeout) {
    json["ack_timeout_us"] = static_cast<double>(ack_timeout_of(cause.timeout).ns) / kNsPerUs;
  }
  if (has_rnr_timer(cause)) {
    const Duration wait = rnr_timer(syndrome_value(cause.syndrome));
    json["rnr_timer_us"] = static_cast<double>(wait.ns) / kNsPerUs;
  }
  if (cause.retries != 0) json["retries"] = cause.retries;
  if (cause.free_timeouts != 0) json["free_timeouts"] = cause.free_timeouts;
}

Json cause_of(const ErrorCause& cause, Instant now) {
  if (cause.reason == ErrorReason::kNone) return nullptr;
  Json json{{"reason", reason_name(cause.reason)}};
  if (cause.at.ns != 0) json["age_ms"] = (now - cause.at).ns / kNsPerMs;
  if (cause.check != Check::kNone) json["check"] = check_name(cause.check);
  if (cause.status != 0) {
    json["status"] = status_name(cause.status);
    if (is_of_a_receive(cause)) {
      json["request"] = "RECV";
    } else {
      json["request"] = work_request_name(cause.work_request);
    }
    json["wr_id"] = cause.wr_id;
  }
  if (cause.opcode != ErrorCause::kNoOpcode) {
    const std::string_view name = opcode_info(Opcode(cause.opcode)).name;
    json["opcode"] = name.empty() ? fmt::format("0x{:02x}", cause.opcode) : std::string(name);
  }
  if (cause.syndrome != 0) json["syndrome"] = cause.syndrome;
  add_timers(json, cause);
  json["psn"] = cause.psn.value();
  if (!cause.remote.is_zero()) {
    json["peer"] = {{"gid", cause.remote.to_string()}, {"qpn", cause.dest_qpn}};
  }
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
          {"local_gid", report.local.to_string()},
          {"qpn", report.dest_qpn},
          {"source_port", report.source_port}};
}

Json path_of(const QpReport& report) {
  if (report.window == 0) return nullptr;
  return {{"window_bytes", report.window},
          {"window_used_bytes", report.window_used},
          {"round_trip_us", static_cast<double>(report.round_trip_ns) / kNsPerUs}};
}

Json queue_pair_of(const QpReport& report, Instant now) {
  return {{"qpn", report.qpn},
          {"type", type_name(report.type)},
          {"state", state_name(report.state)},
          {"waits_for", wait_name(report.waits_for)},
          {"peer", peer_json(report)},
          {"mtu", report.mtu},
          {"path", path_of(report)},
          {"paced", report.is_paced},
          {"outstanding_packets", report.outstanding},
          {"reads_owed", report.reads_owed},
          {"next_psn", report.next_psn},
          {"unacknowledged_psn", report.unacked_psn},
          {"expected_psn", report.expected_psn},
          {"send_queue", fill_of(report.send_queue)},
          {"receive_queue", fill_of(report.receive_queue)},
          {"shared_receive_queue", report.uses_srq},
          {"send_cq", completions_of(report.send_cq)},
          {"receive_cq", completions_of(report.receive_cq)},
          {"counters", counters_of(report.counters)},
          {"error", cause_of(report.cause, now)},
          {"last_error", cause_of(report.last_error, now)},
          {"last_trouble", cause_of(report.trouble, now)}};
}

Json device_of(const DeviceObservation& device) {
  return {{"pid", device.pid},
          {"pid_namespace", device.pid_namespace},
          {"program", printable(device.program)},
          {"device", printable(device.device)},
          {"engine", printable(device.engine)}};
}

Json live_device_of(const DeviceObservation& device) {
  Json queue_pairs = Json::array();
  for (const QpReport& report : device.queue_pairs) {
    queue_pairs.push_back(queue_pair_of(report, device.observed));
  }
  Json json = device_of(device);
  json["age_ms"] = (device.observed - device.published).ns / kNsPerMs;
  json["stopped"] = is_stopped(device);
  json["left_out"] = device.left_out;
  json["queue_pairs"] = std::move(queue_pairs);
  Json completion_queues = Json::array();
  for (const UsedCq& used : completion_queues_of(device)) {
    completion_queues.push_back(completions_of(used.cq));
    completion_queues.back()["queue_pairs"] = used.queue_pairs;
  }
  json["completion_queues"] = std::move(completion_queues);
  return json;
}

Json ended_of(const EndedQueuePair& ended) {
  Json json = device_of(ended.device);
  json["process_ended"] = ended.process_has_ended;
  json["ended_ms"] = (ended.device.observed - ended.ended).ns / kNsPerMs;
  json["queue_pair"] = queue_pair_of(ended.report, ended.device.observed);
  return json;
}

}  // namespace

std::string json_report(const Observation& seen) {
  Json devices = Json::array();
  for (const DeviceObservation& device : seen.devices) devices.push_back(live_device_of(device));
  Json ended = Json::array();
  for (const EndedQueuePair& one : seen.ended) ended.push_back(ended_of(one));
  const Json report{{"urxe", URXE_VERSION},
                    {"time", wall_time()},
                    {"devices", std::move(devices)},
                    {"ended", std::move(ended)},
                    {"without_room", seen.without_room}};
  return report.dump() + "\n";
}

}  // namespace urxe::stat
