// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/guarded_access.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "packet/host/file_descriptor.h"
#include "provider/runtime/memory/mapped_memory.h"
#include "provider/runtime/memory/unmap_gate.h"
#include "provider/runtime/memory/unmap_watch.h"

namespace urxe {
namespace {

/// Whether the kernel refuses process_vm_readv(2) and process_vm_writev(2): a filter of system
/// calls may, and emulators do not have them.
std::atomic<bool> refused{false};

bool is_refusal(int error) {
  return error == ENOSYS || error == EPERM || error == EACCES;
}

/// The kernel copies into the pipe, and out of it, and fails where it cannot read or write. A pipe
/// a call costs more than one that is kept, but needs no lock, and nobody can close it. The calls
/// are made past those of a sanitizer, which would complain of blocks that were freed.
bool copy_by_pipe(void* to, const void* from, size_t bytes) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const FileDescriptor out(fds[0]);
  const FileDescriptor in(fds[1]);
  size_t done = 0;
  while (done < bytes) {
    const long filled =
        syscall(SYS_write, in.get(), static_cast<const uint8_t*>(from) + done, bytes - done);
    if (filled <= 0) return false;
    for (size_t left = static_cast<size_t>(filled); left > 0;) {
      const long taken = syscall(SYS_read, out.get(), static_cast<uint8_t*>(to) + done, left);
      if (taken <= 0) return false;
      left -= static_cast<size_t>(taken);
      done += static_cast<size_t>(taken);
    }
  }
  return true;
}

using Copy = ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                     unsigned long);

/// `copy` copies between memory of ours, and memory that may not be there. False: not all of it, or
/// it is refused.
bool copy_in_process(Copy* copy, void* own, void* guarded, size_t bytes) {
  if (refused.load(std::memory_order_relaxed)) return false;
  const iovec local{own, bytes};
  const iovec remote{guarded, bytes};
  const ssize_t copied = copy(getpid(), &local, 1, &remote, 1, 0);
  if (copied < 0 && is_refusal(errno)) refused.store(true, std::memory_order_relaxed);
  return copied == static_cast<ssize_t>(bytes);
}

bool read_memory_of_process(void* to, const void* guarded, size_t bytes) {
  if (copy_in_process(process_vm_readv, to, const_cast<void*>(guarded), bytes)) return true;
  return refused.load(std::memory_order_relaxed) && copy_by_pipe(to, guarded, bytes);
}

bool write_memory_of_process(void* guarded, const void* from, size_t bytes) {
  if (copy_in_process(process_vm_writev, const_cast<void*>(from), guarded, bytes)) return true;
  return refused.load(std::memory_order_relaxed) && copy_by_pipe(guarded, from, bytes);
}

bool hold(void* guarded, size_t bytes) {
  if (!unmap_gate().close()) return false;
  if (check_mapped(guarded, bytes, true) == 0) return true;
  unmap_gate().open();
  return false;
}

void release() {
  unmap_gate().open();
}

}  // namespace

GuardedAccess guarded_access() {
  return {read_memory_of_process, write_memory_of_process, hold, release};
}

bool guarded_access_works() {
  // A failure is not remembered: memory may have been short.
  static std::atomic<bool> has_worked{false};
  if (has_worked.load(std::memory_order_relaxed)) return true;
  const int from = 1;
  int to = 0;
  const bool works = read_memory_of_process(&to, &from, sizeof to) &&
                     write_memory_of_process(&to, &from, sizeof to);
  has_worked.store(works, std::memory_order_relaxed);
  return works;
}

}  // namespace urxe
