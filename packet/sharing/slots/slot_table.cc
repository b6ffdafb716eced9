// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots/slot_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "packet/host/file_size.h"
#include "packet/host/random.h"

namespace urxe {

int make_slot_table(int fd) {
  if (!may_grow_file_to(sizeof(SlotTable))) return EFBIG;
  // Allocated, not only sized: a full file system must fail here, not as SIGBUS later.
  if (const int full = posix_fallocate(fd, 0, sizeof(SlotTable)); full != 0) return full;
  static_assert(offsetof(SlotTable, secret) == 0);
  static_assert(offsetof(SlotTable, next_slot) == sizeof(SipKey));
  // Nor shall anybody guess the slots of the first processes.
  const struct {
    SipKey secret = random_secret();
    uint32_t next_slot = static_cast<uint32_t>(secret_number() % kSlots);
    uint32_t padding = 0;
  } begin;
  const ssize_t written = pwrite(fd, &begin, sizeof begin, 0);
  if (written < 0) return errno;
  return written == sizeof begin ? 0 : EIO;
}

Expected<SipKey, Errno> read_slot_secret(int directory) {
  const FileDescriptor fd(openat(directory, "slots", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return error(errno);
  SipKey secret;
  const ssize_t size = pread(fd.get(), &secret, sizeof secret, 0);
  if (size < 0) return error(errno);
  if (size != sizeof secret) return error(EINVAL);
  return secret;
}

Expected<std::shared_ptr<SlotTable>, Errno> open_slot_table(const SharingDirectory& directory) {
  const auto fd = directory.open_file("slots");
  if (!fd) return Unexpected<Errno>(fd.error());
  struct stat status {};
  if (fstat(fd->get(), &status) != 0) return error(errno);
  if (status.st_size < static_cast<off_t>(sizeof(SlotTable))) return error(EINVAL);
  void* const memory =
      mmap(nullptr, sizeof(SlotTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  if (memory == MAP_FAILED) return error(errno);
  return std::shared_ptr<SlotTable>(static_cast<SlotTable*>(memory),
                                    [](SlotTable* mapped) { munmap(mapped, sizeof *mapped); });
}

}  // namespace urxe
