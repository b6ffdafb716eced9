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
/// Two processes cannot share a domain: its queue pairs and shared receive queues live in one. Each
/// gets one of its own where O_CREAT allows to make it, which serves programs that only follow the
/// usual ways; those that rely on sharing are told, here or by ibv_open_qp(). The first process
/// holds a unix socket with the file's number in its name, by which the others know. Not
/// thread-safe.
class XrcDomains {
 public:
  explicit XrcDomains(std::string device_name) : device_name_(std::move(device_name)) {}

  /// `fd` -1: a domain of its own (EINVAL without O_CREAT). Else the domain of that file, made
  /// where O_CREAT is in `oflags` and this process has none. Without O_CREAT: EAGAIN where nobody
  /// has one, EOPNOTSUPP (and a word on stderr) where another process has. EINVAL: somebody has one
  /// and O_EXCL is set. EBADF.
  Expected<XrcDomain*, Errno> open(Device& device, int fd, int oflags);
  /// Gives back what open() gave. The domain ends with the last.
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
    FileDescriptor name;  ///< none: another process has it
  };
  Named* find(dev_t device, ino_t inode);
  Expected<FileDescriptor, Errno> claim_name(dev_t device, ino_t inode, int oflags) const;

  std::string device_name_;
  std::vector<Named> named_;
};

}  // namespace urxe
