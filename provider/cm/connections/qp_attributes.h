// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "packet/base/expected.h"
#include "provider/cm/ids/cm_id.h"
#include "provider/cm/ids/connection_parameters.h"

namespace urxe::cm {

/// The attributes and their mask (qp_attr_mask) that bring a queue pair of the connection to
/// `state`: INIT, RTR or RTS. INIT gives the peer no rights to memory until its queue pair is
/// known. For UD queue pairs every state gets the Q_Key and the port; the application sets the
/// rest. EINVAL: another state, or RTR or RTS while the peer's queue pair is unknown.
Expected<ib_uverbs_qp_attr, Errno> qp_attributes(const ConnectionParameters& connection,
                                                 ibv_qp_state state);

/// The same for an id's connection. RDMA_OPTION_ID_ACK_TIMEOUT counts whenever it was set, and at
/// either end.
Expected<ib_uverbs_qp_attr, Errno> qp_attributes(const CmId& id, ibv_qp_state state);

}  // namespace urxe::cm
