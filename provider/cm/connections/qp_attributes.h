// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "packet/base/expected.h"
#include "provider/cm/ids/connection_parameters.h"

namespace urxe::cm {

/// The attributes and their mask (qp_attr_mask) that bring a queue pair of the connection to
/// `state`: INIT, RTR or RTS. Before the peer's queue pair is known INIT gives it no rights to our
/// memory. Of UD queue pairs it is the Q_Key and the port for each state: the rest is nobody's but
/// the application's. EINVAL: another state, or RTR and RTS while the peer's queue pair is unknown.
Expected<ib_uverbs_qp_attr, Errno> qp_attributes(const ConnectionParameters& connection,
                                                 ibv_qp_state state);

}  // namespace urxe::cm
