// SPDX-License-Identifier: BSD-2-Clause
// Carries out plans on all queue pairs and in both directions at once, and checks everything.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "completions.h"
#include "control.h"
#include "endpoint.h"
#include "options.h"
#include "plan.h"

namespace rc_verify {

class Batch {
 public:
  // `ours` and `theirs`: a plan for each queue pair, with us and with the peer as requester. `name`
  // stands in reports.
  Batch(Endpoint& endpoint, Control& control, const TestOptions& test, std::string name,
        std::vector<Plan> ours, std::vector<Plan> theirs);

  // Throws a Failure at the first thing that is wrong.
  void run();

 private:
  // One queue pair's share.
  struct Flow {
    Flow(Plan outgoing_plan, Plan incoming_plan);

    Plan outgoing;
    Plan incoming;
    Arena local;   // Where the messages that we request are taken from or put.
    Arena remote;  // Where the peer's are put or taken from.
    MrPtr local_mr;
    MrPtr remote_mr;
    uint64_t peer_address = 0;
    uint32_t peer_rkey = 0;
    uint32_t posted = 0;
    std::deque<uint32_t> expected_sends;  // Messages whose completion is to come, in order.
    std::deque<uint32_t> expected_receives;
  };

  void prepare(uint32_t index);
  void post_receives(uint32_t index);
  void exchange_regions();
  void post_some(uint32_t index, uint32_t count);
  void post_chain(uint32_t index, uint32_t first, uint32_t count);
  void fill_request(ibv_send_wr& request, std::vector<ibv_sge>& list, uint32_t index,
                    uint32_t message) const;
  void transfer();
  void check_arenas(uint32_t index) const;

  void handle(const ibv_wc& completion, bool receive);
  void check_status(const ibv_wc& completion, const std::string& where) const;
  void check_send(const ibv_wc& completion, Flow& flow, uint32_t index) const;
  void check_receive(const ibv_wc& completion, Flow& flow, uint32_t index) const;

  bool all_posted() const;
  bool all_complete() const;
  std::string outstanding() const;

  Endpoint& endpoint_;
  Control& control_;
  std::string name_;
  Completions completions_;
  Choice choice_;
  std::vector<std::unique_ptr<Flow>> flows_;
};

}  // namespace rc_verify
