// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

/// SET_OPTION, rdma_set_option(3). ENOSYS: an unknown option.
Expected<void, Errno> set_option(CmFile& file, uint32_t id, uint32_t level, uint32_t name,
                                 std::span<const uint8_t> value);

}  // namespace urxe::cm
