// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/report_names.h"

#include <infiniband/verbs.h>

#include <array>

namespace urxe {
namespace {

constexpr std::string_view kUnnamed = "?";

template <size_t Size>
std::string_view name_in(const std::array<std::string_view, Size>& names, size_t value) {
  return value < Size ? names[value] : kUnnamed;
}

constexpr auto kStates =
    std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"});

constexpr auto kWaits =
    std::to_array<std::string_view>({"", "state", "answer", "rnr", "credits", "window", "pacing",
                                     "reads", "read-room", "fence", "drain", "receive"});
static_assert(kWaits.size() == static_cast<size_t>(WaitReason::kCount));

constexpr auto kReasons = std::to_array<std::string_view>(
    {"",           "modified",     "device-gone",  "no-answer",    "lost",    "rnr",
     "nak",        "bad-syndrome", "bad-response", "local-send",   "refused", "local-receive",
     "invalidate", "cq-full",      "ack-timeout",  "sequence-nak", "rnr-nak", "gap",
     "no-receive", "dropped",      "no-response"});
static_assert(kReasons.size() == static_cast<size_t>(ErrorReason::kCount));

constexpr auto kChecks = std::to_array<std::string_view>({
    "",
    "operation",
    "opcode-sequence",
    "payload-length",
    "message-length",
    "alignment",
    "too-many-reads",
    "receive-length",
    "q-key",
    "shared-queue",
    "unknown-key",
    "other-domain",
    "rights",
    "bounds",
    "not-bound",
    "other-queue-pair",
    "not-mapped",
    "placement",
    "other-domain-of-srq",
    "reserved-opcode",
});
static_assert(kChecks.size() == static_cast<size_t>(Check::kCount));

constexpr auto kStatusNames = std::to_array<std::string_view>(
    {"SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR",
     "MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR",
     "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"});

constexpr auto kWorkRequests = std::to_array<std::string_view>(
    {"RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM", "RDMA_READ",
     "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV", "BIND_MW", "SEND_WITH_INV", "TSO",
     "DRIVER1", "?", "?", "FLUSH", "ATOMIC_WRITE"});

}  // namespace

std::string_view type_name(uint8_t type) {
  switch (type) {
    case IBV_QPT_RC:
      return "RC";
    case IBV_QPT_UC:
      return "UC";
    case IBV_QPT_UD:
      return "UD";
    case IBV_QPT_RAW_PACKET:
      return "RAW";
    case IBV_QPT_XRC_SEND:
      return "XRC-S";
    case IBV_QPT_XRC_RECV:
      return "XRC-R";
    default:
      return kUnnamed;
  }
}

std::string_view state_name(uint8_t state) {
  return name_in(kStates, state);
}
std::string_view wait_name(WaitReason reason) {
  return name_in(kWaits, static_cast<size_t>(reason));
}
std::string_view reason_name(ErrorReason reason) {
  return name_in(kReasons, static_cast<size_t>(reason));
}
std::string_view check_name(Check check) {
  return name_in(kChecks, static_cast<size_t>(check));
}
std::string_view status_name(uint32_t status) {
  return name_in(kStatusNames, status);
}
std::string_view work_request_name(uint32_t opcode) {
  return name_in(kWorkRequests, opcode);
}

}  // namespace urxe
