// SPDX-License-Identifier: BSD-2-Clause
// Completions and events: bounded waits, and what they must be.
#pragma once

#include <chrono>
#include <functional>

#include "tests/conformance/support/endpoint.h"

namespace conformance {

/// How long a test waits for what must come. Nothing depends on its being short.
inline constexpr std::chrono::seconds kPatience{30};

/// Calls `condition` until it holds; false where it never does.
bool eventually(const std::function<bool()>& condition);

/// The next completion. After kPatience without any: a failure, and a completion of status
/// GENERAL_ERR.
ibv_wc next_completion(ibv_cq* cq);
/// The next completion must have this wr_id and status; it is returned.
ibv_wc expect_completion(ibv_cq* cq, uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS);
/// The queue is empty now.
void expect_empty(ibv_cq* cq);

/// Whether the file descriptor is readable, or becomes so within the time.
bool readable(int fd, std::chrono::milliseconds wait);
/// The next asynchronous event must be of this type; it is acknowledged and returned.
ibv_async_event expect_event(ibv_context* context, ibv_event_type type);
/// Takes and acknowledges events until one of this type comes; it is returned.
ibv_async_event await_event(ibv_context* context, ibv_event_type type);
/// No asynchronous event waits to be read.
void expect_no_event(ibv_context* context);

}  // namespace conformance
