// SPDX-License-Identifier: BSD-2-Clause
// The rule of unmap_watch.h. The test stands for the preloaded object: it takes the hooks, and
// tells of calls.
#include "provider/runtime/memory/unmap_watch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>

#include "provider/presence/presence_abi.h"
#include "provider/runtime/device/runtime_device.h"

namespace urxe::test {
namespace {

const urxe_memory_hooks* hooks;

DeviceDescription description() {
  DeviceDescription device;
  device.name = "unmap_watch_test";
  device.ifname = "lo";
  device.ifindex = 1;
  device.mtu = 65536;
  return device;
}

/// A region of eight pages, which is watched.
class UnmapWatchTest : public testing::Test {
 protected:
  UnmapWatchTest() {
    watch_memory(watched_, region_, bytes_, 8 * page_, device_->memory_user());
    EXPECT_NE(hooks, nullptr);
  }
  ~UnmapWatchTest() override {
    unwatch_memory(watched_);
    munmap(bytes_, 8 * page_);
  }

  void lose(size_t from, size_t length, int loss, bool fails = false) {
    take(bytes_ + from, length, loss, fails);
  }
  static void take(const char* address, size_t length, int loss, bool fails = false) {
    const int begun = hooks->before(address, &length, loss);
    if (begun != 0) hooks->after(begun, address, length, fails ? 1 : 0);
  }
  void allocate(size_t from, size_t length, bool same = false) {
    hooks->allocated(bytes_ + from, length, same ? 1 : 0);
  }
  /// The worst loss of a page.
  [[nodiscard]] Loss page(size_t index) const {
    const auto begin = reinterpret_cast<uintptr_t>(bytes_) + index * page_;
    return region_.losses.worst(begin, begin + page_);
  }

  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::shared_ptr<RuntimeDevice> device_ = std::make_shared<RuntimeDevice>(description());
  // Shared: the kernel joins it to no other mapping.
  char* bytes_ = static_cast<char*>(
      mmap(nullptr, 8 * page_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  MemoryRegion region_;
  WatchedRange watched_;
};

TEST_F(UnmapWatchTest, UnmappedPagesAreGoneAndNoOthers) {
  lose(page_, 100, URXE_GONE);
  EXPECT_EQ(page(0), Loss::kNone);
  EXPECT_EQ(page(1), Loss::kGone);
  EXPECT_EQ(page(2), Loss::kNone);
}

// The defect: after an mmap(MAP_FIXED) or mremap() that failed, the memory counted as gone. Expect:
// it does while the call is under way; then it is as it was before.
TEST_F(UnmapWatchTest, ACallThatFailsTakesNothing) {
  lose(0, page_, URXE_GONE);
  lose(3 * page_, page_, URXE_UNCERTAIN);
  size_t length = 4 * page_;
  const int begun = hooks->before(bytes_, &length, URXE_GONE);
  EXPECT_EQ(page(1), Loss::kGoing);
  ASSERT_NE(begun, 0);
  hooks->after(begun, bytes_, length, 1);
  EXPECT_EQ(page(0), Loss::kGone) << "it was gone before";
  EXPECT_EQ(page(1), Loss::kNone);
  EXPECT_EQ(page(3), Loss::kUncertain);
}

// Another thread gets the addresses, and registers them, before the thread that has unmapped them
// goes on.
TEST_F(UnmapWatchTest, MemoryThatIsRegisteredMeanwhileStays) {
  size_t length = page_;
  const int begun = hooks->before(bytes_, &length, URXE_GONE);
  ASSERT_NE(begun, 0);
  MemoryRegion later;
  WatchedRange watched;
  watch_memory(watched, later, bytes_, page_, device_->memory_user());
  hooks->after(begun, bytes_, length, 0);
  EXPECT_FALSE(later.losses.any());
  EXPECT_EQ(page(0), Loss::kGone);
  unwatch_memory(watched);
}

TEST_F(UnmapWatchTest, TheWholeMappingIsMeasured) {
  size_t length = URXE_WHOLE_MAPPING;
  const int begun = hooks->before(bytes_, &length, URXE_GONE);
  EXPECT_GE(length, 8 * page_);
  EXPECT_LT(length, URXE_WHOLE_MAPPING);
  hooks->after(begun, bytes_, length, 1);
  EXPECT_FALSE(region_.losses.any());
}

TEST_F(UnmapWatchTest, WhatIsGoneIsNotRegainedByANewBlock) {
  lose(0, 4 * page_, URXE_GONE);
  allocate(0, 8 * page_);
  EXPECT_EQ(page(0), Loss::kGone);
}

// A realloc() of three pages stays where it is and gives up the last. What was gone before belongs
// to a region that was registered in other memory.
// The defect: that came back, and a peer could write into the new block.
TEST_F(UnmapWatchTest, ABlockThatStayedIsThere) {
  lose(page_, page_, URXE_GONE);
  size_t length = 3 * page_;
  const int begun = hooks->before(bytes_ + page_, &length, URXE_GONE);
  EXPECT_EQ(page(2), Loss::kGoing);
  allocate(page_, 2 * page_, true);
  EXPECT_EQ(page(2), Loss::kNone);
  hooks->after(begun, bytes_ + page_, length, 0);
  EXPECT_EQ(page(0), Loss::kNone);
  EXPECT_EQ(page(1), Loss::kGone);
  EXPECT_EQ(page(2), Loss::kNone);
  EXPECT_EQ(page(3), Loss::kGone);
}

// The defect: a region that another thread had registered since dlclose() began was lost.
TEST_F(UnmapWatchTest, OnlyOlderRegionsAreGoneWithALibrary) {
  const uint64_t moment = hooks->moment();
  MemoryRegion later;
  WatchedRange watched;
  watch_memory(watched, later, bytes_, page_, device_->memory_user());
  hooks->unloaded(bytes_, 2 * page_, moment);
  EXPECT_FALSE(later.losses.any());
  EXPECT_EQ(page(0), Loss::kGone);
  EXPECT_EQ(page(1), Loss::kGone);
  EXPECT_EQ(page(2), Loss::kNone);
  unwatch_memory(watched);
}

// A region that a free() overlapped once went to slow accesses for good. Expect: only the pages of
// the freed block do, until a block is allocated in them.
TEST_F(UnmapWatchTest, FreedPagesAreUncertainUntilABlockIsThereAgain) {
  lose(page_ + 16, 64, URXE_UNCERTAIN);
  EXPECT_EQ(page(0), Loss::kNone);
  EXPECT_EQ(page(1), Loss::kUncertain);
  EXPECT_EQ(page(2), Loss::kNone);
  allocate(2 * page_ - 8, 8);
  EXPECT_FALSE(region_.losses.any());
}

TEST_F(UnmapWatchTest, MemoryBesideTheRegionIsNoLoss) {
  lose(8 * page_, page_, URXE_GONE);
  take(bytes_ - page_, page_, URXE_GONE);
  EXPECT_FALSE(region_.losses.any());
}

TEST_F(UnmapWatchTest, AnUnwatchedRegionIsLeftAlone) {
  unwatch_memory(watched_);
  lose(0, 8 * page_, URXE_GONE);
  EXPECT_FALSE(region_.losses.any());
}

std::function<void()> in_fork;  // called before and after, in the parent and in the child

// Handlers of the application free memory, within fork(). The defect: they, or urxe's own, waited
// for ever for the lock that this very thread held. Expect: they go on, and the child's regions
// are none.
TEST_F(UnmapWatchTest, HandlersOfForkMayFreeMemory) {
  const auto forks = [&] {
    const rlimit of_processor{10, 20};  // seconds; for the child, too
    setrlimit(RLIMIT_CPU, &of_processor);
    const auto call = [] {
      if (in_fork) in_fork();
    };
    pthread_atfork(call, call, call);
    prepare_unmap_watch();
    pthread_atfork(call, call, call);
    in_fork = [&] { lose(page_, page_, URXE_UNCERTAIN); };
    const pid_t child = fork();
    in_fork = nullptr;
    if (child == 0) lose(0, page_, URXE_GONE);
    if (child == 0) _exit(page(0) == Loss::kNone ? 0 : 1);
    int status = 0;
    const bool ended = waitpid(child, &status, 0) == child;
    lose(0, page_, URXE_GONE);
    const bool is_right = page(0) == Loss::kGone && page(1) == Loss::kUncertain;
    _exit(ended && status == 0 && is_right ? 0 : 1);
  };
  EXPECT_EXIT(forks(), testing::ExitedWithCode(0), "");
}

// The device was destroyed inside the application's free(). Expect: a thread that unmaps memory
// does not keep the device, and the device's end waits for it.
TEST_F(UnmapWatchTest, TheDevicesEndWaitsForThreadsThatUnmap) {
  unwatch_memory(watched_);
  RuntimeDevice* device = device_.get();
  device->memory_user().enter();
  std::atomic<bool> ended{false};
  std::thread end([&] {
    device_.reset();
    ended.store(true);
  });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_FALSE(ended.load());
  device->memory_user().leave();
  end.join();
  EXPECT_TRUE(ended.load());
}

}  // namespace
}  // namespace urxe::test

/// The preloaded object's. The program exports it.
extern "C" __attribute__((visibility("default"))) const urxe_presence* urxe_presence_v1() {
  static const urxe_presence kPresence = {
      .version = 9,
      .tree = nullptr,
      .set_write_hook = [](urxe_write_hook) {},
      .is_node = [](int) { return 0; },
      .set_memory_hooks = [](const urxe_memory_hooks* given) { urxe::test::hooks = given; },
      .set_cm_hooks = [](const urxe_cm_hooks*) {},
      .hold_tree = [](int) {},
      .claim_lack = [](int) { return 1; },
      .set_read_hook = [](urxe_read_hook) {},
      .watch_reads = [](int) {},
      .set_ioctl_hook = [](urxe_ioctl_hook) {},
      .set_netlink_hook = [](urxe_netlink_hook) {},
      .set_mad_hooks = [](const urxe_mad_hooks*) {},
      .set_failed_send_hook = [](urxe_failed_send_hook) {},
  };
  return &kPresence;
}
