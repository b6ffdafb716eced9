// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <vector>

#include "tests/conformance/support/endpoint.h"

namespace conformance {

/// A transition that ibv_modify_qp can carry out, and the attributes (ibv_qp_attr_mask, without
/// IBV_QP_STATE) that it requires and allows besides.
struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

/// All transitions of queue pairs of this type (IBTA volume 1, table 91: "QP State Transition
/// Properties"; ibv_modify_qp(3)).
std::vector<Transition> transitions_of(ibv_qp_type type);
/// Null where there is no such transition.
const Transition* find_transition(const std::vector<Transition>& all, ibv_qp_state from,
                                  ibv_qp_state to);
/// The states that queue pairs of this type can be in.
std::vector<ibv_qp_state> states_of(ibv_qp_type type);
const char* state_name(ibv_qp_state state);

/// Takes a queue pair that is in RESET to this state, facing itself. A failure of the test where
/// that does not work.
void bring_to(Endpoint& endpoint, ibv_qp_state state);

/// Values that are right for every attribute of every transition.
ibv_qp_attr all_attributes(const Endpoint& endpoint);

}  // namespace conformance
