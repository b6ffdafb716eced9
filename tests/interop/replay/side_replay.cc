// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/side_replay.h"

#include <algorithm>

#include "packet/wire/ip/grh.h"
#include "tests/interop/replay/conversation_comparison.h"
#include "tests/interop/replay/operation.h"
#include "tests/interop/replay/work_request.h"
#include "transport/requester/requester.h"

namespace urxe::replay {
namespace {

/// Long enough for any number of retries that a recorded requester had.
constexpr Duration kPatience = seconds(30);

struct Arrival {
  const Talk* talk;
  const Message* message;
};

/// The messages that take receives of the queue pair, in the order in which they came.
std::vector<Arrival> messages_to_receive(const QueuePairPlan& plan) {
  std::vector<Arrival> arrivals;
  for (const Talk* talk : plan.receives) {
    for (const Message& message : talk->messages) {
      if (needs_receive(message.operation())) arrivals.push_back({talk, &message});
    }
  }
  if (plan.service == Service::kUd) {
    std::ranges::stable_sort(arrivals, {},
                             [](const Arrival& one) { return one.message->parts.front()->number; });
  }
  return arrivals;
}

const Message* message_of(const Talk& talk, const Frame& request) {
  const auto it = std::ranges::find_if(
      talk.messages, [&](const Message& message) { return message.covers(request.psn()); });
  return it != talk.messages.end() ? &*it : nullptr;
}

/// Whether no packet with the PSN was recorded before.
bool is_first(const Talk& talk, const Frame& request) {
  return std::ranges::none_of(talk.conversation.requests, [&](const Frame* other) {
    return other->number < request.number && other->psn() == request.psn();
  });
}

bool is_legitimate(DropReason reason) {
  return reason == DropReason::kUnexpectedPsn || reason == DropReason::kOutOfSequence ||
         reason == DropReason::kQpState || reason == DropReason::kUnknownQp;
}

bool has_key(const Frame& frame) {
  const Ext extensions = frame.info().extensions;
  return frame.info().is_request &&
         (has(extensions, Ext::kReth) || has(extensions, Ext::kAtomicEth) ||
          has(extensions, Ext::kIeth));
}

}  // namespace

SideReplay::SideReplay(const Story& story, const SidePlan& plan)
    : story_(story), adapter_(plan.gid), buffers_(adapter_), memory_(adapter_, story, plan) {
  for (const QueuePairPlan& queue_pair : plan.queue_pairs) {
    for (const Talk* talk : queue_pair.receives) plan_requests(*talk);
    if (queue_pair.is_gone) continue;
    records_.push_back({queue_pair, set_up(adapter_, queue_pair, story.row())});
    QueuePairRecord& record = records_.back();
    plan_receives(record);
    for (const Talk* talk : queue_pair.sends) {
      plan_sends(record, *talk);
      plan_responses(record, *talk);
    }
  }
}

void SideReplay::at(Instant time, size_t order, std::function<void()> act) {
  actions_.push_back({time, order, std::move(act)});
}

void SideReplay::plan_sends(QueuePairRecord& record, const Talk& talk) {
  const bool chain = story_.row().fenced_chain;
  for (const Message& message : talk.messages) {
    const bool fenced = chain && &message != &talk.messages.front();
    const Message& when = chain ? talk.messages.front() : message;
    at(when.posted, when.order,
       [this, &record, &talk, &message, fenced] { post_send(record, talk, message, fenced); });
  }
}

/// All receives are there from the beginning but those that RNR NAKs tell were missing: these come
/// after the last of them, and so do those behind them.
void SideReplay::plan_receives(QueuePairRecord& record) {
  Instant ready = kStart;
  for (const Arrival& arrival : messages_to_receive(record.plan)) {
    if (arrival.message->outcome == Outcome::kRnrExceeded) return;
    if (arrival.message->last_rnr_nak) ready = std::max(ready, *arrival.message->last_rnr_nak);
    const size_t order = ready == kStart ? 0 : SIZE_MAX;
    at(ready, order,
       [this, &record, arrival] { post_receive(record, *arrival.talk, *arrival.message); });
  }
}

void SideReplay::plan_requests(const Talk& talk) {
  for (const Frame* frame : talk.conversation.requests) {
    at(frame->time, frame->number, [this, &talk, frame] { receive_request(talk, *frame); });
  }
}

void SideReplay::plan_responses(QueuePairRecord& record, const Talk& talk) {
  const bool without_credits = ignores_credits(talk.conversation, talk.messages);
  for (const Frame* frame : talk.conversation.responses) {
    at(frame->time, frame->number, [this, &record, frame, without_credits] {
      make_room_for(record, *frame);
      if (without_credits && is_positive(*frame)) {
        receive_without_credits(*frame);
      } else {
        adapter_.receive(frame->packet);
      }
    });
  }
}

void SideReplay::post_send(QueuePairRecord& record, const Talk& talk, const Message& message,
                           bool fenced) {
  sim::SendRequest request = work_request_of(adapter_.device(), talk.conversation, message);
  request.wr_id = record.sends.size();
  if (fenced) request.flags |= IBV_SEND_FENCE;
  request.sges =
      message.payload.empty() ? buffers_.add(buffer_bytes(message)) : buffers_.add(message.payload);
  record.sends.push_back({&talk, &message, request.sges});
  sim::post_send(adapter_.device(), *record.queues.qp, request);
  adapter_.transmit();
}

void SideReplay::post_receive(QueuePairRecord& record, const Talk& talk, const Message& message) {
  const bool datagrams = record.plan.service == Service::kUd;
  const size_t bytes = receive_bytes_of(message) + (datagrams ? kGrhBytes : 0);
  const std::vector<Sge> list = buffers_.add(bytes);
  const uint64_t wr_id = record.receives.size();
  record.receives.push_back({&talk, &message, list});
  if (record.queues.shared != nullptr) {
    sim::post_receive(*record.queues.shared, wr_id, list);
  } else {
    sim::post_receive(adapter_.device(), *record.queues.qp, wr_id, list);
  }
}

void SideReplay::receive_request(const Talk& talk, const Frame& frame) {
  const Message* message = message_of(talk, frame);
  const bool first = is_first(talk, frame);
  if (first && message != nullptr) memory_.prepare(talk, *message, frame);
  if (has_key(frame)) {
    receive_translated(frame);
  } else {
    adapter_.receive(frame.packet);
  }
  if (first && message != nullptr && message->parts.back() == &frame) {
    memory_.expect(talk, *message);
  }
}

/// Where ours has not sent yet what is being answered, since it sends less at a time after a loss:
/// it is told that all that it did send has arrived, as the responder would have told it.
void SideReplay::make_room_for(QueuePairRecord& record, const Frame& answer) {
  const QueuePair& qp = *record.queues.qp;
  while (!next_request_psn(qp).is_after(answer.psn()) && packets_outstanding(qp) != 0) {
    const Psn before = oldest_unacknowledged_psn(qp);
    Headers headers = answer.headers();
    headers.bth.opcode = Opcode(Service::kRc, Operation::kAcknowledge);
    headers.bth.psn = next_request_psn(qp) - 1;
    headers.aeth.syndrome = kAckNoCredits;
    ++record.own_acks;
    receive_changed(answer, headers, {});
    if (oldest_unacknowledged_psn(qp) == before) return;
  }
}

/// With the device's own keys in it.
void SideReplay::receive_translated(const Frame& frame) {
  Headers headers = frame.headers();
  headers.reth.rkey = memory_.key_for(headers.reth.rkey);
  headers.atomic.rkey = memory_.key_for(headers.atomic.rkey);
  headers.invalidate = memory_.key_for(headers.invalidate);
  receive_changed(frame, headers, frame.view.payload);
}

void SideReplay::receive_without_credits(const Frame& frame) {
  Headers headers = frame.headers();
  headers.aeth.syndrome = kAckNoCredits;
  receive_changed(frame, headers, frame.view.payload);
}

/// The packet with other headers, and so with another ICRC.
void SideReplay::receive_changed(const Frame& frame, const Headers& headers,
                                 std::span<const uint8_t> payload) {
  TxBatch batch{TxBatch::Limits{}};
  uint8_t* out = batch.append(frame.packet.flow, headers, payload.size());
  std::ranges::copy(payload, out);
  batch.commit();
  adapter_.receive({batch.bytes(batch.messages()[0]), frame.packet.flow, batch.identification(0)});
}

void SideReplay::run() {
  adapter_.run_until(kStart);
  for (QueuePairRecord& record : records_) {
    if (!record.plan.receives.empty()) memory_.bind_windows(*record.queues.qp);
    record.poll();
    record.send_completions.clear();
  }
  act_until_the_end();
  wait_for_completions();
}

void SideReplay::act_until_the_end() {
  std::ranges::stable_sort(actions_, [](const Action& a, const Action& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  });
  for (const Action& action : actions_) {
    adapter_.run_until(action.time);
    action.act();
    for (QueuePairRecord& record : records_) record.poll();
  }
}

/// Requests that nobody answers fail by time-outs that no later packet marks.
void SideReplay::wait_for_completions() {
  const Instant end = adapter_.now() + kPatience;
  const auto waits = [](const QueuePairRecord& record) {
    return record.send_completions.size() < record.sends.size();
  };
  while (std::ranges::any_of(records_, waits)) {
    const auto deadline = adapter_.device().next_deadline();
    if (!deadline || *deadline > end) return;
    adapter_.run_until(*deadline);
    for (QueuePairRecord& record : records_) record.poll();
  }
}

Frames SideReplay::sent_in(const Conversation& conversation, bool requests) const {
  const Endpoint& to = requests ? conversation.responder : conversation.requester;
  const Endpoint& from = requests ? conversation.requester : conversation.responder;
  Frames frames;
  for (const Frame& frame : adapter_.sent()) {
    const Headers& headers = frame.headers();
    const bool same_sender =
        conversation.service != Service::kUd || headers.deth.source_qp == from.qpn;
    const bool same_way =
        frame.packet.flow.destination == to.gid && headers.bth.dest_qp == to.qpn && same_sender;
    if (same_way && frame.info().is_request == requests) frames.push_back(&frame);
  }
  return frames;
}

void SideReplay::check_requester(Ledger& ledger) const {
  check_device(ledger);
  for (const QueuePairRecord& record : records_) {
    for (const Talk* talk : record.plan.sends) {
      compare_requests(*talk, sent_in(talk->conversation, true), ledger);
    }
    check_sends(record, ledger);
    for (uint32_t i = 0; i < record.own_acks; ++i) {
      ledger.note(Difference::kSmallerWindow, "qp " + std::to_string(record.plan.self.qpn.value()));
    }
  }
}

void SideReplay::check_responder(Ledger& ledger) const {
  check_device(ledger);
  for (const QueuePairRecord& record : records_) {
    for (const Talk* talk : record.plan.receives) {
      compare_responses(*talk, sent_in(talk->conversation, false), ledger);
    }
    check_receives(record, ledger);
  }
  if (const std::string damage = memory_.find_damage(); !damage.empty()) ledger.error(damage);
}

/// It sends valid packets only, and takes all that it is given but for what comes in the wrong
/// order, or to a queue pair that is in error or gone.
void SideReplay::check_device(Ledger& ledger) const {
  for (const std::string& error : adapter_.errors()) ledger.error(error);
  const auto& drops = adapter_.device().counters().drops;
  for (size_t i = 0; i < drops.size(); ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (drops[i] == 0 || is_legitimate(reason)) continue;
    ledger.error("dropped " + std::to_string(drops[i]) +
                 " packets: " + std::string(drop_reason_name(reason)));
  }
}

}  // namespace urxe::replay
