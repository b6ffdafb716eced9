// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/why.h"

#include <fmt/format.h>

#include "provider/observation/explanation.h"
#include "tools/stat/names.h"
#include "tools/stat/table.h"

namespace urxe::stat {
namespace {

/// What to look at next.
std::string advice_text(const ErrorCause& cause) {
  switch (cause.reason) {
    case ErrorReason::kNoAnswer:
      return "is the peer alive and in RTR, is UDP port 4791 open both ways? `urxe doctor HOST` "
             "tries the path";
    case ErrorReason::kLostTooOften:
      return "`urxe analyze` on a capture tells where packets are lost; a larger retry_cnt rides "
             "out more";
    case ErrorReason::kReceiverNotReady:
      return "post receives earlier at the peer, or use rnr_retry 7, which waits for ever";
    case ErrorReason::kRnrNak:
      return "post receives earlier at the peer, or more of them";
    case ErrorReason::kNoReceive:
      return "post receives earlier, or more of them";
    case ErrorReason::kAckTimeout:
    case ErrorReason::kSequenceNak:
    case ErrorReason::kGap:
    case ErrorReason::kNoResponse:
      return "`urxe analyze` on a capture tells where packets are lost";
    case ErrorReason::kNak:
      return "`urxe stat --why` at the peer names the check that failed there";
    case ErrorReason::kCompletionLost:
      return "make the completion queue larger, or poll it more often";
    default:
      return "";
  }
}

void add_line(std::string& text, std::string_view title, std::string_view what) {
  if (!what.empty()) text += fmt::format("  {:<9} {}\n", title, what);
}

void add_line(std::string& text, std::string_view title, const ErrorCause& cause,
              void (*add)(ShortText&, const ErrorCause&)) {
  ShortText what;
  add(what, cause);
  add_line(text, title, what.view());
}

void add_age(std::string& text, const ErrorCause& cause, Instant now) {
  if (cause.at.ns == 0) return;
  add_line(text, "when", short_time((now - cause.at).ns) + " ago");
}

std::string title_of(const DeviceObservation& device, const QpReport& report) {
  return fmt::format("queue pair {} ({}) of {}, process {}, device {}: ", qpn_name(report.qpn),
                     type_name(report.type), printable(device.program), device.pid,
                     printable(device.device));
}

bool has_happened(const ErrorCause& cause) {
  return cause.reason != ErrorReason::kNone;
}

void add_cause(std::string& text, const ErrorCause& cause, Instant now) {
  add_line(text, "what", cause, add_event);
  add_line(text, "check", check_text(cause.check));
  add_line(text, "memory", cause, add_memory);
  add_line(text, "packet", cause, add_packet);
  add_line(text, "request", cause, add_request);
  ShortText peer;
  add_peer(peer, cause.remote, cause.dest_qpn);
  add_line(text, "peer", peer.view());
  add_age(text, cause, now);
  add_line(text, "next", advice_text(cause));
}

void add_trouble(std::string& text, const QpReport& report, Instant now) {
  if (!has_happened(report.trouble)) return;
  text += "  LAST TROUBLE, after which it went on:\n";
  add_cause(text, report.trouble, now);
}

}  // namespace

std::string explain(const DeviceObservation& device, const QpReport& report) {
  std::string text = title_of(device, report) + std::string(state_name(report.state)) + "\n";
  if (is_stopped(device)) {
    add_line(text, "process", "stopped, as of " + age_of(device) + " ago");
  }
  const bool has_past = has_happened(report.last_error) || has_happened(report.trouble);
  if (has_happened(report.cause) || !has_past) {
    add_cause(text, report.cause, device.observed);
  }
  if (report.has_peer && report.cause.remote.is_zero()) add_line(text, "peer", peer_of(report));
  if (has_happened(report.last_error)) {
    text += "  LAST ERROR, since which it was reset or recovered:\n";
    add_cause(text, report.last_error, device.observed);
  }
  add_trouble(text, report, device.observed);
  return text;
}

std::string explain(const EndedQueuePair& ended) {
  const char* const who = ended.process_has_ended ? "its process has ended" : "destroyed";
  std::string text = title_of(ended.device, ended.report);
  text += fmt::format("{} {} ago\n", who, short_time((ended.device.observed - ended.ended).ns));
  if (const ErrorCause* const cause = failure_of(ended.report)) {
    add_cause(text, *cause, ended.device.observed);
  }
  add_trouble(text, ended.report, ended.device.observed);
  return text;
}

}  // namespace urxe::stat
