// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/open_files.h"

#include <pthread.h>

#include <cerrno>

#include "provider/cm/files/cm_file.h"

namespace urxe::umad {

OpenFiles::OpenFiles() {
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] { instance().after_fork_in_child(); });
}

OpenFiles& OpenFiles::instance() {
  static auto* const files = new OpenFiles;
  return *files;
}

void OpenFiles::add(const std::shared_ptr<UmadFile>& file) {
  std::lock_guard lock(mutex_);
  files_[file->application_inode()] = file;
}

void OpenFiles::remove(const UmadFile& file) {
  std::lock_guard lock(mutex_);
  files_.erase(file.application_inode());
}

Expected<std::shared_ptr<UmadFile>, Errno> OpenFiles::find(int fd) {
  const ino_t inode = CmFile::socket_inode(fd);
  if (inode == 0) return error(EBADF);
  std::lock_guard lock(mutex_);
  const auto found = files_.find(inode);
  if (found == files_.end()) return error(EBADF);
  if (found->second == nullptr) return error(ENODEV);
  return found->second;
}

bool OpenFiles::has(int fd) {
  const ino_t inode = CmFile::socket_inode(fd);
  if (inode == 0) return false;
  std::lock_guard lock(mutex_);
  return files_.contains(inode);
}

/// The child has the parent's ends of the sockets, too. It gives them up, so that they end with the
/// parent.
void OpenFiles::after_fork_in_child() {
  for (auto& [inode, file] : files_) file.reset();
  mutex_.unlock();
}

}  // namespace urxe::umad
