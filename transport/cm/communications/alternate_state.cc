// SPDX-License-Identifier: BSD-2-Clause
// The state machine of alternate paths (IBTA vol. 1, 12.9.8).
#include "transport/cm/communications/cm_state.h"

namespace urxe {

AlternateStep alternate_step(AlternateState state, AlternateInput input) {
  using S = AlternateState;
  using I = AlternateInput;
  const auto take = [](S next) { return AlternateStep{CmVerdict::kNew, next, CmReply::kNothing}; };
  const auto again = [](S next, CmReply reply) {
    return AlternateStep{CmVerdict::kDuplicate, next, reply};
  };
  const AlternateStep illegal{CmVerdict::kIllegal, state, CmReply::kNothing};
  switch (state) {
    case S::kNone:
      if (input == I::kLoad) return take(S::kLapSent);
      if (input == I::kLap) return take(S::kLapReceived);
      if (input == I::kLapAgain) return again(state, CmReply::kRepeat);
      if (input == I::kApr) return again(state, CmReply::kNothing);
      return illegal;
    case S::kLapSent:
    case S::kMraLapReceived:
      if (input == I::kMra && state == S::kLapSent) return take(S::kMraLapReceived);
      if (input == I::kMra) return again(state, CmReply::kNothing);
      if (input == I::kApr || input == I::kTimeout) return take(S::kNone);
      return illegal;
    case S::kLapReceived:
    case S::kMraLapSent:
      if (input == I::kAnswer) return take(S::kNone);
      if (input == I::kDelay) return take(S::kMraLapSent);
      if (input == I::kLap && state == S::kLapReceived) {
        return again(S::kMraLapSent, CmReply::kMra);
      }
      if (input == I::kLap) return again(state, CmReply::kRepeat);
      return illegal;
  }
  return illegal;
}

const char* alternate_state_name(AlternateState state) {
  constexpr const char* kNames[kAlternateStates] = {"none", "lap_sent", "mra_lap_received",
                                                    "lap_received", "mra_lap_sent"};
  return kNames[static_cast<size_t>(state)];
}

const char* alternate_input_name(AlternateInput input) {
  constexpr const char* kNames[kAlternateInputs] = {"load",      "answer", "delay", "lap",
                                                    "lap_again", "mra",    "apr",   "timeout"};
  return kNames[static_cast<size_t>(input)];
}

}  // namespace urxe
