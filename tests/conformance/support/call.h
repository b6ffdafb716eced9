// SPDX-License-Identifier: BSD-2-Clause
// Calls that may have to wait for another thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>

namespace conformance {

/// Makes the call in another thread. False: it did not return within ten seconds, until `unblock`
/// was called.
inline bool returns(const std::function<void()>& call, const std::function<void()>& unblock) {
  auto done = std::async(std::launch::async, call);
  const bool returned = done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  if (!returned) unblock();
  return returned;
}

}  // namespace conformance
