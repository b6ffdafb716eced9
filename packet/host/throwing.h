// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// Whether this thread can throw std::bad_alloc. The C++ library keeps what a thread throws in
/// thread-local memory, which the dynamic linker allocates when the thread throws for the first
/// time; if it cannot, it ends the program ("cannot allocate memory for thread-local data"). So
/// that is allocated here. False: there is no memory for it; the caller fails with ENOMEM.
[[nodiscard]] bool can_throw() noexcept;

}  // namespace urxe
