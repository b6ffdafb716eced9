// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/message.h"

#include <algorithm>

#include "tests/interop/replay/operation.h"

namespace urxe::replay {
namespace {

using Why = Unexpected<std::string>;

uint32_t packets_of_read(const Conversation& conversation, uint32_t length) {
  return length == 0 ? 1 : (length - 1) / conversation.mtu + 1;
}

/// The request packet with this PSN as first recorded.
const Frame* find_request(const Conversation& conversation, Psn psn) {
  const auto it = std::find_if(conversation.requests.begin(), conversation.requests.end(),
                               [psn](const Frame* frame) { return frame->psn() == psn; });
  return it != conversation.requests.end() ? *it : nullptr;
}

Expected<Message, std::string> read_message(const Conversation& conversation, Psn first) {
  Message message;
  message.first = first;
  for (Psn psn = first;; psn = psn + 1) {
    const Frame* part = find_request(conversation, psn);
    const std::string name = "PSN " + std::to_string(psn.value());
    if (part == nullptr) return Why(name + " is missing from the recording");
    if (part->info().starts_message != (psn == first)) return Why(name + " is out of place");
    message.parts.push_back(part);
    const auto& payload = part->view.payload;
    message.payload.insert(message.payload.end(), payload.begin(), payload.end());
    if (part->info().ends_message) break;
  }
  message.packets = static_cast<uint32_t>(message.parts.size());
  if (message.operation() == Operation::kReadRequest) {
    message.packets = packets_of_read(conversation, message.headers().reth.dma_length);
  }
  return message;
}

void note_requests(const Conversation& conversation, Message& message) {
  const auto earliest =
      std::min_element(message.parts.begin(), message.parts.end(),
                       [](const Frame* a, const Frame* b) { return a->number < b->number; });
  message.posted = (*earliest)->time;
  message.order = (*earliest)->number;
  message.transmissions = static_cast<uint32_t>(
      std::count_if(conversation.requests.begin(), conversation.requests.end(),
                    [&](const Frame* frame) { return frame->psn() == message.first; }));
}

/// Whether the answer completes the message.
bool completes(const Message& message, const Frame& answer) {
  if (is_data_response(answer.operation())) {
    const bool own_kind = has_own_response(message.operation());
    return own_kind ? answer.psn() == message.last() : answer.psn().is_after(message.last());
  }
  if (has_own_response(message.operation())) return false;
  const bool acks = ack_kind(answer.headers().aeth.syndrome) == AckKind::kAck;
  return acks ? !answer.psn().is_before(message.last()) : answer.psn().is_after(message.last());
}

void note_answer(Message& message, const Frame& answer) {
  if (completes(message, answer)) message.outcome = Outcome::kDone;
  if (answer.operation() != Operation::kAcknowledge || !message.covers(answer.psn())) return;
  const uint8_t syndrome = answer.headers().aeth.syndrome;
  const auto code = static_cast<NakCode>(syndrome_value(syndrome));
  if (ack_kind(syndrome) == AckKind::kRnrNak) {
    message.outcome = Outcome::kRnrExceeded;
    message.last_rnr_nak = answer.time;
    ++message.rnr_naks;
  } else if (ack_kind(syndrome) == AckKind::kNak && code != NakCode::kPsnSequenceError) {
    message.outcome = Outcome::kRefused;
    message.nak = code;
    message.refused = answer.psn();
  }
}

void note_outcome(const Conversation& conversation, Message& message) {
  if (conversation.service != Service::kRc) return;
  message.outcome = Outcome::kUnanswered;
  for (const Frame* answer : conversation.responses) note_answer(message, *answer);
}

/// A message whose packets were lost at first was posted no later than those that follow it.
void note_posting_order(std::vector<Message>& messages) {
  for (size_t i = messages.size(); i-- > 1;) {
    if (messages[i - 1].order < messages[i].order) continue;
    messages[i - 1].order = messages[i].order;
    messages[i - 1].posted = messages[i].posted;
  }
}

/// The last answer before the request that tells of credits; nullptr: none does.
const Frame* find_credits(const Conversation& conversation, const Frame& request) {
  const Frame* found = nullptr;
  for (const Frame* answer : conversation.responses) {
    if (answer->number > request.number) break;
    if (has(answer->info().extensions, Ext::kAeth) && is_positive(*answer)) found = answer;
  }
  const bool tells =
      found != nullptr && syndrome_value(found->headers().aeth.syndrome) != kAckNoCredits;
  return tells ? found : nullptr;
}

/// Whether the message goes beyond the credits: one may, where all before it is answered.
bool is_beyond_credits(const Conversation& conversation, const Message& message, Ssn ssn) {
  const Frame* answer = find_credits(conversation, *message.parts.front());
  if (answer == nullptr || !needs_receive(message.operation())) return false;
  const Aeth& aeth = answer->headers().aeth;
  const Ssn limit =
      credit_limit(aeth.msn, credits_from_code(syndrome_value(aeth.syndrome)).value_or(0));
  const bool alone = answer->psn() + 1 == message.first;
  return ssn.is_after(limit + (alone ? 1 : 0));
}

/// How many PSNs from the first to the last that was recorded.
uint32_t recorded_psns(const Conversation& conversation) {
  uint32_t count = 0;
  for (const Frame* frame : conversation.requests) {
    const int32_t distance = frame->psn().distance_from(conversation.start);
    count = std::max(count, static_cast<uint32_t>(distance) + 1);
  }
  return count;
}

}  // namespace

Expected<std::vector<Message>, std::string> find_messages(const Conversation& conversation) {
  std::vector<Message> messages;
  const uint32_t count = recorded_psns(conversation);
  for (uint32_t done = 0; done < count; done += messages.back().packets) {
    auto message = read_message(conversation, conversation.start + done);
    if (!message) return Why(message.error());
    note_requests(conversation, *message);
    note_outcome(conversation, *message);
    messages.push_back(std::move(*message));
  }
  note_posting_order(messages);
  return messages;
}

size_t receive_bytes_of(const Message& message) {
  if (message.outcome != Outcome::kRefused) return message.payload.size();
  size_t bytes = 0;
  for (const Frame* part : message.parts) {
    bytes += part->view.payload.size();
    if (part->psn() == message.refused) break;
  }
  return bytes - 1;
}

bool ignores_credits(const Conversation& conversation, const std::vector<Message>& messages) {
  Ssn ssn;
  return std::ranges::any_of(messages, [&](const Message& message) {
    ssn = ssn + 1;
    return is_beyond_credits(conversation, message, ssn);
  });
}

std::optional<std::span<const uint8_t>> find_read_data(const Conversation& conversation, Psn psn,
                                                       size_t since) {
  std::optional<std::span<const uint8_t>> data;
  for (const Frame* frame : conversation.responses) {
    if (frame->psn() != psn || !is_read_response(frame->operation())) continue;
    data = frame->view.payload;
    if (frame->number > since) break;
  }
  return data;
}

std::optional<uint64_t> find_original(const Conversation& conversation, Psn psn) {
  for (const Frame* frame : conversation.responses) {
    if (frame->psn() != psn || frame->operation() != Operation::kAtomicAcknowledge) continue;
    return frame->headers().atomic_original;
  }
  return std::nullopt;
}

}  // namespace urxe::replay
