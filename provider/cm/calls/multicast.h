// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/files/user_cm.h"

namespace urxe::cm {

/// JOIN_MCAST and JOIN_IP_MCAST, rdma_join_multicast(3). Returns the number of the membership.
Expected<uint32_t, Errno> join_multicast(CmFile& file, uint32_t id, uint64_t uid,
                                         const sockaddr_storage& address, size_t size,
                                         uint16_t join_flags);
/// LEAVE_MCAST, rdma_leave_multicast(3). Returns the membership's events_reported.
Expected<rdma_ucm_destroy_id_resp, Errno> leave_multicast(CmFile& file, uint32_t membership);

}  // namespace urxe::cm
