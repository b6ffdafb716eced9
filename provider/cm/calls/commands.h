// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

// The commands of <rdma/rdma_user_cm.h> as calls, one each. What they are handed was read from the
// application's memory and has the lengths that the ABI asks for; older and newer layouts of a
// command have been made equal (what is missing is zero; the reason of a rejection is one that
// consumers may give). Addresses have a known family and its length. Ids that are not the file's:
// ENOENT (EINVAL for a malformed request). All take the connection manager's lock; none blocks for
// long.

/// A file of the application was opened. The connection manager keeps it until the application has
/// closed its end (CmFile::own_fd() hangs up), and destroys the file's ids then.
Expected<void, Errno> add_file(const std::shared_ptr<CmFile>& file);

Expected<rdma_ucm_create_id_resp, Errno> create_id(CmFile& file, const rdma_ucm_create_id& command);
Expected<rdma_ucm_destroy_id_resp, Errno> destroy_id(CmFile& file,
                                                     const rdma_ucm_destroy_id& command);

// BIND_IP, RESOLVE_IP and JOIN_IP_MCAST are carried out by these too.
Expected<void, Errno> bind_address(CmFile& file, uint32_t id, const sockaddr_storage& address,
                                   size_t size);
/// `source_size` 0: none.
Expected<void, Errno> resolve_address(CmFile& file, uint32_t id, uint32_t timeout_ms,
                                      const sockaddr_storage& source, size_t source_size,
                                      const sockaddr_storage& destination, size_t destination_size);
Expected<void, Errno> resolve_route(CmFile& file, uint32_t id, uint32_t timeout_ms);
Expected<rdma_ucm_query_route_resp, Errno> query_route(CmFile& file, uint32_t id);
Expected<rdma_ucm_query_addr_resp, Errno> query_address(CmFile& file, uint32_t id);
Expected<std::vector<ib_path_rec_data>, Errno> query_path(CmFile& file, uint32_t id);
/// As query_address(), with sockaddr_ib.
Expected<rdma_ucm_query_addr_resp, Errno> query_gid(CmFile& file, uint32_t id);

Expected<void, Errno> connect(CmFile& file, uint32_t id, const rdma_ucm_conn_param& parameters,
                              const rdma_ucm_ece& ece);
Expected<void, Errno> listen(CmFile& file, uint32_t id, uint32_t backlog);
/// conn_param.valid 0: the application has brought its queue pair to RTR and tells no more (the
/// peer's RTU, SIDR).
Expected<void, Errno> accept(CmFile& file, const rdma_ucm_accept& command);
Expected<void, Errno> reject(CmFile& file, const rdma_ucm_reject& command);
Expected<void, Errno> disconnect(CmFile& file, uint32_t id);
Expected<void, Errno> notify(CmFile& file, uint32_t id, ibv_event_type event);
Expected<ib_uverbs_qp_attr, Errno> init_qp_attr(CmFile& file, uint32_t id, ibv_qp_state state);

Expected<void, Errno> set_option(CmFile& file, uint32_t id, uint32_t level, uint32_t name,
                                 std::span<const uint8_t> value);
/// The id of the membership.
Expected<uint32_t, Errno> join_multicast(CmFile& file, uint32_t id, uint64_t uid,
                                         const sockaddr_storage& address, size_t size,
                                         uint16_t join_flags);
/// events_reported of the membership.
Expected<rdma_ucm_destroy_id_resp, Errno> leave_multicast(CmFile& file, uint32_t membership);
/// Moves `id`, with its unread events, from `from` (where it is now) to `to`.
Expected<rdma_ucm_migrate_resp, Errno> migrate_id(CmFile& to, CmFile& from, uint32_t id);

/// EAGAIN: no event waits.
Expected<rdma_ucm_event_resp, Errno> get_event(CmFile& file);

}  // namespace urxe::cm
