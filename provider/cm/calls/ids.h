// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/files/user_cm.h"

namespace urxe::cm {

// CREATE_ID, DESTROY_ID, MIGRATE_ID, GET_EVENT, WRITE_CM_EVENT: making, destroying and moving ids,
// and their events. The errors of all calls are in command_table.h.

/// The command WRITE_CM_EVENT of rdma-core 60, which older headers do not have: its beginning.
/// What follows are the parameters of events that no application may write.
struct WriteEvent {
  static constexpr uint32_t kNumber = 24;
  uint32_t id;
  uint32_t reserved;
  uint32_t event;
  uint32_t status;
  uint64_t argument;
};
static_assert(sizeof(WriteEvent) == 24);

Expected<rdma_ucm_create_id_resp, Errno> create_id(CmFile& file, const rdma_ucm_create_id& command);
Expected<rdma_ucm_destroy_id_resp, Errno> destroy_id(CmFile& file,
                                                     const rdma_ucm_destroy_id& command);
/// Moves `id`, with its unread events, from the file `from` to `to`.
Expected<rdma_ucm_migrate_resp, Errno> migrate_id(CmFile& to, CmFile& from, uint32_t id);
/// Adds an event to those of the id. EINVAL: it is not one that applications may write.
Expected<void, Errno> write_event(CmFile& file, const WriteEvent& command);
/// EAGAIN: no event waits.
Expected<rdma_ucm_event_resp, Errno> get_event(CmFile& file);

}  // namespace urxe::cm
