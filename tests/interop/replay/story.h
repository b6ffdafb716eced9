// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/interop/replay/capture_table.h"
#include "tests/interop/replay/message.h"
#include "tests/interop/replay/recording.h"

namespace urxe::replay {

struct Talk {
  Conversation conversation;
  std::vector<Message> messages;
};

/// A capture, understood.
class Story {
 public:
  explicit Story(const CaptureRow& row);

  /// Why it cannot be replayed; empty: it can.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const CaptureRow& row() const { return row_; }
  [[nodiscard]] const std::vector<Frame>& frames() const { return recording_.frames(); }
  [[nodiscard]] const std::deque<Talk>& talks() const { return talks_; }

 private:
  const CaptureRow& row_;
  Recording recording_;
  std::deque<Talk> talks_;
  std::string error_;
};

/// pcap_samples/.
std::string samples_folder();

}  // namespace urxe::replay
