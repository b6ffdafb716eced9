// SPDX-License-Identifier: BSD-2-Clause
// A connection manager against any sequence of messages, verbs and time.
#include "tests/fuzz/cm_conversation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  urxe::fuzz::Input input(data, size);
  urxe::fuzz::CmConversation conversation;
  for (int steps = 0; steps < 300 && !input.ended(); ++steps) conversation.step(input);
  conversation.finish();
  return 0;
}
