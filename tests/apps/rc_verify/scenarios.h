// SPDX-License-Identifier: BSD-2-Clause
// What the test runs, in order. Both processes call the same function with the same options.
#pragma once

#include "control.h"
#include "endpoint.h"
#include "options.h"

namespace rc_verify {

struct Session {
  Endpoint& endpoint;
  Control& control;
  const TestOptions& test;
  bool is_server;
  bool quiet;
};

// Every operation with every interesting size, all queue pairs and both directions at once.
void run_sizes(Session& session);
// Batches of random operations, sizes, lists and flags.
void run_random(Session& session);
// FETCH_AND_ADD of 1 on one word of each side, by all queue pairs: each value comes back exactly
// once.
void run_shared_counter(Session& session);
// Only a message with the solicited bit wakes who asked for solicited completions.
void run_solicited(Session& session);
// SEND, RDMA_WRITE and RDMA_READ of test.huge_size bytes, one after the other.
void run_huge(Session& session);
// The queue pairs receive from one shared receive queue.
void run_shared_receive_queue(Session& session);
// The responder has no receive posted at first: some requests wait until it has, others give up.
void run_not_ready(Session& session);

}  // namespace rc_verify
