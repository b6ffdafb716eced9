// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/guarded_open.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "packet/host/user_directory.h"

namespace urxe {
namespace {

constexpr int kMostLinks = 40;  ///< as the kernel follows

Unexpected<EngineError> failed_open(int errno_value) {
  return Unexpected<EngineError>(
      {errno_value, std::string("cannot open it: ") + std::strerror(errno_value)});
}

FileDescriptor open_at(int directory, const std::string& name, int flags, mode_t mode = 0) {
  return FileDescriptor(openat(directory, name.c_str(), flags | O_CLOEXEC, mode));
}

/// The links there are the kernel's own, and lead where their texts need not say.
bool is_proc(int directory) {
  struct statfs facts {};
  return fstatfs(directory, &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

/// Walks along a path, a name at a time.
class Walk {
 public:
  Walk(std::string path, int flags, mode_t mode)
      : left_(std::move(path)), flags_(flags), mode_(mode) {}

  Expected<FileDescriptor, EngineError> run() {
    if (left_.empty()) return failed_open(ENOENT);
    at_ = open_at(AT_FDCWD, left_[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY);
    while (at_) {
      begin_step();
      FileDescriptor next = open_at(at_.get(), name_, O_PATH | O_NOFOLLOW);
      if (!next) return errno == ENOENT && is_last() ? finish(O_NOFOLLOW) : failed_open(errno);
      struct stat facts {};
      if (fstat(next.get(), &facts) != 0) return failed_open(errno);
      if (S_ISLNK(facts.st_mode)) {
        if (!is_trusted(facts.st_uid)) return refuse(facts.st_uid);
        if (++links_ > kMostLinks) return failed_open(ELOOP);
        if (is_last() && is_proc(at_.get())) return finish(0);
        if (const int failed = follow(next.get()); failed != 0) return failed_open(failed);
      } else if (is_last()) {
        return finish(O_NOFOLLOW);
      } else {
        at_ = std::move(next);
      }
    }
    return failed_open(errno);
  }

 private:
  /// Takes the next name from what is left.
  void begin_step() {
    if (left_.starts_with('/')) at_ = open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY);
    left_.erase(0, left_.find_first_not_of('/'));
    const size_t end = left_.find('/');
    name_ = left_.substr(0, end);
    if (name_.empty()) name_ = ".";
    if (end == std::string::npos) {
      left_.clear();
      return;
    }
    left_.erase(0, left_.find_first_not_of('/', end));
    if (left_.empty()) left_ = ".";  // a slash at the end asks for a directory
  }
  [[nodiscard]] bool is_last() const { return left_.empty(); }

  /// In a user namespace root may be unknown: then it counts in directories of its own.
  [[nodiscard]] bool is_trusted(uid_t owner) const {
    if (owner == geteuid() || owner == 0) return true;
    struct stat facts {};
    return owner == kUnknownUser && fstat(at_.get(), &facts) == 0 && facts.st_uid == owner &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  int follow(int link) {
    if (is_proc(at_.get())) {
      at_ = open_at(at_.get(), name_, O_PATH);
      return at_ ? 0 : errno;
    }
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(link, "", target.data(), target.size());
    if (size <= 0) return size < 0 ? errno : ENOENT;
    left_ = std::string(target.data(), static_cast<size_t>(size)) + (is_last() ? "" : "/") + left_;
    return 0;
  }

  /// If a link has come into the place since, O_NOFOLLOW makes that an error.
  [[nodiscard]] Expected<FileDescriptor, EngineError> finish(int flag) const {
    FileDescriptor opened = open_at(at_.get(), name_, flags_ | flag, mode_);
    if (!opened) return failed_open(errno);
    return opened;
  }

  [[nodiscard]] Unexpected<EngineError> refuse(uid_t owner) const {
    return Unexpected<EngineError>(
        {EACCES, "\"" + name_ + "\" is a symbolic link that belongs to another user (uid " +
                     std::to_string(owner) + "), so it is not followed: name another file"});
  }

  FileDescriptor at_;
  std::string name_;
  std::string left_;
  int flags_;
  mode_t mode_;
  int links_ = 0;
};

}  // namespace

Expected<FileDescriptor, EngineError> guarded_open(const std::string& path, int flags,
                                                   mode_t mode) {
  return Walk(path, flags, mode).run();
}

}  // namespace urxe
