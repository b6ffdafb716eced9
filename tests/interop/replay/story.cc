// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/story.h"

namespace urxe::replay {

std::string samples_folder() {
  return URXE_PCAP_SAMPLES;
}

Story::Story(const CaptureRow& row)
    : row_(row), recording_(samples_folder() + "/" + std::string(row.file)) {
  error_ = recording_.error();
  if (!error_.empty()) return;
  for (Conversation& conversation : find_conversations(recording_.frames())) {
    auto messages = find_messages(conversation);
    if (!messages) {
      error_ = messages.error();
      return;
    }
    talks_.push_back({std::move(conversation), std::move(*messages)});
  }
}

}  // namespace urxe::replay
