// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/engine/dpdk/plugin_abi.h"
#include "packet/engine/engine.h"

namespace urxe {

struct DpdkConfig {
  std::string arguments;                   ///< as for --dpdk-args
  std::string port;                        ///< of DPDK: "net_memif0"
  std::function<void(bool)> link_changed;  ///< called from within calls of the engine
  void (*log)(const char* line) = nullptr;
  // As in DpdkPluginConfig.
  void (*watch_unmapping)(void (*barrier)()) = nullptr;
  void (*watch_failed_sends)(ssize_t (*hook)(int fd, const msghdr* message)) = nullptr;
};

/// An engine for a port of DPDK, made by the plug-in `directory`/liburxe-dpdk.so, which stays
/// loaded. The error names the plug-in if it is absent or does not suit this provider.
Expected<std::unique_ptr<PacketEngine>, EngineError> open_dpdk_engine(const std::string& directory,
                                                                      DpdkConfig config);

/// The ports that DPDK finds with the arguments. This process cannot use DPDK for anything else
/// afterwards.
Expected<std::vector<DpdkPluginPort>, EngineError> list_dpdk_ports(const std::string& directory,
                                                                   const std::string& arguments);

/// The directory of the object, program or library, that this function is linked into.
std::string own_directory();

}  // namespace urxe
