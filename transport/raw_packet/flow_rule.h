// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/wire/ethernet/frame_match.h"

namespace urxe {

/// A flow steering rule (ibv_create_flow(3)), checked.
struct FlowRule {
  ibv_flow_attr_type type = IBV_FLOW_ATTR_NORMAL;
  uint16_t priority = 0;
  bool dont_trap = false;  ///< frames that match go on to rules of lower priority, too
  bool drop = false;
  FrameMatch match;  ///< NORMAL only
};

/// Reads a rule with the specifications that follow `attr` in memory. The specifications may be in
/// any order, each of a different layer. EINVAL: what the kernel's verbs refuse, and specifications
/// that contradict each other or that the type of rule does not have. EOPNOTSUPP: egress rules,
/// tunnels, ESP, MPLS, and actions other than dropping.
Expected<FlowRule, Errno> parse_flow_rule(const ibv_flow_attr& attr);

}  // namespace urxe
