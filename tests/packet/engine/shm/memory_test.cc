// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "packet/engine/shm/link.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

off_t right_size() {
  FileDescriptor fd;
  EXPECT_TRUE(LinkMemory::create(fd));
  struct stat status {};
  EXPECT_EQ(fstat(fd.get(), &status), 0);
  return status.st_size;
}

/// What map() says to a file of `size` bytes with `seals`.
int errno_of_map(off_t size, int seals) {
  const FileDescriptor fd(memfd_create("test", MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), size), 0);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  const auto memory = LinkMemory::map(fd.get());
  return memory ? 0 : memory.error().value;
}

TEST(ShmMemory, IsSharedByBothEnds) {
  FileDescriptor fd;
  const auto ours = LinkMemory::create(fd);
  ASSERT_TRUE(ours);
  const auto theirs = LinkMemory::map(fd.get());
  ASSERT_TRUE(theirs);
  for (unsigned number : {0U, 1U}) {
    std::ranges::fill(ours->ring_from(number), static_cast<uint8_t>(7 + number));
    ours->end(number).freed = 100 + number;
  }
  for (unsigned number : {0U, 1U}) {
    EXPECT_EQ(theirs->ring_from(number).size(), LinkMemory::kRingBytes);
    EXPECT_EQ(theirs->ring_from(number).front(), 7 + number);
    EXPECT_EQ(theirs->ring_from(number).back(), 7 + number);
    EXPECT_EQ(theirs->end(number).freed, 100 + number);
  }
}

/// The bytes at the beginning of the ring that are in memory.
size_t resident(std::span<uint8_t> ring) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(ring.size() / page);
  EXPECT_EQ(mincore(ring.data(), ring.size(), pages.data()), 0);
  const auto absent = [](unsigned char state) { return (state & 1) == 0; };
  return static_cast<size_t>(std::ranges::find_if(pages, absent) - pages.begin()) * page;
}

bool kernel_maps_ahead() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  const bool can = madvise(memory, page, MADV_POPULATE_WRITE) == 0;
  munmap(memory, page);
  return can;
}

TEST(ShmMemory, IsMappedAheadOfItsUse) {
  FileDescriptor fd;
  const auto memory = LinkMemory::create(fd);
  ASSERT_TRUE(memory);
  const auto ring = memory->ring_from(1);
  EXPECT_EQ(resident(ring), 0U);
  if (!kernel_maps_ahead()) GTEST_SKIP() << "no MADV_POPULATE_WRITE before Linux 5.14";
  MappedAhead mapped(ring);
  EXPECT_EQ(resident(ring), kShortRoundBytes);
  mapped.use(kShortRoundBytes);
  EXPECT_EQ(resident(ring), kShortRoundBytes);
  mapped.use(kShortRoundBytes + 1);
  EXPECT_EQ(resident(ring), 2 * kShortRoundBytes);
  mapped.use(ring.size());
  EXPECT_EQ(resident(ring), ring.size());
}

// Expect: an error. The kernel ends a process that tries to exceed its limit.
TEST(ShmMemory, IsNotMadeIfFilesMustBeSmaller) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  FileDescriptor fd;
  const auto memory = LinkMemory::create(fd);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().value, EFBIG);
}

TEST(ShmMemory, CannotChangeItsSize) {
  FileDescriptor fd;
  const auto memory = LinkMemory::create(fd);
  ASSERT_TRUE(memory);
  EXPECT_EQ(ftruncate(fd.get(), 4096), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(ShmMemory, RefusesFilesThatOthersCouldCutOff) {
  const off_t size = right_size();
  EXPECT_EQ(errno_of_map(size, kSizeSeals), 0);
  EXPECT_EQ(errno_of_map(size, 0), EINVAL);
  EXPECT_EQ(errno_of_map(size, F_SEAL_GROW), EINVAL);
  EXPECT_EQ(errno_of_map(size, F_SEAL_SHRINK), EINVAL);
}

TEST(ShmMemory, RefusesOtherSizes) {
  const off_t size = right_size();
  EXPECT_EQ(errno_of_map(size - 1, kSizeSeals), EINVAL);
  EXPECT_EQ(errno_of_map(size + 1, kSizeSeals), EINVAL);
  EXPECT_EQ(errno_of_map(0, kSizeSeals), EINVAL);
}

TEST(ShmMemory, RefusesWhatIsNoMemory) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const FileDescriptor reading(pipe_ends[0]);
  const FileDescriptor writing(pipe_ends[1]);
  EXPECT_FALSE(LinkMemory::map(reading.get()));
  char name[] = "/tmp/urxe-test-XXXXXX";
  const FileDescriptor file(mkstemp(name));
  unlink(name);
  ASSERT_EQ(ftruncate(file.get(), right_size()), 0);
  EXPECT_FALSE(LinkMemory::map(file.get()));
  EXPECT_FALSE(LinkMemory::map(-1));
}

TEST(ShmMemory, ABellIsAnEventDescriptorThatDoesNotBlock) {
  const FileDescriptor bell(eventfd(0, EFD_NONBLOCK));
  EXPECT_TRUE(is_bell(bell.get()));
  const FileDescriptor blocking(eventfd(0, 0));
  EXPECT_FALSE(is_bell(blocking.get()));
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_NONBLOCK), 0);
  const FileDescriptor reading(pipe_ends[0]);
  const FileDescriptor writing(pipe_ends[1]);
  EXPECT_FALSE(is_bell(writing.get()));
  EXPECT_FALSE(is_bell(-1));
}

TEST(ShmMemory, TellsThePeerOfAddresses) {
  FileDescriptor fd;
  const auto memory = LinkMemory::create(fd);
  ASSERT_TRUE(memory);
  LinkEnd& end = memory->end(0);
  PeerAddresses seen(end);
  EXPECT_FALSE(seen.find(ipv4(10, 0, 0, 1)));
  EXPECT_EQ(seen.at(0), nullptr);
  publish_address(end, 0, ipv4(10, 0, 0, 1));
  publish_address(end, 1, loopback_v6());
  EXPECT_EQ(seen.find(loopback_v6()), 1);
  ASSERT_NE(seen.at(0), nullptr);
  EXPECT_EQ(*seen.at(0), ipv4(10, 0, 0, 1));
  // What a peer writes over them later does not count.
  end.addresses[0] = ipv4(10, 0, 0, 2);
  EXPECT_EQ(*seen.at(0), ipv4(10, 0, 0, 1));
}

TEST(ShmMemory, TakesNoMoreAddressesThanThereArePlaces) {
  FileDescriptor fd;
  const auto memory = LinkMemory::create(fd);
  ASSERT_TRUE(memory);
  memory->end(0).address_count = 1U << 30;
  PeerAddresses seen(memory->end(0));
  EXPECT_NE(seen.at(LinkEnd::kAddresses - 1), nullptr);
  EXPECT_EQ(seen.at(LinkEnd::kAddresses), nullptr);
}

}  // namespace
}  // namespace urxe::test
