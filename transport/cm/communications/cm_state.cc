// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/communications/cm_state.h"

#include <array>

namespace urxe {
namespace {

using S = CmState;
using I = CmInput;
using R = CmReply;

struct Row {
  CmState state;
  CmInput input;
  CmVerdict verdict;
  CmState next;
  CmReply reply;
};
constexpr Row take(S state, I input, S next, R reply = R::kNothing) {
  return {state, input, CmVerdict::kNew, next, reply};
}
constexpr Row again(S state, I input, R reply = R::kNothing) {
  return {state, input, CmVerdict::kDuplicate, state, reply};
}
/// The consumer has not answered yet, and the peer repeats its message: MRA.
constexpr Row slow(S state, I input, S next) {
  return {state, input, CmVerdict::kDuplicate, next, R::kMra};
}

constexpr Row kRows[] = {
    // Connecting.
    take(S::kIdle, I::kConnect, S::kReqSent),
    take(S::kReqSent, I::kMraOfReq, S::kMraReqReceived),
    again(S::kMraReqReceived, I::kMraOfReq),
    take(S::kReqSent, I::kRep, S::kRepReceived),
    take(S::kMraReqReceived, I::kRep, S::kRepReceived),
    slow(S::kRepReceived, I::kRep, S::kMraRepSent),
    again(S::kMraRepSent, I::kRep, R::kRepeat),
    again(S::kEstablished, I::kRep, R::kRepeat),
    again(S::kDreqSent, I::kRep),
    again(S::kDreqReceived, I::kRep),
    again(S::kTimeWait, I::kRep, R::kRejectAgain),
    take(S::kRepReceived, I::kDelay, S::kMraRepSent),
    take(S::kMraRepSent, I::kDelay, S::kMraRepSent),
    take(S::kRepReceived, I::kConfirm, S::kEstablished),
    take(S::kMraRepSent, I::kConfirm, S::kEstablished),

    // Being connected to.
    take(S::kIdle, I::kReq, S::kReqReceived),
    slow(S::kReqReceived, I::kReq, S::kMraReqSent),
    again(S::kMraReqSent, I::kReq, R::kRepeat),
    again(S::kRepSent, I::kReq, R::kRepeat),
    again(S::kMraRepReceived, I::kReq),
    again(S::kEstablished, I::kReq),
    again(S::kDreqSent, I::kReq),
    again(S::kDreqReceived, I::kReq),
    again(S::kTimeWait, I::kReq, R::kRejectStale),
    take(S::kReqReceived, I::kDelay, S::kMraReqSent),
    take(S::kMraReqSent, I::kDelay, S::kMraReqSent),
    take(S::kReqReceived, I::kAccept, S::kRepSent),
    take(S::kMraReqSent, I::kAccept, S::kRepSent),
    take(S::kRepSent, I::kMraOfRep, S::kMraRepReceived),
    again(S::kMraRepReceived, I::kMraOfRep),
    take(S::kRepSent, I::kRtu, S::kEstablished),
    take(S::kMraRepReceived, I::kRtu, S::kEstablished),
    again(S::kEstablished, I::kRtu),
    again(S::kDreqSent, I::kRtu),
    again(S::kDreqReceived, I::kRtu),
    again(S::kTimeWait, I::kRtu, R::kRejectAgain),
    take(S::kRepSent, I::kEstablish, S::kEstablished),
    take(S::kMraRepReceived, I::kEstablish, S::kEstablished),
    again(S::kEstablished, I::kEstablish),

    // Rejecting. A queue pair that the peer knows of stays in time-wait.
    take(S::kReqSent, I::kReject, S::kIdle),
    take(S::kMraReqReceived, I::kReject, S::kIdle),
    take(S::kReqReceived, I::kReject, S::kIdle),
    take(S::kMraReqSent, I::kReject, S::kIdle),
    take(S::kRepReceived, I::kReject, S::kIdle),
    take(S::kMraRepSent, I::kReject, S::kIdle),
    take(S::kRepSent, I::kReject, S::kTimeWait),
    take(S::kMraRepReceived, I::kReject, S::kTimeWait),

    // Being rejected.
    take(S::kReqSent, I::kRej, S::kIdle),
    take(S::kMraReqReceived, I::kRej, S::kIdle),
    take(S::kReqReceived, I::kRej, S::kIdle),
    take(S::kMraReqSent, I::kRej, S::kIdle),
    take(S::kRepSent, I::kRej, S::kIdle),
    take(S::kMraRepReceived, I::kRej, S::kIdle),
    take(S::kRepReceived, I::kRej, S::kTimeWait),
    take(S::kMraRepSent, I::kRej, S::kTimeWait),
    take(S::kEstablished, I::kRej, S::kTimeWait),
    take(S::kDreqSent, I::kRej, S::kTimeWait),
    again(S::kTimeWait, I::kRej),
    take(S::kReqSent, I::kRejStale, S::kTimeWait),
    take(S::kMraReqReceived, I::kRejStale, S::kTimeWait),
    take(S::kReqReceived, I::kRejStale, S::kTimeWait),
    take(S::kMraReqSent, I::kRejStale, S::kTimeWait),
    take(S::kRepSent, I::kRejStale, S::kTimeWait),
    take(S::kMraRepReceived, I::kRejStale, S::kTimeWait),
    take(S::kRepReceived, I::kRejStale, S::kTimeWait),
    take(S::kMraRepSent, I::kRejStale, S::kTimeWait),
    take(S::kEstablished, I::kRejStale, S::kTimeWait),
    take(S::kDreqSent, I::kRejStale, S::kTimeWait),
    again(S::kTimeWait, I::kRejStale),

    // Disconnecting. If both ends send a DREQ at the same time, each is answered at once.
    take(S::kEstablished, I::kDisconnect, S::kDreqSent),
    take(S::kRepSent, I::kDreq, S::kDreqReceived),
    take(S::kMraRepReceived, I::kDreq, S::kDreqReceived),
    take(S::kEstablished, I::kDreq, S::kDreqReceived),
    take(S::kDreqSent, I::kDreq, S::kTimeWait, R::kDrep),
    again(S::kDreqReceived, I::kDreq),
    again(S::kTimeWait, I::kDreq, R::kDrep),
    take(S::kDreqReceived, I::kDisconnect, S::kTimeWait),
    take(S::kDreqReceived, I::kAnswerDisconnect, S::kTimeWait),
    take(S::kDreqSent, I::kDrep, S::kTimeWait),
    again(S::kTimeWait, I::kDrep),

    // Time.
    take(S::kReqSent, I::kTimeout, S::kIdle, R::kRejectTimeout),
    take(S::kMraReqReceived, I::kTimeout, S::kIdle, R::kRejectTimeout),
    take(S::kRepSent, I::kTimeout, S::kTimeWait, R::kRejectTimeout),
    take(S::kMraRepReceived, I::kTimeout, S::kTimeWait, R::kRejectTimeout),
    take(S::kDreqSent, I::kTimeout, S::kTimeWait),
    take(S::kTimeWait, I::kTimeout, S::kIdle),
    take(S::kEstablished, I::kPeerGone, S::kTimeWait),

    // Service resolution.
    take(S::kIdle, I::kResolveService, S::kSidrReqSent),
    take(S::kSidrReqSent, I::kSidrRep, S::kIdle),
    take(S::kSidrReqSent, I::kTimeout, S::kIdle),
    take(S::kIdle, I::kSidrReq, S::kSidrReqReceived),
    again(S::kSidrReqReceived, I::kSidrReq),
    take(S::kSidrReqReceived, I::kAnswerService, S::kIdle),
};

using Table = std::array<std::array<CmStep, kCmInputs>, kCmStates>;

constexpr Table make_table() {
  Table table{};
  for (size_t state = 0; state < kCmStates; ++state) {
    for (CmStep& step : table[state]) step.next = static_cast<CmState>(state);
  }
  for (const Row& row : kRows) {
    table[static_cast<size_t>(row.state)][static_cast<size_t>(row.input)] = {row.verdict, row.next,
                                                                             row.reply};
  }
  return table;
}
constexpr Table kTable = make_table();

constexpr bool has_no_row_twice() {
  size_t legal = 0;
  for (const auto& row : kTable) {
    for (const CmStep& step : row) legal += step.verdict != CmVerdict::kIllegal;
  }
  return legal == std::size(kRows);
}
static_assert(has_no_row_twice());

}  // namespace

CmStep cm_step(CmState state, CmInput input) {
  return kTable[static_cast<size_t>(state)][static_cast<size_t>(input)];
}

const char* cm_state_name(CmState state) {
  constexpr const char* kNames[kCmStates] = {
      "idle",         "req_sent",      "mra_req_received", "rep_received",     "mra_rep_sent",
      "req_received", "mra_req_sent",  "rep_sent",         "mra_rep_received", "established",
      "dreq_sent",    "dreq_received", "time_wait",        "sidr_req_sent",    "sidr_req_received"};
  return kNames[static_cast<size_t>(state)];
}

const char* cm_input_name(CmInput input) {
  constexpr const char* kNames[kCmInputs] = {"connect",
                                             "accept",
                                             "confirm",
                                             "reject",
                                             "delay",
                                             "disconnect",
                                             "answer_disconnect",
                                             "establish",
                                             "resolve_service",
                                             "answer_service",
                                             "req",
                                             "mra_of_req",
                                             "mra_of_rep",
                                             "rej",
                                             "rej_stale",
                                             "rep",
                                             "rtu",
                                             "dreq",
                                             "drep",
                                             "sidr_req",
                                             "sidr_rep",
                                             "timeout",
                                             "peer_gone"};
  return kNames[static_cast<size_t>(input)];
}

}  // namespace urxe
