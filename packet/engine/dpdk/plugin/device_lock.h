// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/engine/dpdk/eal_options.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The path for a file about `key` in the user's directory (packet/host/user_directory.h). Empty:
/// there is no such directory.
std::string user_file(const char* kind, const std::string& key);

/// A process's sole right to a device of DPDK, among the processes of its user. A file in the
/// user's directory (packet/host/user_directory.h) is locked, and has the process's number. The
/// kernel unlocks it when the process ends, however it does.
class DeviceLock {
 public:
  DeviceLock() = default;
  /// EBUSY: another process has the device; the error tells its number. `device` is for the error.
  /// If there is no directory for the file, nothing is locked: the driver will refuse a second
  /// one, or not.
  static Expected<DeviceLock, EngineError> take(const DeviceKey& key, const std::string& device);
  DeviceLock(DeviceLock&&) noexcept = default;
  DeviceLock& operator=(DeviceLock&&) noexcept = default;
  ~DeviceLock() { release(); }

  void release();
  /// For a forked child: closes its copy, and leaves the lock to the parent.
  void abandon() { fd_.reset(); }

 private:
  FileDescriptor fd_;
  std::string path_;
};

}  // namespace urxe
