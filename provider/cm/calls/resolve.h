// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

/// RESOLVE_ADDR and RESOLVE_IP, rdma_resolve_addr(3). `source_size` 0: no source.
Expected<void, Errno> resolve_address(CmFile& file, uint32_t id, uint32_t timeout_ms,
                                      const sockaddr_storage& source, size_t source_size,
                                      const sockaddr_storage& destination, size_t destination_size);
/// RESOLVE_ROUTE, rdma_resolve_route(3).
Expected<void, Errno> resolve_route(CmFile& file, uint32_t id, uint32_t timeout_ms);

}  // namespace urxe::cm
