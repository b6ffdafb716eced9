// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What most tests include, compiled once for all of them. A test still includes what it uses: with
// -DURXE_PRECOMPILED_HEADERS=OFF nothing is precompiled.

#include <gtest/gtest.h>

#include "packet/base/precompiled.h"
