// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "provider/devices/change_socket.h"
#include "provider/devices/device_file.h"

namespace urxe {

/// Keeps the open devices of this process, and the tree, up to date with their interfaces. Its
/// thread runs while a device is open, and sleeps until the kernel reports a change of an interface
/// or address. Changes that follow within 20 ms are handled together.
///
/// Thread-safe. Must not be called with a device's lock held: the thread calls the followers, which
/// take that lock, while it holds the watcher's own.
class InterfaceWatcher {
 public:
  static InterfaceWatcher& instance();

  /// An open device of this process.
  struct Follower {
    std::string name;
    /// Takes over the state of the interface. Called by the watcher's thread, and by add().
    std::function<void(const DeviceDescription& now)> follow;
  };

  /// Calls the follower with each change, until remove(), and once with the state as it is: before
  /// add() returns if the watcher was not running, else soon afterwards. The error says why the
  /// interfaces cannot be watched, the first time that they cannot. Devices then stay as they are.
  Expected<void, EngineError> add(const Follower& follower);
  void remove(const Follower& follower);

  /// Makes room for what set_link() will tell of a device without an interface of the kernel.
  void expect_link(const std::string& device);
  /// The link of the device has come up or gone down. Any lock may be held; the thread tells the
  /// followers and writes the tree. Allocates nothing: the engine calls it from within a poll.
  void set_link(const std::string& device, bool is_up) noexcept;

  /// Whether this process knows of changes that it could not write into the tree: it may have given
  /// up its rights, or the file system be full. Any lock may be held.
  [[nodiscard]] bool is_ahead_of_tree() const { return is_ahead_.load(); }

  // fork(): the child begins without devices, thread and descriptors.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  Expected<void, EngineError> try_to_start(const Follower& follower);
  Expected<void, EngineError> start();
  void stop();
  void wake();
  bool take_wake();
  void allow_wake(bool allowed);
  void release();
  static void* thread_main(void* self);
  void run();
  bool update();

  std::mutex lifecycle_;  ///< of the thread; held while it is joined
  bool running_ = false;
  bool complained_ = false;
  pthread_t thread_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_ahead_{false};
  FileDescriptor wake_fd_;
  ChangeSocket changes_;
  FileDescriptor tree_use_;

  /// What set_link() has told. No other lock is taken while this one is held. A fork() cannot wait
  /// for it, since a thread that waits for it may have a device's lock; the child begins anew.
  struct Links {
    std::mutex mutex;
    std::map<std::string, std::optional<bool>> up;  ///< nullopt: not told yet
    bool can_wake = false;
  };
  Links links_;

  std::mutex mutex_;  ///< held throughout an update; taken after lifecycle_
  std::vector<const Follower*> followers_;
  std::vector<uint32_t> ifindexes_;  ///< of the tree's devices
};

}  // namespace urxe
