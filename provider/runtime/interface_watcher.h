// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "packet/host/file_descriptor.h"
#include "provider/devices/change_socket.h"

namespace urxe {

class RuntimeDevice;

/// Keeps the open devices of this process, and the tree, like their interfaces: a thread that runs
/// as long as there is such a device, and sleeps until the kernel announces a change. Changes that
/// come close together are looked at together.
///
/// Thread-safe. Nothing here may be called with a device's lock held.
class InterfaceWatcher {
 public:
  static InterfaceWatcher& instance();

  /// From now on, and at once, `device` follows its interface. Where the kernel's announcements are
  /// not to be had it says so on stderr, and the device stays as it is.
  void add(RuntimeDevice& device);
  void remove(RuntimeDevice& device);

  // fork(): the child begins without devices, thread and descriptors.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  std::string start();
  void stop();
  void release();
  static void* thread_main(void* self);
  void run();
  bool update();

  std::mutex lifecycle_;  ///< of the thread; held while it is joined
  bool running_ = false;
  bool complained_ = false;
  pthread_t thread_{};
  std::atomic<bool> stop_{false};
  FileDescriptor wake_fd_;
  ChangeSocket changes_;
  FileDescriptor tree_use_;

  std::mutex mutex_;  ///< held throughout an update; taken after lifecycle_
  std::vector<RuntimeDevice*> devices_;
  std::vector<uint32_t> ifindexes_;  ///< of the tree's devices
};

}  // namespace urxe
