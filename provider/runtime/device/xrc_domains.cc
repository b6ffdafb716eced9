// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/xrc_domains.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "packet/base/fnv.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "provider/runtime/errors.h"

namespace urxe {
namespace {

uint64_t hash_of(const std::string& device_name, dev_t device, ino_t inode) {
  return fnv1a("xrcd " + device_name + ' ' + std::to_string(device) + ' ' + std::to_string(inode));
}

}  // namespace

XrcDomains::Named* XrcDomains::find(dev_t device, ino_t inode) {
  const auto found = std::ranges::find_if(
      named_, [&](const Named& named) { return named.device == device && named.inode == inode; });
  return found == named_.end() ? nullptr : &*found;
}

Expected<FileDescriptor, Errno> XrcDomains::claim_name(dev_t device, ino_t inode,
                                                       int oflags) const {
  const auto directory = SharingDirectory::here();
  if (!directory) return error(directory.error().errno_value);
  auto lock = (*directory)->take(name_lock(hash_of(device_name_, device, inode)));
  if (lock || lock.error().value != EADDRINUSE) return lock;
  if ((oflags & O_EXCL) != 0) return error(EINVAL);
  if ((oflags & O_CREAT) != 0) return FileDescriptor();
  print_error(
      "ibv_open_xrcd: another process has the XRC domain of this file, and urxe does not share XRC "
      "domains between processes; O_CREAT gives this process one of its own");
  return error(EOPNOTSUPP);
}

Expected<XrcDomain*, Errno> XrcDomains::open(Device& device, int fd, int oflags) {
  if (fd == -1) {
    if ((oflags & O_CREAT) == 0) return error(EINVAL);
    return device.alloc_domain();
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) return error(errno);
  if (Named* named = find(status.st_dev, status.st_ino)) {
    if ((oflags & O_EXCL) != 0) return error(EINVAL);
    ++named->references;
    return named->domain;
  }
  Named named{status.st_dev, status.st_ino, nullptr, 1, {}, {}};
  auto name = claim_name(named.device, named.inode, oflags);
  if (!name) return Unexpected<Errno>(name.error());
  if ((oflags & O_CREAT) == 0) return error(EAGAIN);
  named.name = *std::move(name);
  named.file = FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!named.file) return error(errno);
  named_.reserve(named_.size() + 1);
  auto domain = device.alloc_domain();
  if (!domain) return domain;
  named.domain = *domain;
  named_.push_back(std::move(named));
  return domain;
}

void XrcDomains::close(Device& device, XrcDomain* domain) {
  const auto found = std::ranges::find(named_, domain, &Named::domain);
  if (found != named_.end()) {
    if (--found->references != 0) return;
    named_.erase(found);
  }
  (void)device.dealloc_domain(domain);
}

}  // namespace urxe
