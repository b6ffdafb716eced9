// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/private_abi.h"

namespace urxe {

/// The functions of libibverbs that the provider calls. They are looked up and not linked, so that
/// with a library of another private ABI the provider can say so instead of failing to load.
struct Library {
  abi::RegisterDriver register_driver = nullptr;
  abi::InitAndAllocContext init_and_alloc_context = nullptr;
  abi::SetOps set_ops = nullptr;
  abi::UninitContext uninit_context = nullptr;
};

/// Finds the functions in the libibverbs that this process has loaded; false if one is missing.
bool find_library() noexcept;

/// After find_library().
const Library& library() noexcept;

}  // namespace urxe
