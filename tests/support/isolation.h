// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::test {

/// The tests have a network namespace of their own: no other process's slots and ports are in the
/// way, and theirs are in nobody's.
bool isolated();

}  // namespace urxe::test
