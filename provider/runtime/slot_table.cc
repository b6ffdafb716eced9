// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/slot_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "packet/engine/file_descriptor.h"

namespace urxe {
namespace {

bool is_ours_alone(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 0077) == 0 && status.st_nlink == 1;
}

std::string file_name() {
  struct stat netns {};
  if (stat("/proc/self/ns/net", &netns) != 0) return {};
  return "urxe-" + std::to_string(geteuid()) + "-" + std::to_string(netns.st_ino) + "-qpn";
}

std::shared_ptr<SlotTable> private_table() {
  return std::shared_ptr<SlotTable>(new (std::nothrow) SlotTable{});
}

}  // namespace

std::shared_ptr<SlotTable> map_slot_table(const std::string& path) {
  const FileDescriptor fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd || !is_ours_alone(fd.get())) return nullptr;
  // Allocated, not only sized: a full file system must fail here, not as SIGBUS later.
  if (posix_fallocate(fd.get(), 0, sizeof(SlotTable)) != 0) return nullptr;
  void* const memory =
      mmap(nullptr, sizeof(SlotTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const table = static_cast<SlotTable*>(memory);
  table->in_file = 1;
  return {table, [](SlotTable* mapped) { munmap(mapped, sizeof *mapped); }};
}

std::shared_ptr<SlotTable> open_slot_table() {
  const std::string name = file_name();
  if (name.empty()) return private_table();
  // The directory that does not hang on the environment comes first: all processes of a user are to
  // meet in one file, those of a login session and those of a service.
  if (auto table = map_slot_table("/dev/shm/" + name)) return table;
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') {
    if (auto table = map_slot_table(std::string(runtime) + "/" + name)) return table;
  }
  if (auto table = map_slot_table("/tmp/" + name)) return table;
  return private_table();
}

}  // namespace urxe
