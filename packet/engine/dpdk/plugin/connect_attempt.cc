// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/connect_attempt.h"

#include <rte_alarm.h>
#include <rte_ethdev.h>
#include <time.h>

#include <atomic>
#include <new>
#include <utility>

#include "packet/base/time.h"
#include "packet/engine/dpdk/plugin/eal_log.h"
#include "packet/host/clock.h"

namespace urxe {
namespace {

constexpr Duration kLongestConnect = seconds(1);
constexpr timespec kLookAgain{0, 1'000'000};

}  // namespace

struct ConnectAttempt::State {
  uint16_t port = 0;
  bool is_started = false;  ///< before and after it
  std::atomic<bool> ended{false};
};

/// The attempt may outlive who has begun it.
void ConnectAttempt::run(void* argument) {
  const std::unique_ptr<std::shared_ptr<State>> mine(
      static_cast<std::shared_ptr<State>*>(argument));
  State& state = **mine;
  EalLog::instance().keep();  // the driver complains about each attempt
  if (state.is_started) rte_eth_dev_stop(state.port);
  state.is_started = rte_eth_dev_start(state.port) == 0;
  (void)EalLog::instance().take();
  state.ended.store(true, std::memory_order_release);
}

bool ConnectAttempt::begin(uint16_t port, bool is_started) try {
  auto state = std::make_shared<State>();
  state->port = port;
  state->is_started = is_started;
  auto argument = std::make_unique<std::shared_ptr<State>>(state);
  if (rte_eal_alarm_set(1, run, argument.get()) != 0) return false;
  (void)argument.release();
  state_ = std::move(state);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool ConnectAttempt::is_under_way() const {
  return state_ != nullptr && !state_->ended.load(std::memory_order_acquire);
}

bool ConnectAttempt::take_started() {
  const std::shared_ptr<State> state = std::exchange(state_, nullptr);
  return state != nullptr && state->is_started;
}

bool ConnectAttempt::wait() const {
  for (const Instant end = clock_now() + kLongestConnect; is_under_way();) {
    if (clock_now() > end) return false;
    nanosleep(&kLookAgain, nullptr);
  }
  return true;
}

}  // namespace urxe
