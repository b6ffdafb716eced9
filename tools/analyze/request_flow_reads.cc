// SPDX-License-Identifier: BSD-2-Clause
// READs and their responses. A requester that misses some of them asks for all from the first one
// on that is missing, or, as urxe does, only for those that are missing.
#include <algorithm>

#include "tools/analyze/packet_rules.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

/// So many responses of one gap are marked in the plots.
constexpr LongPsn kMostMarked = 64;
/// So many responses of one gap are looked for among those with a wrong ICRC. Whoever makes a
/// capture may let each READ ask for millions of them.
constexpr LongPsn kMostLookedFor = 1024;

const OpcodeInfo& info_of(const CapturedPacket& packet) {
  return opcode_info(packet.view.headers.bth.opcode);
}

}  // namespace

/// Whether the response is the last one of its READ. That of a part which was asked for again is
/// not, if what is behind it has come.
bool RequestFlow::ends_read(const CapturedPacket& packet, LongPsn psn) {
  const Message* const message = messages_.find(psn);
  return info_of(packet).ends_message && (message == nullptr || psn >= message->seen_until - 1);
}

/// The length of the newest READ is not known: its responses say where it ends. One follows at
/// least behind a First or a Middle.
void RequestFlow::extend_read(const CapturedPacket& packet, LongPsn psn) {
  if (!open_read_ || psn < *open_read_ || psn >= expected_most_) return;
  Message* const message = messages_.find(*open_read_);
  if (message == nullptr || message->knows_length) return;
  const bool ends = info_of(packet).ends_message && psn >= message->seen_until - 1;
  const LongPsn end = std::max(message->end, psn + (info_of(packet).ends_message ? 1 : 2));
  const LongPsn read = *open_read_;
  settle_read(end, ends);
  if (!ends) open_read_ = read;
  expected_ = end;
  if (ends) expected_most_ = end;
}

/// [from, to) were passed over. Those that came with a wrong ICRC do not count.
void RequestFlow::note_missing(LongPsn from, LongPsn to) {
  const LongPsn stop = std::min(to, from + kMostLookedFor);
  for (LongPsn psn = from; psn < stop && !corrupted_responses_.empty(); ++psn) {
    if (!corrupted_responses_.take(wire_psn(psn), last_response_ns_, now_ns_)) continue;
    count_missing(from, psn);
    from = psn + 1;
  }
  count_missing(from, to);
}

void RequestFlow::count_missing(LongPsn from, LongPsn to) {
  if (from >= to) return;
  counts_.missing_responses += static_cast<uint64_t>(to - from);
  responses_.miss(from, to);
  for (LongPsn psn = from; psn < std::min(to, from + kMostMarked); ++psn) {
    mark(FlowEvent::kMissingResponse, psn);
  }
}

void RequestFlow::take_back_missing(LongPsn psn) {
  --counts_.missing_responses;
  trace_.take_back(FlowEvent::kMissingResponse, psn);
}

/// The READ `message`, or a part of it, is sent again.
void RequestFlow::ask_again(Message& message, const CapturedPacket& packet, LongPsn psn) {
  if (message.kind != MessageKind::kRead) return;
  const bool part = is_part_of_read(packet, psn);
  message.in_parts = message.in_parts || part;
  // The answer to a part comes between the others, and what it seems to pass over is no gap.
  if (!part) message.asked_from = psn;
  responses_.ask_again(psn, part ? psn + span_of(packet).least : message.end);
}

/// A response that was not seen before, or that was asked for again.
void RequestFlow::put_response(const CapturedPacket& packet, Message& message, LongPsn psn) {
  if (info_of(packet).starts_message && message.asked_from == psn) {
    message.asked_from.reset();
    message.responses_end = psn;
  }
  LongPsn from = std::max(message.first, message.responses_end);
  while (const auto gap = responses_.gap(from, psn)) {
    note_missing(gap->first, gap->second);
    from = gap->second;
  }
  if (ends_read(packet, psn)) message.responses_stop = psn + 1;
  responses_.add(psn);
  message.responses_end = std::max(message.responses_end, psn + 1);
  message.seen_until = std::max(message.seen_until, psn + 1);
}

void RequestFlow::on_read_response(const CapturedPacket& packet, LongPsn psn, ViolationLog& log) {
  ++counts_.read_responses;
  extend_read(packet, psn);
  // The last response says where a READ of unknown length has ended, if more was missing behind it.
  if (ends_read(packet, psn)) shorten_read(psn + 1);
  Message* const message = messages_.find(psn);
  if (message == nullptr || psn >= message->end) {
    if (responses_.was_late(psn, true)) take_back_missing(psn);
    ++counts_.repeated_responses;
    return;
  }
  if (message->kind != MessageKind::kRead) {
    if (has_own_answer(message->kind)) messages_.answer(psn, packet.time_ns);
    acknowledge(psn + 1, packet.time_ns);
    return;
  }
  check_read_response(packet, *message, psn, log);
  const bool again = responses_.has(psn);
  if (responses_.was_late(psn, again)) take_back_missing(psn);
  if (again && psn < message->responses_end && message->asked_from != psn) {
    ++counts_.repeated_responses;
    return;
  }
  put_response(packet, *message, psn);
  const LongPsn first = message->first;
  const std::optional<LongPsn> end = message->knows_length ? message->end : message->responses_stop;
  const LongPsn seen = responses_.end_of(first);
  // The requester asks for what is missing before this response.
  if (seen <= psn) message->overtaken = true;
  if (end && seen >= *end) {
    responses_.forget(first, *end);
    messages_.answer(psn, packet.time_ns);
  }
  acknowledge(first, packet.time_ns);
  acknowledged_ = std::max(acknowledged_, psn + 1);
}

}  // namespace urxe::analyze
