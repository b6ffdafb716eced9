// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/interface_watcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <new>

#include "provider/devices/device_list.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"
#include "provider/devices/tree_store.h"
#include "tests/support/failing_allocations.h"

namespace urxe {
namespace {

constexpr std::chrono::seconds kPatience{60};

/// Counts what it is told.
class Listener {
 public:
  explicit Listener(InterfaceWatcher& watcher) : watcher_(watcher) {
    EXPECT_TRUE(watcher_.add(follower_));
  }
  ~Listener() { watcher_.remove(follower_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  bool wait() {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, kPatience, [this] { return calls_ > 0; });
  }

 private:
  void tell() {
    std::lock_guard lock(mutex_);
    ++calls_;
    told_.notify_all();
  }
  InterfaceWatcher& watcher_;
  std::mutex mutex_;
  std::condition_variable told_;
  int calls_ = 0;
  const InterfaceWatcher::Follower follower_{"urxe_lo", [this](const auto&) { tell(); }};
};

/// Adds a follower while the n-th allocation fails. One whose add() threw is never told anything,
/// because it is destroyed then. False: add() made fewer allocations.
bool allocation_of_add_fails(int n) {
  InterfaceWatcher& watcher = InterfaceWatcher::instance();
  bool thrown = false;
  const InterfaceWatcher::Follower follower{"urxe_lo", [&](const auto&) { EXPECT_FALSE(thrown); }};
  test::fail_allocation(n);
  try {
    (void)watcher.add(follower);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  const bool failed = !test::failure_is_due();
  test::fail_allocation(0);
  if (!thrown) {
    watcher.remove(follower);
  } else {
    Listener other(watcher);
    EXPECT_TRUE(other.wait());
  }
  return failed;
}

// A change between the moment that a device reads its interface's state and add() was missed if
// the watcher was running. Expect: each new follower is told the state, the second one too.
TEST(InterfaceWatcherTest, ANewFollowerIsToldTheState) {
  auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.has_value()) << interfaces.error();
  const auto lo = std::ranges::find(*interfaces, "lo", &Interface::name);
  ASSERT_NE(lo, interfaces->end());
  DeviceDescription empty;
  empty.name = "urxe_lo";
  empty.ifindex = lo->ifindex;
  std::string directory = "/dev/shm/urxe-watcher-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const auto tree = publish_tree(directory, *current_network_namespace(),
                                 describe_tree({follow_interface(empty, &*lo)}, {}));
  ASSERT_TRUE(tree.has_value());
  setenv("URXE_TREE", tree->c_str(), 1);
  ASSERT_EQ(device_tree(), *tree);
  {
    Listener first(InterfaceWatcher::instance());
    EXPECT_TRUE(first.wait());
    Listener second(InterfaceWatcher::instance());
    EXPECT_TRUE(second.wait());
  }
  for (int n = 1; test::can_fail_allocations() && allocation_of_add_fails(n); ++n) {
    ASSERT_LT(n, 1000);
  }
  unsetenv("URXE_TREE");
  std::filesystem::remove_all(directory);
}

// An engine tells of its link from within a poll.
TEST(InterfaceWatcherTest, TellingOfALinkNeedsNoMemory) {
  if (!test::can_fail_allocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  InterfaceWatcher& watcher = InterfaceWatcher::instance();
  const std::string device = "urxe_a_port_with_a_long_name";
  watcher.expect_link(device);
  test::fail_allocation(1);
  watcher.set_link(device, false);
  const bool allocated = !test::failure_is_due();
  test::fail_allocation(0);
  EXPECT_FALSE(allocated);
}

}  // namespace
}  // namespace urxe
