// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe {
class RuntimeDevice;
}

namespace urxe::cm {

/// What the service's thread sleeps on: files, address resolutions, and marks of devices that have
/// events.
class Watch {
 public:
  enum class What : uint32_t { kWake, kFile, kResolution };
  struct Ready {
    What what;
    uint32_t number;  ///< of the id; of the file: its descriptor
  };

  /// Makes the descriptors and starts the thread with `main(argument)`. Once. EMFILE, EAGAIN.
  Expected<void, Errno> start(void* (*main)(void*), void* argument);
  /// Wakes the thread. Any thread, with any lock held.
  void wake() const;
  /// Marks a device, once until take_marked(), and wakes the thread. The device may be gone when
  /// its mark is taken, so the pointer may only be compared.
  void mark(const RuntimeDevice* device);
  /// The marks that were set. They stay valid until the next call. The service's thread only.
  std::span<const RuntimeDevice* const> take_marked();
  /// Memory ran out before all was done: sets the marks that take_marked() returned again, after a
  /// pause. The service's thread only, without locks.
  void try_again();

  /// `events` as for epoll_ctl(2); hang-ups are always reported. ENOMEM, ENOSPC.
  Expected<void, Errno> add(int fd, uint32_t events, What what, uint32_t number);
  void remove(int fd);

  /// Sleeps until something is ready or the time has come. The service's thread only.
  std::span<const Ready> wait(std::optional<Instant> until, Instant now);

  /// fork(): the service's lock and those of all devices are held, so no mark was being set.
  void after_fork_in_child();

 private:
  bool started_ = false;
  pthread_t thread_{};
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::mutex marks_mutex_;
  std::vector<const RuntimeDevice*> marked_;
  std::vector<const RuntimeDevice*> taken_;  ///< by the service's thread
  std::vector<Ready> ready_;
};

}  // namespace urxe::cm
