// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace urxe {

// What the provider and the plug-in lib/liburxe-dpdk.so know of each other. The provider loads the
// plug-in when it needs it (plugin_loader.h); the plug-in is linked to DPDK, the provider is not.
// The functions have C linkage; they are found by the names below.

/// Changes with every change of this file, of PacketEngine and EngineLane, or of what is passed
/// through them.
#define URXE_DPDK_ABI 7

inline constexpr size_t kMostDpdkPorts = 32;

/// Why a function has failed: words for the user, without "urxe: ".
struct DpdkPluginError {
  int errno_value;
  char text[1000];
};

struct DpdkPluginConfig {
  const char* arguments;  ///< as for --dpdk-args
  const char* port;       ///< its name, as in DpdkPluginPort; the list function does not use it
  /// Prints a line for the user. Called by any thread.
  void (*log)(const char* line);
  /// The link of the port has come up or gone down. Called from within calls of the engine.
  void (*link_changed)(void* context, int is_up);
  void* context;
  /// Has every thread that unmaps memory call the barrier before. Null: that cannot be had.
  void (*watch_unmapping)(void (*barrier)());
  /// Has the hook called after each sendmsg() of the process that has failed; it returns what
  /// sendmsg() is to return, or -1. Null: that cannot be had.
  void (*watch_failed_sends)(ssize_t (*hook)(int fd, const msghdr* message));
};

/// A port of DPDK.
struct DpdkPluginPort {
  char name[64];
  uint32_t interface_index;  ///< of the network interface that the kernel keeps for it; 0: none
  uint32_t mtu;              ///< as it will be with the arguments
  uint32_t speed_mbps;       ///< 0: unknown
  uint8_t mac[6];
};

/// "<ABI> <version of urxe> <compiler>": the plug-in is used only if it has the provider's.
using DpdkVersionFunction = const char*();
inline constexpr const char* kDpdkVersionSymbol = "urxe_dpdk_version";

/// A PacketEngine for the port, which the caller deletes; null with *error. Starts DPDK if the
/// process has not done so. The config's functions must outlive the engine.
using DpdkCreateFunction = void*(const DpdkPluginConfig* config, DpdkPluginError* error);
inline constexpr const char* kDpdkCreateSymbol = "urxe_dpdk_create";

/// Starts DPDK, writes the ports into ports[kMostDpdkPorts], closes them, and returns their number;
/// -1 with *error. Nothing can be done with DPDK in this process afterwards.
using DpdkListFunction = int(const DpdkPluginConfig* config, DpdkPluginPort* ports,
                             DpdkPluginError* error);
inline constexpr const char* kDpdkListSymbol = "urxe_dpdk_list";

}  // namespace urxe
