// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/files/user_cm.h"

namespace urxe::cm {

// QUERY_ROUTE and the options of QUERY: the addresses, device and path of an id.

Expected<rdma_ucm_query_route_resp, Errno> query_route(CmFile& file, uint32_t id);
Expected<rdma_ucm_query_addr_resp, Errno> query_address(CmFile& file, uint32_t id);
Expected<std::vector<ib_path_rec_data>, Errno> query_path(CmFile& file, uint32_t id);
/// As query_address(), with sockaddr_ib.
Expected<rdma_ucm_query_addr_resp, Errno> query_gid(CmFile& file, uint32_t id);

}  // namespace urxe::cm
