// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

/// LISTEN, rdma_listen(3). An id that is not bound is bound to any IPv4 address first.
Expected<void, Errno> listen(CmFile& file, uint32_t id, uint32_t backlog);

}  // namespace urxe::cm
