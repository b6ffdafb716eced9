// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::test {

/// Binds ids and listens with 0, 1, 2, ... descriptors to spare, until it works. Prints what came
/// of each.
void listen_with_few_descriptors(const char* node);

/// Waits for events, and looks for them, without a descriptor to spare.
void wait_without_descriptors(const char* node);

}  // namespace urxe::test
