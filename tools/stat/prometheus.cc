// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <array>

#include "tools/stat/completion_queues.h"
#include "tools/stat/export.h"
#include "tools/stat/names.h"

namespace urxe::stat {
namespace {

/// A metric with a value for each queue pair.
struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double (*value)(const QpReport& report);
};

template <uint64_t QpCounters::*Which>
double counter(const QpReport& report) {
  return static_cast<double>(report.counters.*Which);
}

constexpr auto kMetrics = std::to_array<Metric>({
    {"urxe_qp_sent_bytes_total", "counter", "Bytes of packets sent, BTH to ICRC",
     counter<&QpCounters::sent_bytes>},
    {"urxe_qp_sent_packets_total", "counter", "Packets sent", counter<&QpCounters::sent_packets>},
    {"urxe_qp_received_bytes_total", "counter", "Bytes of packets received, BTH to ICRC",
     counter<&QpCounters::received_bytes>},
    {"urxe_qp_received_packets_total", "counter", "Packets received",
     counter<&QpCounters::received_packets>},
    {"urxe_qp_sends_completed_total", "counter", "Work requests of the send queue completed",
     counter<&QpCounters::sends_completed>},
    {"urxe_qp_receives_completed_total", "counter", "Work requests of the receive queue completed",
     counter<&QpCounters::receives_completed>},
    {"urxe_qp_requests_executed_total", "counter",
     "WRITEs, READs, atomics and FLUSHes of the peer executed",
     counter<&QpCounters::requests_executed>},
    {"urxe_qp_retransmitted_packets_total", "counter", "Request packets sent again",
     counter<&QpCounters::retransmitted_packets>},
    {"urxe_qp_ack_timeouts_total", "counter", "Local ACK timeouts",
     counter<&QpCounters::ack_timeouts>},
    {"urxe_qp_sequence_naks_received_total", "counter", "NAKs for a PSN sequence error received",
     counter<&QpCounters::sequence_naks_received>},
    {"urxe_qp_rnr_naks_received_total", "counter", "RNR NAKs received",
     counter<&QpCounters::rnr_naks_received>},
    {"urxe_qp_rnr_naks_sent_total", "counter", "RNR NAKs sent",
     counter<&QpCounters::rnr_naks_sent>},
    {"urxe_qp_outstanding_packets", "gauge", "Request packets without an answer",
     [](const QpReport& report) { return static_cast<double>(report.outstanding); }},
    {"urxe_qp_send_queue_waiting", "gauge", "Work requests of the send queue that wait",
     [](const QpReport& report) { return static_cast<double>(report.send_queue.waiting); }},
    {"urxe_qp_receive_queue_waiting", "gauge", "Work requests of the receive queue that wait",
     [](const QpReport& report) { return static_cast<double>(report.receive_queue.waiting); }},
    {"urxe_qp_window_bytes", "gauge", "Window of the path, in bytes of the receiver's buffer",
     [](const QpReport& report) { return static_cast<double>(report.window); }},
    {"urxe_qp_round_trip_seconds", "gauge", "Smoothed round-trip time of the path; 0: not measured",
     [](const QpReport& report) { return to_seconds(report.round_trip_ns); }},
});

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

/// The label that tells apart processes of containers, whose IDs may be the same.
std::string namespace_label(const Observation& seen, const DeviceObservation& device) {
  if (device.pid_namespace == seen.pid_namespace) return "";
  return fmt::format(R"(,pid_namespace="{}")", device.pid_namespace);
}

std::string labels_of(const Observation& seen, const DeviceObservation& device) {
  return fmt::format(R"(pid="{}"{},program="{}",device="{}")", device.pid,
                     namespace_label(seen, device), escaped(device.program),
                     escaped(device.device));
}

std::string labels_of(const Observation& seen, const DeviceObservation& device,
                      const QpReport& report) {
  return fmt::format(R"({},qpn="{}",type="{}")", labels_of(seen, device), qpn_name(report.qpn),
                     type_name(report.type));
}

void add_header(std::string& text, std::string_view name, std::string_view type,
                std::string_view help) {
  text += fmt::format("# HELP {0} {2}.\n# TYPE {0} {1}\n", name, type, help);
}

void add_metric(std::string& text, const Metric& metric, const Observation& seen) {
  add_header(text, metric.name, metric.type, metric.help);
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      text += fmt::format("{}{{{}}} {}\n", metric.name, labels_of(seen, device, report),
                          metric.value(report));
    }
  }
}

/// Of completion queues.
void add_cq_metric(std::string& text, std::string_view name, std::string_view help,
                   uint32_t CqReport::*value, const Observation& seen) {
  add_header(text, name, "gauge", help);
  for (const DeviceObservation& device : seen.devices) {
    for (const UsedCq& used : completion_queues_of(device)) {
      text += fmt::format("{}{{{},cq=\"{}\"}} {}\n", name, labels_of(seen, device), used.cq.number,
                          used.cq.*value);
    }
  }
}

/// The values that are words: 1 for the one that it is.
void add_states(std::string& text, const Observation& seen) {
  add_header(text, "urxe_qp_info", "gauge", "State, peer, reason to wait and error; always 1");
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      text += fmt::format(
          R"(urxe_qp_info{{{},state="{}",peer="{}",peer_qpn="{}",waits_for="{}",error="{}"}} 1)"
          "\n",
          labels_of(seen, device, report), state_name(report.state),
          report.has_peer ? report.remote.to_string() : "",
          report.has_peer ? qpn_name(report.dest_qpn) : "", wait_name(report.waits_for),
          reason_name(report.cause.reason));
    }
  }
}

}  // namespace

std::string prometheus_report(const Observation& seen) {
  std::string text;
  add_states(text, seen);
  for (const Metric& metric : kMetrics) add_metric(text, metric, seen);
  add_cq_metric(text, "urxe_cq_waiting", "Completions that were not polled", &CqReport::waiting,
                seen);
  add_cq_metric(text, "urxe_cq_capacity", "Completions that the queue has room for",
                &CqReport::capacity, seen);
  return text;
}

}  // namespace urxe::stat
