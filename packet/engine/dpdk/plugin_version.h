// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/engine/dpdk/plugin_abi.h"

#define URXE_TEXT_OF(number) #number
#define URXE_TEXT(macro) URXE_TEXT_OF(macro)

namespace urxe {

/// What the plug-in returns for its version, and the provider compares. A PacketEngine is passed
/// between them, so they must be of the same version and compiler.
inline constexpr const char* kPluginVersion =
    URXE_TEXT(URXE_DPDK_ABI) " " URXE_PLUGIN_VERSION " " __VERSION__;

}  // namespace urxe

#undef URXE_TEXT
#undef URXE_TEXT_OF
