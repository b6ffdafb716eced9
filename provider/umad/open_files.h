// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "packet/base/expected.h"
#include "provider/umad/umad_file.h"

namespace urxe::umad {

/// The open umad files of this process, found by any of their descriptors. Thread-safe. Its lock is
/// the innermost: the hooks of read() and fstat() take it, which any code may call.
class OpenFiles {
 public:
  /// Made by the first call and never destroyed. That must be before other handlers of fork() are
  /// registered, because its lock is the innermost.
  static OpenFiles& instance();

  /// Throws std::bad_alloc.
  void add(const std::shared_ptr<UmadFile>& file);
  void remove(const UmadFile& file);
  /// Never null. EBADF: `fd` is no such file, so if it was one it has been closed since, and
  /// write() says the same; ENODEV: it was inherited by fork().
  Expected<std::shared_ptr<UmadFile>, Errno> find(int fd);
  /// Whether `fd` is a file of this process or an inherited one. Keeps errno.
  bool has(int fd);

 private:
  OpenFiles();
  void after_fork_in_child();

  std::mutex mutex_;
  std::unordered_map<ino_t, std::shared_ptr<UmadFile>> files_;  ///< null: inherited
};

}  // namespace urxe::umad
