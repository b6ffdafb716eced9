// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/mapped_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace urxe {
namespace {

#if !defined(MADV_POPULATE_READ)  // Linux 5.14
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/// For kernels and kinds of mappings that cannot populate: looks the range up in the process's map,
/// whose lines are in the order of addresses.
int look_up(uintptr_t begin, uintptr_t end, bool writable) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;  // cannot tell
  char line[512];
  uintptr_t covered = begin;
  while (covered < end && std::fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    char rights[5] = {};
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): the kernel's own format
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) != 3) continue;
    if (to <= covered) continue;
    if (from > covered || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    covered = to;
  }
  std::fclose(maps);
  return covered >= end ? 0 : EFAULT;
}

/// Whether a load from the page would be answered by SIGBUS or SIGSEGV. The kernel reads the
/// signals from there before it finds that this is no way to change their mask.
bool cannot_be_read(uintptr_t page) {
  constexpr int kNoWay = -1;
  constexpr size_t kKernelSignalBytes = 8;
  return syscall(SYS_rt_sigprocmask, kNoWay, page, nullptr, kKernelSignalBytes) != 0 &&
         errno == EFAULT;
}

/// After the whole could not be made present. There are mappings of devices to which that does not
/// apply, and nothing is wrong with them.
bool has_bad_page(uintptr_t begin, uintptr_t end, size_t page, int advice) {
  for (uintptr_t at = begin; at < end; at += page) {
    const bool failed = madvise(reinterpret_cast<void*>(at), page, advice) != 0 && errno == EFAULT;
    if (failed && cannot_be_read(at)) return true;
  }
  return false;
}

size_t free_memory(size_t page) {
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  return pages > 0 ? static_cast<size_t>(pages) * page : 0;
}

}  // namespace

int check_mapped(const void* addr, size_t length, bool writable) noexcept {
  if (length == 0) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(addr);
  const uintptr_t begin = start & ~(page - 1);
  const uintptr_t end = (start + length + page - 1) & ~(page - 1);
  if (end <= begin) return EINVAL;
  // Making present what there is no room for would end the process. What a kernel may lend out
  // nonetheless is taken as it is touched.
  if (end - begin > free_memory(page)) return look_up(begin, end, writable);
  const int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  int result = 0;
  do {
    result = madvise(reinterpret_cast<void*>(begin), end - begin, advice);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  if (result == 0) return 0;
  // EINVAL: an old kernel or a mapping without ordinary pages. EFAULT may mean the latter as well,
  // or memory beyond the end of a file.
  const bool may_be_bad = errno == EFAULT;
  if (const int failed = look_up(begin, end, writable); failed != 0) return failed;
  return may_be_bad && has_bad_page(begin, end, page, advice) ? EFAULT : 0;
}

size_t mapping_length(const void* addr) noexcept {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(addr);
  uintptr_t end = begin;
  unsigned long long file = 0;
  unsigned long long file_offset = 0;  ///< of the memory at `begin`
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    unsigned long long inode = 0;
    unsigned long long offset = 0;
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): the kernel's own format
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %llx %*s %llu", &from, &to, &offset,
                    &inode) != 4) {
      continue;
    }
    if (from < end) continue;
    if (from != end) break;
    if (end == begin) file_offset = offset;
    // Another mapping of the same file may lie directly behind.
    const bool goes_on = inode == file && offset - file_offset == from - begin;
    if (end != begin && !goes_on) break;
    file = inode;
    end = to;
  }
  std::fclose(maps);
  return end - begin;
}

}  // namespace urxe
