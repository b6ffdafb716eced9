// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/why.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include "packet/base/time.h"
#include "packet/wire/aeth_syndrome.h"
#include "tools/stat/names.h"
#include "tools/stat/table.h"

namespace urxe::stat {
namespace {

constexpr int64_t kAckTimeoutUnitNs = 4096;

std::string nak_text(uint8_t syndrome) {
  switch (static_cast<NakCode>(syndrome_value(syndrome))) {
    case NakCode::kInvalidRequest:
      return "NAK, invalid request";
    case NakCode::kRemoteAccessError:
      return "NAK, remote access error";
    case NakCode::kRemoteOperationalError:
      return "NAK, remote operational error";
    default:
      return "NAK with a code that requests on this service do not get";
  }
}

std::string memory_text(const ErrorCause& cause) {
  return fmt::format("key 0x{:08x}, {} B at 0x{:x}", cause.key, cause.length, cause.address);
}

std::string timeout_text(const QpReport& report) {
  if (report.timeout == 0) return "no local ACK timeout";
  return fmt::format("a local ACK timeout of {} (timeout {}), {} retries",
                     short_time(kAckTimeoutUnitNs << report.timeout), report.timeout,
                     report.retry_count);
}

/// What happened, in a sentence.
std::string event_text(const QpReport& report) {
  const ErrorCause& cause = report.cause;
  switch (cause.reason) {
    case ErrorReason::kByApplication:
      return "the application has moved it to ERR (ibv_modify_qp)";
    case ErrorReason::kDeviceGone:
      return "the network interface of the device was removed";
    case ErrorReason::kNoAnswer:
      return "the peer has not answered: " + timeout_text(report);
    case ErrorReason::kLostTooOften:
      return fmt::format("packets were reported lost again and again: {} retries were spent",
                         cause.retries);
    case ErrorReason::kReceiverNotReady:
      return fmt::format("the peer had no receive posted: {} RNR retries were spent, each after {}",
                         cause.retries, short_time(rnr_timer(syndrome_value(cause.syndrome)).ns));
    case ErrorReason::kNak:
      return "the peer has refused a request: " + nak_text(cause.syndrome);
    case ErrorReason::kReservedSyndrome:
      return "the peer has answered with a reserved AETH syndrome";
    case ErrorReason::kBadResponse:
      return "a response of the peer does not fit the request";
    case ErrorReason::kLocalSend:
      return "a send work request could not be carried out on this side";
    case ErrorReason::kRefusedRequest:
      return "this side has refused a request of the peer: " + nak_text(cause.syndrome);
    case ErrorReason::kLocalReceive:
      return "the memory of a posted receive could not be written";
    case ErrorReason::kInvalidate:
      return fmt::format("the peer may not invalidate key 0x{:08x}", cause.key);
    case ErrorReason::kCompletionLost:
      return "a completion queue was full, and a completion was lost";
    default:
      return "nothing went wrong";
  }
}

std::string check_text(Check check) {
  switch (check) {
    case Check::kOperation:
      return "the queue pair does not take this operation: see its access flags "
             "(IBV_ACCESS_REMOTE_...) at INIT or RTR";
    case Check::kOpcodeSequence:
      return "the packet does not continue the message under way, or continues none";
    case Check::kPayloadLength:
      return "the payload's length is not what such a packet carries; do both ends use the same "
             "path MTU?";
    case Check::kMessageLength:
      return "the payloads do not add up to the length that the request names, or it is too long";
    case Check::kAlignment:
      return "the address of an atomic must be a multiple of 8";
    case Check::kTooManyReads:
      return "more READs and atomics at a time than max_dest_rd_atomic";
    case Check::kReceiveLength:
      return "the message is longer than the receive";
    case Check::kSharedQueue:
      return "the shared receive queue that the request names is not one of the XRC domain";
    case Check::kUnknownKey:
      return "no memory region or window has the key: was it deregistered?";
    case Check::kOtherDomain:
      return "the key is of another protection domain than the queue pair";
    case Check::kRights:
      return "the region or window does not grant the access: see the flags of ibv_reg_mr";
    case Check::kBounds:
      return "the range is not inside the region or window";
    case Check::kNotBound:
      return "the memory window is not bound";
    case Check::kOtherQueuePair:
      return "the type 2 window is bound by another queue pair";
    case Check::kNotMapped:
      return "the memory behind the region was unmapped";
    default:
      return "";
  }
}

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
    case ErrorReason::kNak:
      return "`urxe stat --why` at the peer names the check that failed there";
    case ErrorReason::kCompletionLost:
      return "make the completion queue larger, or poll it more often";
    default:
      return "";
  }
}

void add_line(std::string& text, std::string_view title, const std::string& what) {
  if (!what.empty()) text += fmt::format("  {:<9} {}\n", title, what);
}

std::string packet_text(const ErrorCause& cause) {
  if (cause.opcode == ErrorCause::kNoOpcode) return "";
  std::string text = fmt::format("{}, PSN {}", opcode_info(Opcode(cause.opcode)).name,
                                 number_name(cause.psn.value()));
  if (cause.syndrome != 0) text += fmt::format(", AETH syndrome 0x{:02x}", cause.syndrome);
  return text;
}

std::string request_text(const ErrorCause& cause) {
  if (cause.status == 0) return "";
  const bool is_receive =
      cause.reason == ErrorReason::kLocalReceive || cause.reason == ErrorReason::kInvalidate;
  return fmt::format("{}, wr_id {} (0x{:x}), completed with {} ({})",
                     is_receive ? "receive" : work_request_name(cause.work_request), cause.wr_id,
                     cause.wr_id, status_name(cause.status), cause.status);
}

}  // namespace

bool has_failed(const QpReport& report) {
  return report.cause.reason != ErrorReason::kNone &&
         report.cause.reason != ErrorReason::kByApplication;
}

std::string explain(const DeviceObservation& device, const QpReport& report) {
  const ErrorCause& cause = report.cause;
  std::string text =
      fmt::format("queue pair {} ({}) of {}, process {}, device {}: {}\n", number_name(report.qpn),
                  type_name(report.type), printable(device.program), device.pid,
                  printable(device.device), state_name(report.state));
  add_line(text, "what", event_text(report));
  add_line(text, "check", check_text(cause.check));
  if (cause.length != 0) add_line(text, "memory", memory_text(cause));
  add_line(text, "packet", packet_text(cause));
  add_line(text, "request", request_text(cause));
  if (report.has_peer) add_line(text, "peer", peer_of(report));
  add_line(text, "next", advice_text(cause));
  return text;
}

}  // namespace urxe::stat
