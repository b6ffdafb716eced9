// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/abi/operations.h"
#include "provider/verbs/abi/private_abi.h"
#include "provider/verbs/abi/qp_layout.h"

namespace urxe {

/// What the provider needs to know of the loaded libibverbs: the functions that it calls, and where
/// its release differs from others of the same private ABI. The functions are looked up and not
/// linked, so that with a library of another private ABI the provider can say so instead of failing
/// to load.
struct Library {
  int private_abi = 0;  ///< the number in the names
  int release = 0;      ///< of rdma-core: the first with these operations
  abi::RegisterDriver register_driver = nullptr;
  abi::InitAndAllocContext init_and_alloc_context = nullptr;
  abi::SetOps set_ops = nullptr;
  abi::UninitContext uninit_context = nullptr;
  QpLayout qp_layout;
};

/// Finds all of it in the libibverbs that this process has loaded; false if something is missing.
bool find_library() noexcept;

/// After find_library().
const Library& library() noexcept;

}  // namespace urxe
