// SPDX-License-Identifier: BSD-2-Clause
// Waits for completions, polling or asleep on the channel, and notices when none can come any more.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <functional>

#include "control.h"
#include "endpoint.h"
#include "options.h"

namespace rc_verify {

class Completions {
 public:
  // Gets each completion in the order of its queue; the flag says whether it is of the receive
  // queue's.
  using Handler = std::function<void(const ibv_wc&, bool receive)>;

  Completions(Endpoint& endpoint, Control& control, const TestOptions& test)
      : endpoint_(endpoint), control_(control), test_(test) {}

  // Takes what is there. Returns whether there was anything.
  bool take(const Handler& handler);

  // Returns after it has handed over at least one completion. Throws peer_lost where the peer is
  // gone, mismatch where nothing comes; `waiting_for` describes what for.
  void wait(const Handler& handler, const std::function<std::string()>& waiting_for);

  // Sleeps until the channel has an event and acknowledges it; returns its completion queue.
  ibv_cq* next_event(const std::function<std::string()>& waiting_for);

 private:
  bool take_from(ibv_cq* queue, bool receive, const Handler& handler);
  void arm();
  void check_stall(std::chrono::steady_clock::time_point start,
                   const std::function<std::string()>& waiting_for) const;

  Endpoint& endpoint_;
  Control& control_;
  const TestOptions& test_;
};

}  // namespace rc_verify
