// SPDX-License-Identifier: BSD-2-Clause
// The directory through which the processes of a user share: who meets whom in it.
#include "packet/sharing/directory/sharing_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "packet/host/network_identity.h"
#include "packet/sharing/address_sharing.h"
#include "tests/packet/host/scratch_place.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/packet/sharing/sharing_fixture.h"
#include "tests/support/descriptor_limit.h"

namespace urxe::test {
namespace {

namespace fs = std::filesystem;

class SharingDirectoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] auto open_in(const ScratchPlace& place, int network = 1) const {
    return SharingDirectory::open({place.path()}, network_name(network));
  }
  /// In the network namespace `network` of those that this test imagines.
  [[nodiscard]] auto open(int network = 1) const { return open_in(place_, network); }
  [[nodiscard]] std::string network_name(int network) const {
    return machine_identity() + "-" + test_ + "-" + std::to_string(network);
  }
  void make_old(const std::string& directory) {
    const timespec old[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (directory + "/locks").c_str(), old, 0), 0);
  }
  ScratchPlace place_;
  std::string test_ = std::to_string(getpid());
};

TEST_F(SharingDirectoryTest, IsOneForANetworkNamespace) {
  const auto one = open();
  const auto same = open();
  const auto other = open(2);
  ASSERT_TRUE(one && same && other);
  EXPECT_EQ((*one)->path(), (*same)->path());
  EXPECT_NE((*one)->path(), (*other)->path());
}

/// Each slot has a descriptor, and its socket one.
constexpr rlim_t kDescriptorsOfAllSlots = 2 * kSlots + 256;

TEST_F(SharingDirectoryTest, SlotsOfDifferentNetworksDoNotMix) {
  if (!may_have_descriptors(kDescriptorsOfAllSlots)) GTEST_SKIP() << "too few descriptors";
  const auto one = open();
  const auto other = open(2);
  ASSERT_TRUE(one && other);
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) slots.push_back(Slot::acquire(**one).value());
  EXPECT_TRUE(Slot::acquire(**other));
  EXPECT_NE((*one)->slot_name(0).path(), (*other)->slot_name(0).path());
}

TEST_F(SharingDirectoryTest, GoesOnToAnotherPlaceWhereOneFails) {
  const auto made = SharingDirectory::open({"/nowhere", "/proc", place_.path()}, network_name(1));
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE((*made)->path().starts_with(place_.path()));
}

// The one in an earlier place could not be made then. Expect: who comes later finds the first.
TEST_F(SharingDirectoryTest, IsSoughtEverywhereBeforeItIsMade) {
  const auto first = open();
  const ScratchPlace earlier;
  const auto later = SharingDirectory::open({earlier.path(), place_.path()}, network_name(1));
  ASSERT_TRUE(first && later);
  EXPECT_EQ((*later)->path(), (*first)->path());
}

TEST_F(SharingDirectoryTest, SaysWhyThereIsNone) {
  const auto none = SharingDirectory::open({"/nowhere"}, network_name(1));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("/nowhere: No such file"), std::string::npos)
      << none.error().what;
  EXPECT_NE(none.error().what.find("What to do: mount"), std::string::npos);
}

TEST_F(SharingDirectoryTest, ThoseOfGoneNamespacesAreRemovedWhenNobodyHasUsedThemForAWhile) {
  std::string unused;
  std::string young;
  {
    const auto one = open(1);
    const auto other = open(2);
    ASSERT_TRUE(one && other);
    ASSERT_TRUE(Slot::acquire(**one));
    unused = (*one)->path();
    young = (*other)->path();
  }
  const auto used = open(3);
  ASSERT_TRUE(used);
  make_old(unused);
  make_old((*used)->path());
  ASSERT_TRUE(open(4));
  EXPECT_FALSE(fs::exists(unused));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists((*used)->path()));
}

TEST_F(SharingDirectoryTest, ThatOfAnotherMachineStays) {
  const auto theirs = SharingDirectory::open({place_.path()}, "01234567-1-1");
  ASSERT_TRUE(theirs);
  const std::string path = (*theirs)->path();
  ASSERT_EQ(rename(path.c_str(), (path + "x").c_str()), 0);  // nobody here uses it
  make_old(path + "x");
  ASSERT_TRUE(open());
  EXPECT_TRUE(fs::exists(path + "x"));
}

TEST_F(SharingDirectoryTest, AProcessThatWasKilledAsItMadeOneIsOfNoHarm) {
  ASSERT_TRUE(open(1));
  for (const fs::directory_entry& user : fs::directory_iterator(place_.path())) {
    fs::create_directory(user.path() / ".net-draft");
    close(creat((user.path() / ".net-draft/locks").c_str(), 0600));
  }
  EXPECT_TRUE(open(2));
}

TEST_F(SharingDirectoryTest, AStaleSocketIsReplaced) {
  if (!may_have_descriptors(kDescriptorsOfAllSlots)) GTEST_SKIP() << "too few descriptors";
  const auto directory = open();
  ASSERT_TRUE(directory);
  ChildProcess owner([&](int pipe) {
    const auto slot = Slot::acquire(**directory);
    write_record(pipe, slot ? slot->number() : kSlots);
    pause();
  });
  const auto number = owner.read<uint32_t>();
  ASSERT_TRUE(number);
  owner.kill();
  EXPECT_TRUE(fs::exists((*directory)->slot_name(*number).path())) << "the name outlives it";
  const std::vector<uint8_t> packet(32);
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto slot = Slot::acquire(**directory);
    ASSERT_TRUE(slot) << slot.error().what;
    const int sent = forward_packets(slot->forward_fd(), (*directory)->slot_name(*number),
                                     {Flow{}, packet.size(), packet});
    EXPECT_EQ(sent, slot->number() == *number ? 0 : ECONNREFUSED);
    slots.push_back(*std::move(slot));
  }
  EXPECT_EQ(slots.back().number(), *number);
}

TEST_F(SharingDirectoryTest, ALongPathGoesByTheDescriptor) {
  const std::string deep = place_.path() + "/" + std::string(90, 'd');
  ASSERT_EQ(mkdir(deep.c_str(), 0700), 0);
  const auto directory = SharingDirectory::open({deep}, network_name(1));
  ASSERT_TRUE(directory) << directory.error().what;
  const auto slot = Slot::acquire(**directory);
  ASSERT_TRUE(slot) << slot.error().what;
  const std::vector<uint8_t> packet(32);
  EXPECT_EQ(forward_packets(slot->forward_fd(), (*directory)->slot_name(slot->number()),
                            {Flow{}, packet.size(), packet}),
            0);
}

/// A process whose file systems have nothing in common with the test's, but whose network is the
/// same: it tells the inode of its directory, or an errno as a negative number; and sends a packet
/// to the slot `to`. `answers`: somebody hands out the directory.
ChildProcess start_apart(const std::string& network, uint32_t to = 0, bool answers = false) {
  return ChildProcess([network, to, answers](int pipe) {
    const ScratchPlace other;
    auto directory = SharingDirectory::open({other.path()}, network);
    // It waits for a second; who has the directory may be away for longer.
    for (int tries = 1; !directory && answers && tries < 30; ++tries) {
      directory = SharingDirectory::open({other.path()}, network);
    }
    if (!directory) {
      write_record(pipe, int64_t{-directory.error().errno_value});
      return;
    }
    const auto slot = Slot::acquire(**directory);
    struct stat status {};
    const auto locks = (*directory)->open_file("slots");
    fstat(locks ? locks->get() : -1, &status);
    write_record(pipe, static_cast<int64_t>(slot ? status.st_ino : 0));
    const std::vector<uint8_t> packet(32);
    write_record(pipe, forward_packets(slot->forward_fd(), (*directory)->slot_name(to),
                                       {Flow{}, packet.size(), packet}));
    pause();
  });
}

// As containers do that share the network only. Expect: they share the directory of the first.
TEST_F(SharingDirectoryTest, AProcessWithOtherFileSystemsIsHandedTheDirectory) {
  const auto directory = open();
  ASSERT_TRUE(directory);
  const auto slot = Slot::acquire(**directory);
  ASSERT_TRUE(slot);
  AddressSharing sharing(*slot, 0);
  const ChildProcess apart = start_apart(network_name(1), slot->number(), true);
  std::vector<RxPacket> own;
  std::vector<ProbeAnswer> answers;
  EXPECT_TRUE(eventually([&] {
    sharing.receive(own, answers);
    return !own.empty() || sharing.counters().not_owner != 0;
  })) << "it has sent a packet";
  struct stat status {};
  ASSERT_EQ(stat(((*directory)->path() + "/slots").c_str(), &status), 0);
  EXPECT_EQ(apart.read<int64_t>(), static_cast<int64_t>(status.st_ino));
  EXPECT_EQ(apart.read<int>(), 0);
  EXPECT_TRUE((*directory)->check_alone());
}

// Nobody answers for the directory. Expect: a clear refusal, not a directory of its own.
TEST_F(SharingDirectoryTest, AProcessThatCannotReachTheOthersIsRefused) {
  const auto directory = open();
  ASSERT_TRUE(directory);
  const Beacon silent = (*directory)->make_beacon();
  const ChildProcess apart = start_apart(network_name(1));
  EXPECT_EQ(apart.read<int64_t>(), -EBUSY);
}

TEST_F(SharingDirectoryTest, TwoDirectoriesOfOneNamespaceAreNoticed) {
  const auto one = open();
  const ScratchPlace elsewhere;
  const auto other = open_in(elsewhere);
  ASSERT_TRUE(one && other);
  ASSERT_NE((*one)->path(), (*other)->path());
  EXPECT_TRUE((*one)->check_alone());
  const Beacon beacon = (*other)->make_beacon();
  const auto alone = (*one)->check_alone();
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().what.find("/dev/shm"), std::string::npos);
  EXPECT_TRUE((*other)->check_alone());
}

TEST_F(SharingDirectoryTest, ThatWasRemovedIsNotTakenForANewOne) {
  const auto directory = open();
  ASSERT_TRUE(directory);
  const auto slot = Slot::acquire(**directory);
  ASSERT_TRUE(slot);
  AddressSharing sharing(*slot, 0);
  fs::remove_all((*directory)->path());
  const ChildProcess later([&](int pipe) {
    const auto opened = open();
    write_record(pipe, opened ? 0 : opened.error().errno_value);
  });
  std::vector<RxPacket> own;
  std::vector<ProbeAnswer> answers;
  std::optional<int> result;
  EXPECT_TRUE(eventually([&] {
    sharing.receive(own, answers);
    pollfd wait{later.fd(), POLLIN, 0};
    if (poll(&wait, 1, 1) == 1) result = later.read<int>();
    return result.has_value();
  }));
  EXPECT_EQ(result, EBUSY);
}

}  // namespace
}  // namespace urxe::test
