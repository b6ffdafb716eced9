// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "transport/device/device.h"

namespace urxe {

/// The XRC domains that one device's contexts in this process have opened (ibv_open_xrcd(3)). All
/// that name the same file have the same domain.
///
/// Two processes cannot share a domain, because its queue pairs and shared receive queues live in
/// one process. With O_CREAT each process gets a domain of its own, which is enough for programs
/// that do not need to share; the others get an error, here or from ibv_open_qp(). The first
/// process takes a lock that stands for the file's number, so that the others notice. Not
/// thread-safe.
class XrcDomains {
 public:
  explicit XrcDomains(std::string device_name) : device_name_(std::move(device_name)) {}

  /// `fd` -1: a new domain (EINVAL without O_CREAT). Else the domain of that file, which is made if
  /// this process has none and `oflags` has O_CREAT. Without O_CREAT: EAGAIN if no process has one,
  /// EOPNOTSUPP (and a line on stderr) if another process has. EINVAL: O_EXCL is set and there is
  /// one. EBADF; otherwise as SharingDirectory::here().
  Expected<XrcDomain*, Errno> open(Device& device, int fd, int oflags);
  /// Releases a domain of open(). It ends with its last user.
  void close(Device& device, XrcDomain* domain);
  /// The names stay the parent's.
  void after_fork_in_child() { named_.clear(); }

 private:
  struct Named {
    dev_t device = 0;
    ino_t inode = 0;
    XrcDomain* domain = nullptr;
    uint32_t references = 0;
    FileDescriptor file;  ///< keeps the number from being another file's
    FileDescriptor name;  ///< the lock; none: another process has it
  };
  Named* find(dev_t device, ino_t inode);
  Expected<FileDescriptor, Errno> claim_name(dev_t device, ino_t inode, int oflags) const;

  std::string device_name_;
  std::vector<Named> named_;
};

}  // namespace urxe
