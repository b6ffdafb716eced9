// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

/// The open files of this process, found by any of their descriptors. The service keeps the files
/// until the application has closed its end; this table does not. Thread-safe.
class OpenFiles {
 public:
  OpenFiles() = default;
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  /// Throws std::bad_alloc.
  void add(const std::shared_ptr<CmFile>& file);
  /// Never null. EBADF: `fd` is no such file, so if it was one it has been closed since, and
  /// write() says the same; ENODEV: it was inherited by fork().
  Expected<std::shared_ptr<CmFile>, Errno> find(int fd);
  /// Whether `fd` is a file of this process or an inherited one. Keeps errno.
  bool has(int fd);
  [[nodiscard]] size_t size() const;

  // Around a fork(): the child recognizes its parent's files, but cannot use them.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  struct Entry {
    std::weak_ptr<CmFile> file;
    bool is_inherited = false;
  };
  static constexpr size_t kFirstSweep = 16;

  mutable std::mutex mutex_;
  std::unordered_map<ino_t, Entry> entries_;
  size_t sweep_at_ = kFirstSweep;
};

}  // namespace urxe::cm
