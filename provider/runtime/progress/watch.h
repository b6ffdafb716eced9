// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/progress/progress.h"

namespace urxe {

/// A thread of the application waits for packets, or for events. The first of several watches the
/// device: the background thread leaves it to that one.
class Progress::Wait {
 public:
  /// `channel`: where its events come from; null: it polls.
  Wait(Progress& progress, EventSocket* channel)
      : progress_(progress), channel_(channel), watches_(progress.readers_.fetch_add(1) == 0) {
    if (!watches_) return;
    if (channel_ != nullptr) channel_->use().awaited_in.store(progress.watch_epoch_.load());
    progress.waits_.fetch_add(1);
    progress.waiting_.store(true);
  }
  ~Wait() {
    if (watches_) leave();
    progress_.readers_.fetch_sub(1);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  [[nodiscard]] bool watches() const { return watches_; }

 private:
  void leave() const;

  Progress& progress_;
  EventSocket* const channel_;
  const bool watches_;
};

}  // namespace urxe
