// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/explanation.h"

#include <arpa/inet.h>

#include <cinttypes>

#include "packet/wire/ack_timeout.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/opcode.h"
#include "provider/observation/report_names.h"

namespace urxe {
namespace {

constexpr int64_t kUsNs = 1000;
constexpr int64_t kMsNs = 1'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;

void add_timeout(ShortText& text, const ErrorCause& cause) {
  text.add_format("the peer has not answered the request with PSN %" PRIu32 ": ",
                  cause.psn.value());
  if (cause.timeout == 0 || cause.timeout > kMaxTimeout) return text.add("no local ACK timeout");
  text.add("a local ACK timeout of ");
  add_time(text, ack_timeout_of(cause.timeout).ns);
  text.add_format(" (timeout %u)", unsigned{cause.timeout});
  if (cause.reason == ErrorReason::kAckTimeout)
    return text.add(" has passed, and it was sent again");
  text.add_format(", and the retry count of %u is used up", unsigned{cause.retries});
  if (cause.free_timeouts == 0) return;
  text.add_format("; %u more timeouts cost no retry, because too few processors were free",
                  unsigned{cause.free_timeouts});
}

void add_rnr_nak(ShortText& text, const ErrorCause& cause) {
  text.add("the peer had no receive posted, and asked to wait for ");
  add_time(text, rnr_timer(syndrome_value(cause.syndrome)).ns);
}

/// A request of UC or UD gets no answer.
void add_no_receive(ShortText& text, const ErrorCause& cause) {
  text.add("this side had no receive posted for a request of the peer, which ");
  if (cause.syndrome == 0) return text.add("was dropped");
  text.add("was asked to wait for ");
  add_time(text, rnr_timer(syndrome_value(cause.syndrome)).ns);
}

void add_rnr(ShortText& text, const ErrorCause& cause) {
  text.add_format(
      "the peer had no receive posted, and the RNR retry count of %u is used up; each retry "
      "waited ",
      unsigned{cause.retries});
  add_time(text, rnr_timer(syndrome_value(cause.syndrome)).ns);
}

std::string_view nak_text(uint8_t syndrome) {
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

void add_nak(ShortText& text, std::string_view who, uint8_t syndrome) {
  text.add(who);
  text.add(nak_text(syndrome));
}

/// What needs no values.
std::string_view plain_event(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kByApplication:
      return "the application has moved it to ERR (ibv_modify_qp)";
    case ErrorReason::kDeviceGone:
      return "the network interface of the device was removed";
    case ErrorReason::kReservedSyndrome:
      return "the peer has answered with a reserved AETH syndrome";
    case ErrorReason::kBadResponse:
      return "a response of the peer does not fit the request";
    case ErrorReason::kLocalSend:
      return "a send work request could not be carried out on this side";
    case ErrorReason::kLocalReceive:
      return "the memory of a posted receive could not be written";
    case ErrorReason::kCompletionLost:
      return "a completion queue was full, and a completion was lost";
    case ErrorReason::kSequenceNak:
      return "the peer lacked a request (NAK, PSN sequence error), which was sent again";
    case ErrorReason::kDropped:
      return "this side has dropped a message of the peer";
    default:
      return "nothing went wrong";
  }
}

void add_part(ShortText& text, const ErrorCause& cause,
              void (*add)(ShortText&, const ErrorCause&)) {
  ShortText part;
  add(part, cause);
  if (part.empty()) return;
  text.add("; ");
  text.add(part.view());
}

}  // namespace

void add_time(ShortText& text, int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < kUsNs) return text.add_format("%" PRId64 "ns", ns);
  if (ns < kMsNs) return text.add_format("%.1fus", value / static_cast<double>(kUsNs));
  if (ns < kSecondNs - kMsNs / 20) {
    return text.add_format("%.1fms", value / static_cast<double>(kMsNs));
  }
  const double seconds = value / static_cast<double>(kSecondNs);
  text.add_format(seconds < 9.95 ? "%.1fs" : "%.0fs", seconds);
}

void add_event(ShortText& text, const ErrorCause& cause) {
  switch (cause.reason) {
    case ErrorReason::kNoAnswer:
    case ErrorReason::kAckTimeout:
      return add_timeout(text, cause);
    case ErrorReason::kLostTooOften:
      return text.add_format("packets were reported lost again and again, at last PSN %" PRIu32
                             ", and the retry count of %u is used up",
                             cause.psn.value(), unsigned{cause.retries});
    case ErrorReason::kReceiverNotReady:
      return add_rnr(text, cause);
    case ErrorReason::kRnrNak:
      return add_rnr_nak(text, cause);
    case ErrorReason::kNoReceive:
      return add_no_receive(text, cause);
    case ErrorReason::kGap:
      return text.add_format("a request of the peer did not come: this side expected PSN %" PRIu32,
                             cause.psn.value());
    case ErrorReason::kNoResponse:
      return text.add_format("the response to a READ or atomic did not come: PSN %" PRIu32
                             ", which was asked for again",
                             cause.psn.value());
    case ErrorReason::kNak:
      return add_nak(text, "the peer has refused a request: ", cause.syndrome);
    case ErrorReason::kRefusedRequest:
      return add_nak(text, "this side has refused a request of the peer: ", cause.syndrome);
    case ErrorReason::kInvalidate:
      return text.add_format("the peer may not invalidate key 0x%08" PRIx32, cause.key);
    default:
      return text.add(plain_event(cause.reason));
  }
}

std::string_view check_text(Check check) {
  switch (check) {
    case Check::kOperation:
      return "the queue pair does not take this operation: see its access flags "
             "(IBV_ACCESS_REMOTE_..., IBV_ACCESS_FLUSH_...) at INIT or RTR";
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
      return "more READs, atomics and FLUSHes at a time than max_dest_rd_atomic";
    case Check::kReceiveLength:
      return "the message is longer than the receive";
    case Check::kQKey:
      return "the Q_Key of the datagram is not that of the queue pair";
    case Check::kSharedQueue:
      return "the shared receive queue that the request names is not one of the XRC domain";
    case Check::kUnknownKey:
      return "no memory region or window has the key: was it deregistered?";
    case Check::kOtherDomain:
      return "the key is of another protection domain than the queue pair";
    case Check::kOtherDomainOfQueue:
      return "the key is of another protection domain than the shared receive queue";
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
    case Check::kPlacement:
      return "the FLUSH names no placement type, or values that the specification reserves";
    case Check::kReservedOpcode:
      return "the specification reserves the opcode";
    default:
      return "";
  }
}

void add_memory(ShortText& text, const ErrorCause& cause) {
  if (cause.length == 0) return;
  text.add_format("key 0x%08" PRIx32 ", %" PRIu64 " B at 0x%" PRIx64, cause.key, cause.length,
                  cause.address);
}

void add_packet(ShortText& text, const ErrorCause& cause) {
  if (cause.opcode == ErrorCause::kNoOpcode) return;
  const std::string_view name = opcode_info(Opcode(cause.opcode)).name;
  if (name.empty()) {
    text.add_format("opcode 0x%02x", unsigned{cause.opcode});
  } else {
    text.add(name);
  }
  text.add_format(", PSN %" PRIu32, cause.psn.value());
  if (cause.syndrome == 0) return;
  const bool is_ours = cause.reason == ErrorReason::kRefusedRequest;
  text.add_format(", %sAETH syndrome 0x%02x", is_ours ? "answered with " : "",
                  unsigned{cause.syndrome});
}

bool is_of_a_receive(const ErrorCause& cause) {
  return cause.reason == ErrorReason::kLocalReceive || cause.reason == ErrorReason::kInvalidate ||
         cause.reason == ErrorReason::kRefusedRequest;
}

void add_request(ShortText& text, const ErrorCause& cause) {
  if (cause.status == 0) return;
  text.add(is_of_a_receive(cause) ? "receive" : work_request_name(cause.work_request));
  text.add_format(", wr_id %" PRIu64 " (0x%" PRIx64 "), completed with ", cause.wr_id, cause.wr_id);
  text.add(status_name(cause.status));
  text.add_format(" (%u)", unsigned{cause.status});
}

void add_peer(ShortText& text, const Gid& remote, uint32_t qpn) {
  if (remote.is_zero()) return;
  char address[INET6_ADDRSTRLEN] = "";
  const bool v4 = remote.is_ipv4();
  inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? remote.ipv4() : remote.bytes.data(), address,
            sizeof address);
  text.add_format("%s 0x%06" PRIx32, address, qpn);
}

ShortText failure_line(std::string_view device, const QpReport& report) {
  ShortText text;
  const ErrorCause* const cause = failure_of(report);
  if (cause == nullptr) return text;
  text.add_format("queue pair 0x%06" PRIx32 " (", report.qpn);
  text.add(type_name(report.type));
  text.add(") of ");
  text.add(device);
  if (!cause->remote.is_zero()) text.add(" to ");
  add_peer(text, cause->remote, cause->dest_qpn);
  text.add(" failed: ");
  add_event(text, *cause);
  if (const auto check = check_text(cause->check); !check.empty()) {
    text.add("; ");
    text.add(check);
  }
  add_part(text, *cause, add_memory);
  add_part(text, *cause, add_packet);
  add_part(text, *cause, add_request);
  return text;
}

}  // namespace urxe
