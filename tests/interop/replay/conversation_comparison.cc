// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/conversation_comparison.h"

#include <algorithm>

#include "tests/interop/replay/alignment.h"
#include "tests/interop/replay/link_duplicates.h"
#include "tests/interop/replay/packet_comparison.h"

namespace urxe::replay {
namespace {

const Frame* find(const Frames& frames, Psn psn) {
  const auto it =
      std::ranges::find_if(frames, [psn](const Frame* frame) { return frame->psn() == psn; });
  return it != frames.end() ? *it : nullptr;
}

/// Whether a packet with its PSN comes earlier in the sequence.
bool is_repeated(const Frame& frame, const Frames& sequence) {
  return find(sequence, frame.psn())->number < frame.number;
}

class Requests {
 public:
  Requests(const Talk& talk, const Frames& ours, Ledger& ledger)
      : talk_(talk),
        ours_(ours),
        recorded_(without_link_duplicates(talk.conversation.requests)),
        ledger_(ledger) {}

  void compare() {
    for (const Pair& pair : align(ours_, recorded_)) {
      if (pair.recorded == nullptr) {
        only_ours(*pair.ours);
      } else if (pair.ours == nullptr) {
        only_recorded(*pair.recorded);
      } else if (asks_for_one_response(*pair.ours) && !asks_for_one_response(*pair.recorded)) {
        only_ours(*pair.ours);
        only_recorded(*pair.recorded);
      } else {
        compare_packets(*pair.ours, *pair.recorded, ledger_);
      }
    }
  }

 private:
  /// Not at this place of the recording, but then at another: the same packet, or the READ that it
  /// asks for the rest of.
  void only_ours(const Frame& frame) {
    const std::string where = "ours " + describe(frame);
    const Frame* recorded = find(recorded_, frame.psn());
    if (is_rest_of_read(frame) || asks_for_one_response(frame))
      return ledger_.note(Difference::kOwnRepeat, where);
    if (recorded == nullptr) return ledger_.error("was never recorded: " + where);
    compare_packets(frame, *recorded, ledger_);
    const bool repeated = is_repeated(frame, ours_);
    ledger_.note(repeated ? Difference::kOwnRepeat : Difference::kFaultyLink, where);
  }

  void only_recorded(const Frame& frame) {
    const std::string where = "recorded " + describe(frame);
    const bool repeated = is_repeated(frame, recorded_);
    const bool rest = is_rest_of_read(frame);
    if (find(ours_, frame.psn()) == nullptr && !repeated && !rest) {
      return ledger_.error("is not sent by ours: " + where);
    }
    ledger_.note(repeated || rest ? Difference::kRecordedRepeat : Difference::kFaultyLink, where);
  }

  /// A READ request for the responses from a later one on to the last (9.7.5.1.4).
  [[nodiscard]] bool is_rest_of_read(const Frame& frame) const {
    return asks_for(frame, [](uint32_t rest, uint32_t /*mtu*/) { return rest; });
  }

  /// A READ request for one of the later responses, but for the last: a probe.
  [[nodiscard]] bool asks_for_one_response(const Frame& frame) const {
    return !is_rest_of_read(frame) &&
           asks_for(frame, [](uint32_t rest, uint32_t mtu) { return std::min(rest, mtu); });
  }

  /// A READ request from a later response on for `length(bytes to the end, path MTU)` bytes.
  template <class Length>
  [[nodiscard]] bool asks_for(const Frame& frame, Length length) const {
    if (frame.operation() != Operation::kReadRequest) return false;
    return std::ranges::any_of(talk_.messages, [&](const Message& message) {
      if (message.operation() != Operation::kReadRequest || !message.covers(frame.psn())) {
        return false;
      }
      const Reth& whole = message.headers().reth;
      const Reth& rest = frame.headers().reth;
      const uint32_t done =
          static_cast<uint32_t>(frame.psn().distance_from(message.first)) * talk_.conversation.mtu;
      return done > 0 && rest.va == whole.va + done && rest.rkey == whole.rkey &&
             rest.dma_length == length(whole.dma_length - done, talk_.conversation.mtu);
    });
  }

  const Talk& talk_;
  const Frames& ours_;
  const Frames recorded_;
  Ledger& ledger_;
};

/// Whether a response that was recorded later tells what the ACK does.
bool is_told_later(const Frame& ack, const Frames& recorded) {
  return std::ranges::any_of(recorded, [&](const Frame* later) {
    return later->time >= ack.time && is_positive(*later) && later->psn().is_after(ack.psn());
  });
}

/// Whether the packet answers one that the link has made of another: it came at that moment.
bool answers_double(const Frame& answer, const Frames& requests) {
  const Frames once = without_link_duplicates(requests);
  return std::ranges::any_of(requests, [&](const Frame* request) {
    return request->time == answer.time && std::ranges::find(once, request) == once.end();
  });
}

void only_our_response(const Frame& frame, const Conversation& conversation, Ledger& ledger) {
  const std::string where = "ours " + describe(frame);
  if (!is_positive(frame)) return ledger.error("was never recorded: " + where);
  if (is_ack(frame) && is_told_later(frame, conversation.responses)) {
    return ledger.note(Difference::kCoalescedAck, where);
  }
  const bool doubled = !is_ack(frame) && answers_double(frame, conversation.requests);
  ledger.note(doubled ? Difference::kAnsweredOnce : Difference::kFaultyLink, where);
}

/// ACKs of duplicates name the last PSN that was received in order, again.
void only_recorded_response(const Frame& frame, Ledger& ledger) {
  const std::string where = "recorded " + describe(frame);
  if (!is_ack(frame)) return ledger.error("is not sent by ours: " + where);
  ledger.note(Difference::kUnrequestedAck, where);
}

}  // namespace

void compare_requests(const Talk& talk, const Frames& ours, Ledger& ledger) {
  Requests(talk, ours, ledger).compare();
}

void compare_responses(const Talk& talk, const Frames& ours, Ledger& ledger) {
  for (const Pair& pair : align(ours, talk.conversation.responses)) {
    if (pair.recorded == nullptr) {
      only_our_response(*pair.ours, talk.conversation, ledger);
    } else if (pair.ours == nullptr) {
      only_recorded_response(*pair.recorded, ledger);
    } else {
      compare_packets(*pair.ours, *pair.recorded, ledger);
      if (pair.ours->time > pair.recorded->time) {
        ledger.error("comes later than recorded: ours " + describe(*pair.ours));
      }
    }
  }
}

}  // namespace urxe::replay
