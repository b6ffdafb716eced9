// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/analyze/flow_counts.h"
#include "tools/analyze/psn_trace.h"
#include "tools/analyze/sample.h"

namespace urxe::analyze {

/// What is marked in a plot of a flow. The first ones are the reasons of RepeatReason.
enum class FlowEvent : uint8_t {
  kRepeatSequenceNak,
  kRepeatRnrNak,
  kRepeatImpliedNak,
  kRepeatTimeout,
  kRepeatDuplicate,
  kRepeatProbe,
  kRepeatUnknown,
  kOutOfOrder,
  kLostBefore,
  kLostAfter,
  kSequenceNak,
  kRnrNak,
  kErrorNak,
  kMissingResponse,
  kCorrupted,
  kCount,
};
inline constexpr size_t kFlowEvents = static_cast<size_t>(FlowEvent::kCount);
std::string_view flow_event_name(FlowEvent event);  ///< "repeat_sequence_nak"
constexpr FlowEvent repeat_event(RepeatReason reason) {
  return static_cast<FlowEvent>(reason);
}
static_assert(repeat_event(RepeatReason::kUnknown) == FlowEvent::kRepeatUnknown);

/// Where an event was noticed: the frame that showed it.
struct Mark {
  uint64_t frame = 0;
  int64_t time_ns = 0;
  LongPsn psn = 0;
};

/// The course of a flow, for plots. Bounded, however many packets there are.
class FlowTrace {
 public:
  static constexpr size_t kMaxMarks = 512;  ///< for each kind of event
  using Marks = Sample<Mark, kMaxMarks>;

  void request(int64_t time_ns, LongPsn psn, int64_t span) { requests_.add(time_ns, psn, span); }
  void response(int64_t time_ns, LongPsn psn) { responses_.add(time_ns, psn, 1); }
  void mark(FlowEvent event, const Mark& mark) { marks_.at(static_cast<size_t>(event)).add(mark); }
  /// The event at `psn` turns out to be none.
  void take_back(FlowEvent event, LongPsn psn);

  [[nodiscard]] const PsnTrace& requests() const { return requests_; }
  [[nodiscard]] const PsnTrace& responses() const { return responses_; }
  [[nodiscard]] const Marks& marks(FlowEvent event) const {
    return marks_.at(static_cast<size_t>(event));
  }

 private:
  PsnTrace requests_;
  PsnTrace responses_;
  std::array<Marks, kFlowEvents> marks_;
};

}  // namespace urxe::analyze
