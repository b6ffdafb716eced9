// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "packet/sharing/slot_table.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/support/isolation.h"

namespace urxe::test {
namespace {

struct Held {
  uint32_t slot;
  uint32_t last_index;
};

void hold_slot_forever(int pipe) {
  auto slot = Slot::acquire();
  if (!slot) _exit(1);
  slot->next_index();
  write_record(pipe, Held{slot->number(), slot->next_index()});
  for (;;) pause();
}

TEST(Slots, EachHolderHasAnotherOne) {
  auto first = Slot::acquire();
  auto second = Slot::acquire();
  ASSERT_TRUE(first && second);
  const ChildProcess child(hold_slot_forever);
  const auto third = child.read<Held>();
  ASSERT_TRUE(third);
  EXPECT_EQ((std::set{first->number(), second->number(), third->slot}).size(), 3U);
}

TEST(Slots, AKilledProcessLeavesItsSlotAndTheNumbersGoOn) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  ChildProcess child(hold_slot_forever);
  const auto held = child.read<Held>();
  ASSERT_TRUE(held);
  child.kill();
  // Expect: the slot comes round after all the others, and its numbers go on.
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto slot = Slot::acquire();
    ASSERT_TRUE(slot) << slot.error().what;
    slots.push_back(*std::move(slot));
  }
  EXPECT_EQ(slots.back().number(), held->slot) << "freed last, taken last";
  ASSERT_TRUE(slots.back().remembers());
  EXPECT_EQ(slots.back().next_index(), (held->last_index + 1) % kQpIndices);

  const auto none = Slot::acquire();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value, EUSERS);
  EXPECT_NE(none.error().what.find("512"), std::string::npos);
  slots.pop_back();
  EXPECT_TRUE(Slot::acquire()) << "and it is free again";
}

TEST(Slots, SpecialQueuePairNumbersAreNeverGiven) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto slot = Slot::acquire();
    ASSERT_TRUE(slot);
    slots.push_back(*std::move(slot));
  }
  for (Slot& slot : slots) {
    if (slot.number() != 0 && slot.number() != kSlots - 1) continue;
    for (uint32_t i = 0; i < kQpIndices; ++i) {
      const Qpn qpn = slot.next_qpn();
      ASSERT_GT(qpn.value(), 1U);
      ASSERT_NE(qpn.value(), kMulticastQpn);
      ASSERT_EQ(slot_of(qpn), slot.number());
    }
  }
}

class SlotTableFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/urxe-slot-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/table";
  }
  void TearDown() override {
    unlink(path_.c_str());
    unlink((directory_ + "/target").c_str());
    rmdir(path_.c_str());
    rmdir(directory_.c_str());
  }
  std::string directory_;
  std::string path_;
};

TEST_F(SlotTableFile, IsSharedAndPrivateToTheUser) {
  const auto one = map_slot_table(path_);
  const auto other = map_slot_table(path_);
  ASSERT_TRUE(one && other);
  one->next_index[5] = 77;
  EXPECT_EQ(other->next_index[5], 77U);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(SlotTableFile, RefusesWhatOthersCanWriteTo) {
  const int fd = open(path_.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(fchmod(fd, 0666), 0);
  close(fd);
  EXPECT_EQ(map_slot_table(path_), nullptr);
}

TEST_F(SlotTableFile, RefusesALink) {
  const std::string target = directory_ + "/target";
  close(open(target.c_str(), O_CREAT | O_RDWR, 0600));
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  EXPECT_EQ(map_slot_table(path_), nullptr);
  unlink(path_.c_str());
  ASSERT_EQ(link(target.c_str(), path_.c_str()), 0);
  EXPECT_EQ(map_slot_table(path_), nullptr) << "a second name of some other file";
}

TEST_F(SlotTableFile, RefusesADirectoryAndAFifo) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(map_slot_table(path_), nullptr);
  rmdir(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(map_slot_table(path_), nullptr);
}

TEST_F(SlotTableFile, RefusesAFileOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  close(open(path_.c_str(), O_CREAT | O_RDWR, 0600));
  if (chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "no other user here";
  EXPECT_EQ(map_slot_table(path_), nullptr);
}

}  // namespace
}  // namespace urxe::test
