// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"

namespace urxe {

/// What the options that urxe adds depend on.
struct EalHost {
  unsigned first_cpu = 0;   ///< one that this process may run on
  bool huge_pages = false;  ///< there are enough of them, and this process may use them
  std::string file_prefix;
  /// Where memifs meet that name no socket: a path that only this user can reach. Empty: there is
  /// no place for one.
  std::string memif_socket;
};

/// The user's options of DPDK's environment (EAL), and those that a library in somebody's process
/// needs unless the user has said otherwise. The error is a sentence for the user: a word is no
/// option, or one that would print, end the process, or make it another one's secondary. (EAL
/// itself prints its usage on stdout where it finds a mistake.)
Expected<std::vector<std::string>, std::string> complete_eal_options(
    const std::vector<std::string>& given, const EalHost& host);

/// What the options name devices by: the values of --vdev, -a and --allow.
std::vector<std::string> named_devices(const std::vector<std::string>& options);

/// What a device is, apart from how it is used: two processes cannot have devices with one key.
struct DeviceKey {
  std::string text;            ///< empty: every process may have one like it
  bool of_network = false;     ///< means something in one network namespace only
  std::string memif_socket;    ///< the path of the socket that a server makes; empty: none
  bool shared_by_ids = false;  ///< a server's socket: its process may have more servers there
};
/// `device` is one of named_devices().
DeviceKey key_of_device(std::string_view device);

/// By what a memif meets its peer: a path, or an abstract name. Empty: it is no memif.
std::string memif_socket_of(std::string_view device);

/// The name of the device, which its port has too: what is before the first comma.
std::string name_of_device(std::string_view device);

}  // namespace urxe
