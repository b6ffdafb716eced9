// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/thread_registration.h"

#include <rte_lcore.h>

#include <atomic>

namespace urxe {
namespace {

std::atomic<bool> forked{false};

struct Registration {
  bool tried = false;
  bool done = false;
  Registration() = default;
  ~Registration() {
    if (done && !forked.load()) rte_thread_unregister();
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
};

thread_local Registration registration;

}  // namespace

void register_thread() {
  if (registration.tried) return;
  registration.tried = true;
  if (rte_lcore_id() == LCORE_ID_ANY) registration.done = rte_thread_register() == 0;
}

void forget_threads() {
  forked.store(true);
}

}  // namespace urxe
