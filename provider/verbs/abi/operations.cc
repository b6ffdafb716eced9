// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/abi/operations.h"

#include <algorithm>
#include <bit>

namespace urxe::abi {
namespace {

/// An operation that came after rdma-core 36.
struct Later {
  size_t offset;
  int release;
};
constexpr std::array kLater{
    Later{offsetof(VerbsContextOps, alloc_buf), 64},
    Later{offsetof(VerbsContextOps, alloc_dmah), 59},
    Later{offsetof(VerbsContextOps, create_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, dealloc_dmah), 59},
    Later{offsetof(VerbsContextOps, destroy_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, dm_export_dmabuf_fd), 62},
    Later{offsetof(VerbsContextOps, free_buf), 64},
    Later{offsetof(VerbsContextOps, inc_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, inc_err_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, qp_attach_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, query_comp_cntr_caps), 65},
    Later{offsetof(VerbsContextOps, query_port_speed), 62},
    Later{offsetof(VerbsContextOps, read_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, read_err_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, reg_mr_ex), 59},
    Later{offsetof(VerbsContextOps, set_comp_cntr), 65},
    Later{offsetof(VerbsContextOps, set_err_comp_cntr), 65},
};

bool is_in(int release, size_t index) {
  const auto* const later = std::ranges::find(kLater, index * sizeof(void*), &Later::offset);
  return later == kLater.end() || later->release <= release;
}

}  // namespace

OperationTable make_operation_table(const VerbsContextOps& operations, int release) {
  const auto all = std::bit_cast<OperationTable>(operations);
  OperationTable table{};
  size_t count = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (is_in(release, i)) table[count++] = all[i];
  }
  return table;
}

}  // namespace urxe::abi
