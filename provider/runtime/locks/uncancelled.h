// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

namespace urxe {

/// Keeps the thread from being cancelled in the middle of work that must be finished.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace urxe
