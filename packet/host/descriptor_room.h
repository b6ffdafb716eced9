// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace urxe {

/// Whether the process may open `more` descriptors beside those that it has.
bool has_descriptors(size_t more);

/// Descriptors that the application may still need itself: 256, or a quarter of those that it may
/// have, if that is less.
size_t spare_descriptors();

}  // namespace urxe
