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

/// The length that stands for "the whole mapping that begins there" (shmdt()).
#define URXE_WHOLE_MAPPING ((size_t)-1)

/// The connection manager's files, which stand for /dev/infiniband/rdma_cm. All are called on the
/// application's threads, any number at once. They must not ask for the status of a file, duplicate
/// or write to it by the functions that this object stands in front of: those may ask them.
struct urxe_cm_hooks {
  /// Opens a file, as open() with those flags would the node; -1 and errno.
  int (*open)(int flags);
  /// 1 where `fd` is a file that was opened so, under whatever number, else 0. errno is left alone.
  int (*is_file)(int fd);
  /// Carries out a write() to such a file.
  urxe_write_hook write;
};

/// Called on a thread of the application's that is about to unmap memory, to map something else
/// over it, to take rights away, or to free it. May be called by any thread, and within each other;
/// must not allocate or free. errno must be left alone.
struct urxe_memory_hooks {
  /// Before the call: the range that it may take away. Non-zero: `after` is to be called.
  int (*before)(const void* address, size_t length);
  /// After the call, on the same thread.
  void (*after)(void);
};

struct urxe_presence {
  uint32_t version;  ///< 3
  /// Absolute path of the directory tree that describes the devices, without a trailing slash; null
  /// where the environment names none. Valid as long as the process lives.
  const char* tree;
  /// Installs the hook, or removes it (null). Thread-safe. Without a hook a write() to a node fails
  /// with ENOSYS.
  void (*set_write_hook)(urxe_write_hook hook);
  /// 1 where `fd` was opened as one of urxe's device nodes, else 0. Thread-safe.
  int (*is_node)(int fd);
  /// Since version 2. Installs hooks, which must stay valid, or removes them (null). Thread-safe;
  /// a call that is under way may still use the old ones.
  void (*set_memory_hooks)(const struct urxe_memory_hooks* hooks);
  /// Since version 3. Installs hooks, which must stay valid, or removes them (null). Thread-safe.
  /// Without hooks the node is opened once the provider, loaded by libibverbs, has installed them;
  /// ENODEV where that does not come to pass.
  void (*set_cm_hooks)(const struct urxe_cm_hooks* hooks);
};

/// Never null. Thread-safe.
const struct urxe_presence* urxe_presence_v1(void);
typedef const struct urxe_presence* (*urxe_presence_v1_function)(void);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}  // extern "C"
#endif
