// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/files/open_files.h"

#include <algorithm>
#include <cerrno>

namespace urxe::cm {

void OpenFiles::add(const std::shared_ptr<CmFile>& file) {
  std::lock_guard lock(mutex_);
  if (entries_.size() >= sweep_at_) {
    // Inherited files stay: the child's close() of the last descriptor goes unnoticed.
    std::erase_if(entries_, [](const auto& entry) {
      return !entry.second.is_inherited && entry.second.file.expired();
    });
    sweep_at_ = std::max(kFirstSweep, entries_.size() * 2);
  }
  entries_[file->application_inode()] = {file, false};
}

Expected<std::shared_ptr<CmFile>, Errno> OpenFiles::find(int fd) {
  const ino_t inode = CmFile::socket_inode(fd);
  if (inode == 0) return error(EBADF);
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(inode);
  if (found == entries_.end()) return error(EBADF);
  auto file = found->second.file.lock();
  if (!file) return error(ENODEV);
  return file;
}

bool OpenFiles::has(int fd) {
  const ino_t inode = CmFile::socket_inode(fd);
  if (inode == 0) return false;
  std::lock_guard lock(mutex_);
  return entries_.contains(inode);
}

size_t OpenFiles::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

void OpenFiles::after_fork_in_child() {
  for (auto& [inode, entry] : entries_) entry = {{}, true};
  mutex_.unlock();
}

}  // namespace urxe::cm
