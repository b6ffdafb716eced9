// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/capture_table.h"

#include <algorithm>

#include "tests/interop/replay/interop_rows.h"

namespace urxe::replay {
namespace {

using enum Difference;

constexpr int kAllRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

std::vector<CaptureRow> reliable() {
  return {
      // ACKs came 4 ms late and more.
      {.file = "perftest_rc.pcap", .as_requester = {{kOwnRepeat, 2}}},
      {.file = "rc_atomic.pcap"},
      // The first ACK came after 44 ms: asked for once.
      {.file = "rc_burst.pcap", .as_requester = {{kOwnRepeat, 1}}},
      {.file = "rc_mixed_fence.pcap", .fenced_chain = true},
      {.file = "rc_mtu2048.pcap"},
      {.file = "rc_mtu256.pcap"},
      {.file = "rc_mtu4096.pcap",
       .as_requester = {{kRecordedRepeat, 1}},
       .as_responder = {{kUnrequestedAck, 1}}},
      {.file = "rc_psn_wrap.pcap"},
      {.file = "rc_read.pcap"},
      {.file = "rc_read_v6.pcap"},
      {.file = "rc_send.pcap"},
      {.file = "rc_send_imm.pcap"},
      {.file = "rc_send_inv.pcap"},
      {.file = "rc_send_v6.pcap"},
      {.file = "rc_srq.pcap", .shared_receives = true},
      {.file = "rc_write.pcap"},
      {.file = "rc_write_imm.pcap"},
      {.file = "rc_write_v6.pcap"},
  };
}

std::vector<CaptureRow> refused() {
  // 1 MiB was registered, twice with the right and once without; rxe gives no key for the latter.
  constexpr uint64_t kVa = 0x7fbc9e568000;
  constexpr uint64_t kLength = 1 << 20;
  return {
      {.file = "nak_access.pcap",
       .regions = {{0x1098e, kVa, kLength, kAllRemote},
                   {0x10a05, kVa, kLength, kAllRemote},
                   {0, kVa, kLength, IBV_ACCESS_LOCAL_WRITE}}},
      {.file = "nak_invalid.pcap"},
      {.file = "nak_recv_too_small.pcap", .as_responder = {{kShortReceiveNak, 1}}},
      {.file = "retry_exceeded.pcap", .as_requester = {{kOwnRepeat, 2}}},
      {.file = "rnr_exceeded.pcap"},
      {.file = "rnr_nak.pcap"},
  };
}

/// The faults were on the sender's side of the place where the capture was made.
std::vector<CaptureRow> faulty() {
  return {
      {.file = "duplicate.pcap",
       .as_responder = {{kUnrequestedAck, 6}},
       .timeout = 12,
       .sets_atomics = true},
      {.file = "loss_request.pcap",
       .as_requester = {{kFaultyLink, 9}, {kOwnRepeat, 4}, {kRecordedRepeat, 7}},
       .as_responder = {{kUnrequestedAck, 5}},
       .timeout = 12,
       .sets_atomics = true},
      {.file = "loss_response.pcap",
       .as_requester = {{kOwnRepeat, 11}, {kRecordedRepeat, 13}},
       .as_responder = {{kFaultyLink, 4}, {kUnrequestedAck, 7}, {kResumedRead, 2}},
       .timeout = 12,
       .sets_atomics = true},
      {.file = "reorder.pcap",
       .as_requester = {{kFaultyLink, 5}, {kOwnRepeat, 5}, {kRecordedRepeat, 3}},
       .as_responder = {{kUnrequestedAck, 4}},
       .timeout = 12,
       .sets_atomics = true},
  };
}

std::vector<CaptureRow> unreliable() {
  return {
      {.file = "mcast_mckey.pcap"}, {.file = "uc_send.pcap"},    {.file = "uc_write.pcap"},
      {.file = "ud_send_v4.pcap"},  {.file = "ud_send_v6.pcap"},
  };
}

std::vector<CaptureRow> connection_manager() {
  return {
      {.file = "cm_reject.pcap", .without_requests = "the connection is refused"},
      {.file = "cm_rping.pcap"},
      {.file = "cm_rping_v6.pcap"},
      {.file = "cm_ucmatose.pcap"},
      {.file = "cm_udaddy.pcap"},
  };
}

std::vector<CaptureRow> all() {
  std::vector<CaptureRow> rows;
  for (const auto& part :
       {reliable(), refused(), faulty(), unreliable(), connection_manager(), interop_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

const std::vector<CaptureRow>& capture_table() {
  static const std::vector<CaptureRow> rows = all();
  return rows;
}

std::string name_of(const CaptureRow& row) {
  std::string name(row.file.substr(0, row.file.find(".pcap")));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
}

}  // namespace urxe::replay
