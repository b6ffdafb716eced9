// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/install.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "packet/host/throwing.h"
#include "packet/host/uncancelled.h"
#include "provider/cm/commands/dispatch.h"
#include "provider/devices/preloaded.h"
#include "provider/runtime/errors.h"

namespace urxe::cm {
namespace {

/// Never destroyed: exit handlers may still use it.
OpenFiles& open_files() {
  static auto* const files = [] {
    auto* made = new OpenFiles;
    pthread_atfork([] { open_files().before_fork(); }, [] { open_files().after_fork_in_parent(); },
                   [] { open_files().after_fork_in_child(); });
    return made;
  }();
  return *files;
}

Expected<int, Errno> open_file(int flags) {
  int fd = -1;
  auto file = CmFile::create(flags, &fd);
  if (!file) return error(file.error().value);
  FileDescriptor application(fd);
  open_files().add(*file);
  if (auto added = command_table().add_file(*file); !added) return error(added.error().value);
  return application.release();
}

int open_hook(int flags) noexcept {
  const Uncancelled uncancelled;
  Expected<int, Errno> opened = error(ENOMEM);
  if (!can_throw()) return fail(ENOMEM);
  try {
    opened = open_file(flags);
  } catch (...) {
    opened = error(ENOMEM);
  }
  return opened ? *opened : fail(opened.error().value);
}

int is_file_hook(int fd) noexcept try {
  return open_files().has(fd) ? 1 : 0;
} catch (const std::bad_alloc&) {
  return 0;  // the first call, so there is none yet
}

std::optional<Expected<size_t, Errno>> try_uncancelled(int fd, const void* buffer,
                                                       size_t length) noexcept {
  const Uncancelled uncancelled;
  if (!can_throw()) return error(ENOMEM);
  try {
    return try_command({command_table(), open_files()}, fd, buffer, length);
  } catch (...) {
    return Expected<size_t, Errno>(error(ENOMEM));
  }
}

/// A second descriptor of the file, so that as in the kernel a waiting command keeps it open even
/// if another thread closes `fd`. EBADF: it was closed since the command began; EMFILE.
Expected<FileDescriptor, Errno> hold(int fd) {
  FileDescriptor held(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!held) return error(errno);
  if (!open_files().has(held.get())) return error(EBADF);
  return held;
}

/// Not noexcept: as in the kernel's write(), a thread may be cancelled while it waits, and is then
/// unwound through this function.
ssize_t write_hook(int fd, const void* buffer, size_t length) {
  FileDescriptor held;
  bool lacks_descriptors = false;
  for (;;) {
    const int used = held ? held.get() : fd;
    if (auto result = try_uncancelled(used, buffer, length)) {
      return *result ? static_cast<ssize_t>(**result) : fail(result->error().value);
    }
    if (!held && !lacks_descriptors) {
      auto copy = hold(fd);
      // The file can get no event any more; the kernel lets such a thread wait forever.
      if (!copy && copy.error().value == EBADF) pause();
      if (!copy && copy.error().value == EBADF) return fail(EINTR);
      // Then it is lost for this thread if another one closes it.
      lacks_descriptors = !copy;
      if (copy) held = *std::move(copy);
      continue;
    }
    if (auto waited = CmFile::wait(used); !waited) return fail(waited.error().value);
  }
}

constexpr urxe_cm_hooks kHooks = {open_hook, is_file_hook, write_hook};

}  // namespace

void install() noexcept {
  constexpr uint32_t kFirstWithHooks = 3;
  const urxe_presence* const presence = find_presence(kFirstWithHooks);
  if (presence != nullptr) presence->set_cm_hooks(&kHooks);
}

}  // namespace urxe::cm
