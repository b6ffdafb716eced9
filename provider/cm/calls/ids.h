// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

// CREATE_ID, DESTROY_ID, MIGRATE_ID, GET_EVENT: making, destroying and moving ids, and their
// events. The errors of all calls are in command_table.h.

Expected<rdma_ucm_create_id_resp, Errno> create_id(CmFile& file, const rdma_ucm_create_id& command);
Expected<rdma_ucm_destroy_id_resp, Errno> destroy_id(CmFile& file,
                                                     const rdma_ucm_destroy_id& command);
/// Moves `id`, with its unread events, from the file `from` to `to`.
Expected<rdma_ucm_migrate_resp, Errno> migrate_id(CmFile& to, CmFile& from, uint32_t id);
/// EAGAIN: no event waits.
Expected<rdma_ucm_event_resp, Errno> get_event(CmFile& file);

}  // namespace urxe::cm
