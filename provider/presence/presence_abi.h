// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The interface of the preloaded object to the provider in the same process. Plain C. The provider
/// finds it by dlsym(RTLD_DEFAULT, "urxe_presence_v1"), which is null in a process that was not
/// started by `urxe run`.

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using): C reads this too

/// Carries out a write() to one of urxe's device nodes: returns what write() returns, or -1 with
/// errno set (ENOSYS for a command it does not know). Called on the writing thread.
typedef ssize_t (*urxe_write_hook)(int fd, const void* buffer, size_t length);

/// Called before a read() of a descriptor that the provider has named (watch_reads()), on the
/// reading thread, whose cancellation may unwind through it. Returns 0: the read may be carried
/// out; -1: read() returns -1 with the errno that was set; 1: the descriptor is another file's by
/// now.
typedef int (*urxe_read_hook)(int fd);

/// Carries out an ioctl() of the kernel's verbs on one of urxe's device nodes: `command` is an
/// ib_uverbs_ioctl_hdr. Returns 0, or -1 with errno set (ENOTTY for a command it does not know).
typedef int (*urxe_ioctl_hook)(int fd, void* command);

/// A length that means the whole mapping that begins at the address (shmdt()).
#define URXE_WHOLE_MAPPING ((size_t)-1)

/// The connection manager's files, which replace /dev/infiniband/rdma_cm. The hooks are called on
/// the application's threads, any number at once. They must not call fstat(), dup() or write()
/// through this object, because its versions of these functions may call the hooks.
struct urxe_cm_hooks {
  /// Opens a file, as open() with these flags opens the node; -1 and errno.
  int (*open)(int flags);
  /// 1 if `fd` is a descriptor of a file that was opened so, else 0. Keeps errno.
  int (*is_file)(int fd);
  /// Carries out a write() to such a file.
  urxe_write_hook write;
};

/// The files of /dev/infiniband/umad<number>, by which programs exchange management datagrams. As
/// for the hooks above, they must not call fstat(), dup() or write() through this object.
struct urxe_mad_hooks {
  /// Opens a file, as open() with these flags opens that node; -1 and errno.
  int (*open)(int number, int flags);
  /// 1 if `fd` is a descriptor of a file that was opened so, else 0. Keeps errno.
  int (*is_file)(int fd);
  /// Carries out a write() to such a file. One that is read returns a whole datagram.
  urxe_write_hook write;
  /// Carries out an ioctl() on such a file; -1 and errno.
  int (*ioctl)(int fd, unsigned long request, void* argument);
  /// The fewest bytes that a read() of such a file may ask for: it returns a whole datagram, or
  /// fails.
  size_t (*least_read)(int fd);
};

/// What becomes of a range of memory.
enum urxe_loss {
  /// It may be unmapped unannounced, now or later: a block was given back to the allocator, or
  /// rights were taken away.
  URXE_UNCERTAIN = 1,
  /// It is unmapped, or something else is mapped over it.
  URXE_GONE = 2
};

/// Called on a thread of the application that takes memory away, or gets some. Any thread may call
/// them, and calls may nest. The hooks must not allocate or free, and keep errno.
struct urxe_memory_hooks {
  /// Before the call, with the range that it may take away and an urxe_loss. Replaces
  /// URXE_WHOLE_MAPPING by the length. Returns what to give to `after`; 0: do not call it.
  int (*before)(const void* address, size_t* length, int loss);
  /// After the call, on the same thread, with the same range. `unchanged`: the call has failed and
  /// taken nothing away.
  void (*after)(int begun, const void* address, size_t length, int unchanged);
  /// The allocator returns a block. It undoes URXE_UNCERTAIN there; if `same`, also what a `before`
  /// of this thread that has not ended has begun: a block that was expected to move has stayed.
  void (*allocated)(const void* block, size_t length, int same);
  /// This moment, for `unloaded`.
  uint64_t (*moment)(void);
  /// Memory was taken away since `moment`, and nobody could tell before. What was registered there
  /// before `moment` is gone.
  void (*unloaded)(const void* address, size_t length, uint64_t moment);
};

/// RDMA netlink. Carries out a sendmsg() on a descriptor that socket() has returned for it, which
/// is one of NETLINK_USERSOCK: returns what sendmsg() returns, or -1 with errno set. Called on the
/// sending thread. The message may lie in memory that cannot be read.
typedef ssize_t (*urxe_netlink_hook)(int fd, const struct msghdr* message);

/// A sendmsg() has failed, with errno. Returns what it is to return instead, or -1 with errno as it
/// was. Called on the sending thread. The message may lie in memory that cannot be read.
typedef ssize_t (*urxe_failed_send_hook)(int fd, const struct msghdr* message);

struct urxe_presence {
  uint32_t version;  ///< 9
  /// Absolute path of the directory tree that describes the devices, without a trailing slash; null
  /// if the environment names none. Valid as long as the process exists.
  const char* tree;
  /// Installs the hook, or removes it (null). Thread-safe. Without a hook a write() to a node fails
  /// with ENOSYS.
  void (*set_write_hook)(urxe_write_hook hook);
  /// 1 if `fd` was opened as one of urxe's device nodes, else 0. Thread-safe.
  int (*is_node)(int fd);
  /// Since version 9 with these hooks. Installs hooks, which must stay valid, or removes them
  /// (null). Thread-safe. A call that is under way may still use the old ones.
  void (*set_memory_hooks)(const struct urxe_memory_hooks* hooks);
  /// Since version 3. Installs hooks, which must stay valid, or removes them (null). Thread-safe.
  /// If there are no hooks yet, opening the node makes libibverbs load the provider, which installs
  /// them; ENODEV if there are still none.
  void (*set_cm_hooks)(const struct urxe_cm_hooks* hooks);
  /// Since version 5. `fd` is the tree, and stays open: the tree can be had by it when its path is
  /// closed to the process, which may have become another user.
  void (*hold_tree)(int fd);
  /// Since version 5. 1 if nobody in this process has told yet of this error, EMFILE or ENFILE, and
  /// the caller is going to; else 0. A program without descriptors fails in many places.
  int (*claim_lack)(int errno_value);
  /// Since version 6. Installs the hook, or removes it (null). Thread-safe.
  void (*set_read_hook)(urxe_read_hook hook);
  /// Since version 6. From now on the hook is called before each read() of `fd`, until it says that
  /// the descriptor is another file's. Thread-safe.
  void (*watch_reads)(int fd);
  /// Since version 6. Installs the hook, or removes it (null). Thread-safe. Without a hook the
  /// commands fail with ENOTTY, as the null device's do.
  void (*set_ioctl_hook)(urxe_ioctl_hook hook);
  /// Since version 6. Installs the hook, or removes it (null). Thread-safe.
  void (*set_netlink_hook)(urxe_netlink_hook hook);
  /// Since version 7. Installs hooks, which must stay valid, or removes them (null). Thread-safe.
  /// If there are no hooks yet, opening a node loads the provider, which installs them; ENODEV if
  /// there are still none.
  void (*set_mad_hooks)(const struct urxe_mad_hooks* hooks);
  /// Since version 8. Installs the hook, or removes it (null). Thread-safe.
  void (*set_failed_send_hook)(urxe_failed_send_hook hook);
};

/// Never null. Thread-safe.
const struct urxe_presence* urxe_presence_v1(void);
typedef const struct urxe_presence* (*urxe_presence_v1_function)(void);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}  // extern "C"
#endif
