// SPDX-License-Identifier: BSD-2-Clause
// Accesses that cannot fault, and what tells of memory that goes.
#include "provider/runtime/memory/guarded_access.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "provider/runtime/memory/mapped_memory.h"
#include "provider/runtime/memory/unmap_gate.h"
#include "tests/support/own_addresses.h"

namespace urxe {
namespace {

/// Three pages, the second of which is not there.
class Gap {
 public:
  Gap() {
    bytes = static_cast<uint8_t*>(test::map_at_own_addresses(3 * page));
    munmap(bytes + page, page);
  }
  ~Gap() {
    munmap(bytes, page);
    munmap(bytes + 2 * page, page);
  }
  Gap(const Gap&) = delete;
  Gap& operator=(const Gap&) = delete;

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  uint8_t* bytes = nullptr;
};

TEST(GuardedAccess, CopiesWhatIsMapped) {
  ASSERT_TRUE(guarded_access_works());
  Gap gap;
  const GuardedAccess access = guarded_access();
  uint8_t out[4] = {};
  EXPECT_TRUE(access.write(gap.bytes + 1, "abcd", 4));
  EXPECT_EQ(std::memcmp(gap.bytes + 1, "abcd", 4), 0);
  EXPECT_TRUE(access.read(out, gap.bytes + 1, 4));
  EXPECT_EQ(std::memcmp(out, "abcd", 4), 0);
}

TEST(GuardedAccess, RefusesWhatIsNot) {
  Gap gap;
  const GuardedAccess access = guarded_access();
  uint8_t other[64] = {};
  for (uint8_t* at :
       {gap.bytes + gap.page, gap.bytes + gap.page - 1, static_cast<uint8_t*>(nullptr),
        reinterpret_cast<uint8_t*>(UINTPTR_MAX - 7)}) {
    EXPECT_FALSE(access.read(other, at, 8));
    EXPECT_FALSE(access.write(at, other, 8));
    EXPECT_FALSE(access.hold(at, 8));
  }
}

TEST(GuardedAccess, WritesNothingThatMayOnlyBeRead) {
  Gap gap;
  mprotect(gap.bytes, gap.page, PROT_READ);
  const GuardedAccess access = guarded_access();
  uint8_t other[8] = {1};
  EXPECT_FALSE(access.write(gap.bytes, other, 8));
  EXPECT_FALSE(access.hold(gap.bytes, 8));
  EXPECT_TRUE(access.read(other, gap.bytes, 8));
  EXPECT_EQ(other[0], 0);
}

/// From then on the kernel refuses this thread, with EPERM, to copy memory of processes.
bool refuse_memory_of_processes() {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), const_cast<sock_filter*>(program)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool copies_both_ways(const GuardedAccess& access, uint8_t* guarded, size_t bytes) {
  std::vector<uint8_t> from(bytes);
  for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<uint8_t>(i * 7);
  std::vector<uint8_t> to(bytes);
  return access.write(guarded, from.data(), bytes) &&
         std::memcmp(guarded, from.data(), bytes) == 0 && access.read(to.data(), guarded, bytes) &&
         to == from;
}

// Filters of system calls refuse what reaches the memory of processes, even of the own one.
TEST(GuardedAccess, WorksWhereTheKernelRefusesMemoryOfProcesses) {
  Gap gap;
  std::vector<uint8_t> large(200000);  // more than a pipe holds
  const pid_t child = fork();
  if (child == 0) {
    const GuardedAccess access = guarded_access();
    uint8_t other[64] = {};
    uint8_t* const hole = gap.bytes + gap.page;
    int failed = 0;
    if (!refuse_memory_of_processes()) failed |= 1;
    if (process_vm_readv(getpid(), nullptr, 0, nullptr, 0, 0) != -1) failed |= 2;
    if (!guarded_access_works()) failed |= 4;
    if (!copies_both_ways(access, gap.bytes, gap.page)) failed |= 8;
    if (!copies_both_ways(access, large.data(), large.size())) failed |= 16;
    if (access.read(other, hole, 8) || access.write(hole, other, 8)) failed |= 32;
    if (access.read(other, hole - 1, 8) || access.write(hole - 1, other, 8)) failed |= 64;
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(GuardedAccess, HoldsAndReleases) {
  const GuardedAccess access = guarded_access();
  uint64_t word = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(access.hold(&word, sizeof word));
    access.release();
  }
}

// munmap() of ThreadSanitizer drops its notes on the memory first, while the peer's WRITEs go on. A
// call that the kernel refuses does that, too, and leaves the memory. Expect: they go on all the
// same. (Without the sanitizer there is nothing to see.)
TEST(GuardedAccess, WritesWhileASanitizerDropsItsNotes) {
  constexpr size_t kBytes = 64 << 10;
  void* const at = test::map_at_own_addresses(kBytes);
  ASSERT_NE(at, MAP_FAILED);
  const HostMemory target{static_cast<uint8_t*>(at) + kBytes / 2, HostMemory::Kind::kPlain};
  const std::vector<uint8_t> data(16, 0x5a);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    do {
      write_in_order({}, target, data);
    } while (!done.load());
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(munmap(static_cast<uint8_t*>(at) + 8, kBytes - 8), -1);
  done.store(true);
  writer.join();
  EXPECT_EQ(target.at[15], 0x5a);
  munmap(at, kBytes);
}

// The defect: of a number of 8 bytes the last byte came last, but the others one by one before, so
// a thread that waited for the number to change could take some of its bytes for the number.
TEST(GuardedAccess, NumberThatAThreadWaitsForChangesAtOnce) {
  alignas(8) uint8_t word[8] = {};
  std::atomic<bool> done{false};
  std::thread writer([&] {
    const std::vector<uint8_t> zeros(sizeof word);
    const std::vector<uint8_t> ones(sizeof word, 0xff);
    const HostMemory target{word, HostMemory::Kind::kPlain};
    while (!done.load()) {
      write_in_order({}, target, ones);
      write_in_order({}, target, zeros);
    }
  });
  int torn = 0;
  uint64_t before = 0;
  for (int changes = 0; changes < 1000 && torn == 0;) {
    const uint64_t now = __atomic_load_n(reinterpret_cast<const uint64_t*>(word), __ATOMIC_ACQUIRE);
    if (now != 0 && now != UINT64_MAX) ++torn;
    if (now != before) ++changes;
    before = now;
  }
  done.store(true);
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST(UnmapGate, NobodyIsCountedUntilItIsUsed) {
  UnmapGate gate;
  EXPECT_FALSE(gate.enter());
  gate.use();
  EXPECT_TRUE(gate.enter());
  gate.leave();
}

TEST(UnmapGate, DoesNotCloseOnWhoIsInside) {
  UnmapGate gate;
  gate.use();
  ASSERT_TRUE(gate.enter());
  EXPECT_FALSE(gate.close());
  gate.leave();
  EXPECT_TRUE(gate.close());
  gate.open();
}

// While it is closed nobody unmaps. Many threads of each kind.
TEST(UnmapGate, KeepsUnmappersOut) {
  UnmapGate gate;
  gate.use();
  std::atomic<bool> closed{false};
  std::atomic<int> broken{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> unmappers;
  for (int i = 0; i < 3; ++i) {
    unmappers.emplace_back([&] {
      while (!done.load()) {
        gate.enter();
        if (closed.load()) ++broken;
        gate.leave();
      }
    });
  }
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!gate.close()) continue;
    ++held;
    closed.store(true);
    closed.store(false);
    gate.open();
  }
  done.store(true);
  for (std::thread& thread : unmappers) thread.join();
  EXPECT_EQ(broken.load(), 0);
  EXPECT_GT(held, 0);
}

// What the closer unmaps itself (a look into /proc may allocate and free) does not wait for itself.
TEST(UnmapGate, LetsItsCloserPass) {
  UnmapGate gate;
  gate.use();
  ASSERT_TRUE(gate.close());
  EXPECT_TRUE(gate.enter());
  gate.leave();
  gate.open();
}

TEST(MappedMemory, LengthOfAMapping) {
  Gap gap;
  EXPECT_EQ(mapping_length(gap.bytes + gap.page), 0U);
  const int fd = memfd_create("test", 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(4 * gap.page)), 0);
  auto* file =
      static_cast<uint8_t*>(mmap(nullptr, 4 * gap.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  mprotect(file + gap.page, gap.page, PROT_READ);  // makes three entries of it
  EXPECT_EQ(mapping_length(file), 4 * gap.page);
  EXPECT_EQ(mapping_length(file + 8), 0U);
  munmap(file, 4 * gap.page);
  close(fd);
}

// The kernel often places them next to each other. shmdt(2) takes away the one.
TEST(MappedMemory, LengthOfOneAttachmentOfTwo) {
  const size_t page = Gap().page;
  const int id = shmget(IPC_PRIVATE, 2 * page, 0600);
  ASSERT_GE(id, 0);
  auto* const place =
      static_cast<uint8_t*>(mmap(nullptr, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (const size_t at : {size_t{0}, 2 * page}) {
    ASSERT_EQ(shmat(id, place + at, SHM_REMAP), place + at);
  }
  shmctl(id, IPC_RMID, nullptr);
  EXPECT_EQ(mapping_length(place), 2 * page);
  EXPECT_EQ(mapping_length(place + 2 * page), 2 * page);
  EXPECT_EQ(shmdt(place), 0);
  EXPECT_EQ(shmdt(place + 2 * page), 0);
}

// Expect: refused, as whoever touched it would get SIGBUS; for writing and for reading.
TEST(MappedMemory, BeyondTheEndOfAFile) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = memfd_create("test", 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(page + 1)), 0);
  auto* file =
      static_cast<uint8_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(file, MAP_FAILED);
  constexpr int kPopulateRead = 22;
  if (madvise(file, page, kPopulateRead) != 0) GTEST_SKIP() << "needs Linux 5.14";
  for (const bool writable : {false, true}) {
    EXPECT_EQ(check_mapped(file, 2 * page, writable), 0) << "the last page is there to its end";
    EXPECT_EQ(check_mapped(file, 2 * page + 1, writable), EFAULT);
    EXPECT_EQ(check_mapped(file + 3 * page, 1, writable), EFAULT);
  }
  munmap(file, 4 * page);
  close(fd);
}

TEST(MappedMemory, RoundTheEndOfTheAddressSpace) {
  EXPECT_EQ(check_mapped(nullptr, SIZE_MAX, false), EINVAL);
}

// A terabyte of addresses. Expect: neither refused nor filled with pages.
TEST(MappedMemory, MoreThanThereIs) {
  constexpr size_t kBytes = size_t{1} << 40;
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) GTEST_SKIP() << "no room for that many addresses";
  EXPECT_EQ(check_mapped(at, kBytes, true), 0);
  // The half in the middle: another thread's memory may come into it, but does not fill it.
  munmap(static_cast<uint8_t*>(at) + kBytes / 4, kBytes / 2);
  EXPECT_EQ(check_mapped(at, kBytes, true), EFAULT);
  munmap(at, kBytes / 4);
  munmap(static_cast<uint8_t*>(at) + kBytes / 4 * 3, kBytes / 4);
}

}  // namespace
}  // namespace urxe
