// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/guarded_access.h"

#include <sys/uio.h>
#include <unistd.h>

#include "provider/runtime/memory/mapped_memory.h"
#include "provider/runtime/memory/unmap_gate.h"
#include "provider/runtime/memory/unmap_watch.h"

namespace urxe {
namespace {

bool read_memory_of_process(void* to, const void* guarded, size_t bytes) {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(guarded), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_memory_of_process(void* guarded, const void* from, size_t bytes) {
  const iovec local{const_cast<void*>(from), bytes};
  const iovec remote{guarded, bytes};
  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
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
  static const bool works = [] {
    const int from = 1;
    int to = 0;
    return read_memory_of_process(&to, &from, sizeof to) &&
           write_memory_of_process(&to, &from, sizeof to);
  }();
  return works;
}

}  // namespace urxe
