// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/files/user_cm.h"

namespace urxe::cm {

// CONNECT, ACCEPT, REJECT, DISCONNECT, NOTIFY and INIT_QP_ATTR: rdma_connect(3) and its companions.

/// `parameters.valid` is not 0.
Expected<void, Errno> connect(CmFile& file, uint32_t id, const rdma_ucm_conn_param& parameters,
                              const rdma_ucm_ece& ece);
/// conn_param.valid 0: the application gives no parameters. An end that connects has brought its
/// queue pair to RTR and confirms by RTU; a datagram service replies by SIDR_REP.
Expected<void, Errno> accept(CmFile& file, const rdma_ucm_accept& command);
/// `command.reason` is one of the two that an application may give, as a CmRejectReason.
Expected<void, Errno> reject(CmFile& file, const rdma_ucm_reject& command);
/// Succeeds if the connection has ended already: both ends may disconnect at once.
Expected<void, Errno> disconnect(CmFile& file, uint32_t id);
Expected<void, Errno> notify(CmFile& file, uint32_t id, ibv_event_type event);
/// The attributes that bring the id's queue pair to `state`; see qp_attributes().
Expected<ib_uverbs_qp_attr, Errno> init_qp_attr(CmFile& file, uint32_t id, ibv_qp_state state);

}  // namespace urxe::cm
