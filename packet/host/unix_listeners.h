// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// A unix socket that listens under an abstract name.
struct UnixListener {
  std::string name;
  std::optional<uid_t> user;  ///< who made it; nullopt: the kernel does not say
};

/// Those of the calling thread's network namespace whose names begin with `prefix`, but for those
/// of which the kernel says that another user than `user` has made them. Never blocks.
std::vector<UnixListener> list_unix_listeners(const std::string& prefix, uid_t user);

}  // namespace urxe
