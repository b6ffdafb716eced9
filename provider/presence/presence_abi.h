// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// What the preloaded object offers to the provider of the same process. Plain C; the provider
/// finds it by dlsym(RTLD_DEFAULT, "urxe_presence_v1"), which is null in a process that was not
/// started by `urxe run`.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using): C reads this too

/// Carries out a write() to one of urxe's device nodes: returns what write() returns, or -1 with
/// errno set (ENOSYS for a command it does not know). Called on the writing thread.
typedef ssize_t (*urxe_write_hook)(int fd, const void* buffer, size_t length);

struct urxe_presence {
  uint32_t version;  ///< 1
  /// Absolute path of the directory tree that describes the devices, without a trailing slash; null
  /// where the environment names none. Valid as long as the process lives.
  const char* tree;
  /// Installs the hook, or removes it (null). Thread-safe. Without a hook a write() to a node fails
  /// with ENOSYS.
  void (*set_write_hook)(urxe_write_hook hook);
  /// 1 where `fd` was opened as one of urxe's device nodes, else 0. Thread-safe.
  int (*is_node)(int fd);
};

/// Never null. Thread-safe.
const struct urxe_presence* urxe_presence_v1(void);
typedef const struct urxe_presence* (*urxe_presence_v1_function)(void);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}  // extern "C"
#endif
