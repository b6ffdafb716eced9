// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_update.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "provider/devices/device_list.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"
#include "provider/devices/tree_store.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// A tree with a device for lo, as lo really is, so that updates have something to look at.
class TreeUpdateTest : public testing::Test {
 protected:
  void SetUp() override {
    auto interfaces = list_interfaces();
    ASSERT_TRUE(interfaces.has_value()) << interfaces.error();
    auto lo = std::ranges::find(*interfaces, "lo", &Interface::name);
    ASSERT_NE(lo, interfaces->end());
    DeviceDescription empty;
    empty.name = "urxe_lo";
    empty.ifindex = lo->ifindex;
    lo_ = follow_interface(empty, &*lo);
    std::string path = "/dev/shm/urxe-tree-update-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string publish(const DeviceDescription& device) {
    auto tree = publish_tree(directory_, *current_network_namespace(), describe_tree({device}, {}));
    return tree.value_or("");
  }
  static std::string port_file(const std::string& tree, const std::string& name) {
    std::ifstream file(tree + "/sys/class/infiniband/urxe_lo/ports/1/" + name);
    std::string line;
    std::getline(file, line);
    return line;
  }

  static Gid made_up(uint8_t last) {
    const uint8_t address[4] = {203, 0, 113, last};
    return Gid::from_ipv4(address);
  }

  std::string directory_;
  DeviceDescription lo_;
};

TEST_F(TreeUpdateTest, BringsAllFilesUpToDate) {
  DeviceDescription old = lo_;
  old.link_up = !lo_.link_up;
  old.mtu = 576;
  old.gids.push_back(made_up(1));
  const std::string tree = publish(old);
  auto update = update_tree(tree);
  ASSERT_TRUE(update.has_value()) << update.error();
  EXPECT_EQ(update->devices, std::vector<DeviceDescription>{lo_});
  EXPECT_FALSE(update->was_locked_out);
  auto read = read_device(tree, "urxe_lo");
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, lo_);
  for (const auto& [name, text] : describe_port_state(lo_)) {
    EXPECT_EQ(port_file(tree, name) + "\n", text) << name;
  }
  EXPECT_FALSE(fs::exists(tree + "/draft"));
}

TEST_F(TreeUpdateTest, KeepsIndexesWhileSomebodyUsesTheTree) {
  DeviceDescription old = lo_;
  old.gids.insert(old.gids.begin(), made_up(1));
  const std::string tree = publish(old);
  FileDescriptor use = hold_tree(tree);
  ASSERT_TRUE(use);
  std::vector<Gid> with_hole = lo_.gids;
  if (!with_hole.empty()) with_hole.insert(with_hole.begin(), Gid{});
  EXPECT_EQ(update_tree(tree)->devices.front().gids, with_hole);
  use.reset();
  EXPECT_EQ(update_tree(tree)->devices.front().gids, lo_.gids);
}

TEST_F(TreeUpdateTest, AnInterfaceThatIsNotThere) {
  DeviceDescription old = lo_;
  old.ifindex = 0x7ffffff0;
  const std::string tree = publish(old);
  auto update = update_tree(tree);
  ASSERT_TRUE(update.has_value());
  EXPECT_TRUE(update->devices.front().gone);
  EXPECT_EQ(port_file(tree, "state"), "1: DOWN");
  EXPECT_TRUE(read_device(tree, "urxe_lo")->gone);
}

TEST_F(TreeUpdateTest, ManyAtOnceAgree) {
  DeviceDescription old = lo_;
  for (uint8_t i = 0; i < 20; ++i) old.gids.push_back(made_up(i));
  const std::string tree = publish(old);
  std::vector<std::thread> threads;
  std::vector<TreeUpdate> found(8);
  for (auto& update : found) {
    threads.emplace_back([&] { update = update_tree(tree).value_or(update); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& update : found) {
    EXPECT_EQ(update.devices, std::vector<DeviceDescription>{lo_});
  }
}

TEST_F(TreeUpdateTest, SaysThatAnotherKeepsTheLock) {
  DeviceDescription old = lo_;
  old.gids.push_back(made_up(1));
  const std::string tree = publish(old);
  FileDescriptor other(open((tree + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  auto update = update_tree(tree);
  ASSERT_TRUE(update.has_value()) << update.error();
  EXPECT_TRUE(update->was_locked_out);
  EXPECT_EQ(update->devices, std::vector<DeviceDescription>{lo_});
  EXPECT_EQ(read_device(tree, "urxe_lo").value_or(lo_), old);
  other.reset();
  EXPECT_FALSE(update_tree(tree)->was_locked_out);
  EXPECT_EQ(read_device(tree, "urxe_lo").value_or(old), lo_);
}

// A program that has given up its rights cannot write the tree any more, nor can one if /dev/shm is
// full. The defect: what it read there later, older state, counted as the new one.
TEST_F(TreeUpdateTest, SaysThatTheTreeIsOlder) {
  DeviceDescription old = lo_;
  old.mtu = 576;
  const std::string tree = publish(old);
  fs::create_directories(tree + "/draft/in_the_way");  // where a file is written first
  auto update = update_tree(tree);
  ASSERT_TRUE(update);
  EXPECT_TRUE(update->is_ahead);
  EXPECT_FALSE(update->may_be_written_later) << "this is not known to pass";
  EXPECT_EQ(update->devices.front().mtu, lo_.mtu);
  EXPECT_EQ(read_device(tree, "urxe_lo")->mtu, 576U);
  fs::remove_all(tree + "/draft");
  update = update_tree(tree);
  EXPECT_FALSE(update->is_ahead);
  EXPECT_EQ(read_device(tree, "urxe_lo")->mtu, lo_.mtu);
}

// The defect: nobody tried again when there was room once more.
TEST_F(TreeUpdateTest, SaysThatRoomMayComeLater) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", directory_.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  DeviceDescription old = lo_;
  old.mtu = 576;
  const std::string tree = publish(old);
  {
    std::ofstream filler(directory_ + "/filler");
    while (filler.write(std::string(4096, 'x').data(), 4096).flush()) continue;
  }
  auto update = update_tree(tree);
  ASSERT_TRUE(update) << update.error();
  EXPECT_TRUE(update->is_ahead && update->may_be_written_later);
  fs::remove(directory_ + "/filler");
  update = update_tree(tree);
  EXPECT_FALSE(update->is_ahead || update->may_be_written_later);
  umount2(directory_.c_str(), MNT_DETACH);
}

TEST_F(TreeUpdateTest, FollowsANewNameOfTheInterface) {
  DeviceDescription old = lo_;
  old.ifname = "old0";
  const std::string tree = publish(old);
  const fs::path device = tree + "/sys/class/infiniband/urxe_lo";
  ASSERT_TRUE(fs::is_symlink(device / "device/net/old0"));
  ASSERT_TRUE(update_tree(tree));
  EXPECT_EQ(fs::read_symlink(device / "device/net/lo"), "/sys/class/net/lo");
  EXPECT_FALSE(fs::is_symlink(device / "device/net/old0"));
  std::ifstream file(device / "node_desc");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "urxe lo");
}

TEST_F(TreeUpdateTest, RefusesAnotherNamespacesTree) {
  const std::string tree = publish(lo_);
  fs::remove(tree + "/netns");
  std::ofstream(tree + "/netns") << "another";
  EXPECT_FALSE(update_tree(tree).has_value());
}

}  // namespace
}  // namespace urxe
