// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/progress/alarm.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>

#include "packet/host/uncancelled.h"

namespace urxe {

bool Alarm::open() {
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  return static_cast<bool>(timer_);
}

void Alarm::set(Instant when) const {
  const int64_t ns = std::max<int64_t>(when.ns, 1);  // 0 would switch it off
  itimerspec time{};
  time.it_value = {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
}

void Alarm::silence() const {
  uncancelled::silence_bell(timer_.get());
}

}  // namespace urxe
