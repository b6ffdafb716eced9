// SPDX-License-Identifier: BSD-2-Clause
// Ownership among the processes of a user.
#include "packet/sharing/holders/holder_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "packet/sharing/holders/holder.h"
#include "tests/packet/sharing/child_process.h"

namespace urxe::test::holder_table_test {
namespace {

using Words = HolderTable::Words;
using Record = HolderTable::Record;

constexpr HolderKey kPort{HolderKey::Kind::kPort, 7471};
constexpr HolderKey kOtherPort{HolderKey::Kind::kPort, 7472};

const SharingDirectory& here() {
  return *SharingDirectory::here().value();
}
bool always(const Words&) {
  return true;
}
bool never(const Words&) {
  return false;
}

class Held : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/urxe-holder-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/table";
    auto table = map(path_);
    ASSERT_TRUE(table) << table.error().value;
    table_ = *std::move(table);
    holder_ = make_holder(here()).value();
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  /// The whole file.
  [[nodiscard]] std::span<uint32_t> map_words() const {
    const FileDescriptor fd(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    EXPECT_EQ(fstat(fd.get(), &status), 0);
    const auto size = static_cast<size_t>(status.st_size);
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    return {static_cast<uint32_t*>(memory), size / sizeof(uint32_t)};
  }
  static Expected<std::unique_ptr<HolderTable>, Errno> map(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    return HolderTable::map(std::move(file), here());
  }
  int take(const Holder& holder, HolderKey key, Words what = {},
           const HolderTable::Conflict& conflict = always) {
    const auto taken = table_->take(key, {holder.number, what}, conflict);
    return taken ? 0 : taken.error().value;
  }
  /// A child that tries to take the key, and the result.
  struct Taker {
    Taker(HolderTable& table, HolderKey key)
        : process([&table, key](int pipe) {
            const Holder holder = make_holder(here()).value();
            const auto taken = table.take(key, {holder.number, {}}, always);
            write_record(pipe, taken ? 0 : taken.error().value);
            for (;;) pause();
          }),
          result(process.read<int>().value_or(-1)) {}
    ChildProcess process;
    int result;
  };

  std::string directory_;
  std::string path_;
  std::unique_ptr<HolderTable> table_;
  Holder holder_;
};

TEST_F(Held, WhatIsInConflictIsTakenOnce) {
  const Holder other = make_holder(here()).value();
  EXPECT_EQ(take(holder_, kPort), 0);
  EXPECT_EQ(take(holder_, kPort), EADDRINUSE) << "by the same holder, too";
  EXPECT_EQ(take(other, kPort), EADDRINUSE);
  EXPECT_EQ(take(other, kOtherPort), 0);
  EXPECT_EQ(take(other, {HolderKey::Kind::kService, kPort.value}), 0);
  EXPECT_EQ(take(other, kPort, {}, never), 0);
}

TEST_F(Held, WhatTheOthersSayIsTold) {
  ASSERT_EQ(take(holder_, kPort, {1, 2, 3, 4}), 0);
  std::vector<Words> told;
  EXPECT_EQ(take(holder_, kPort, {5},
                 [&](const Words& other) {
                   told.push_back(other);
                   return false;
                 }),
            0);
  EXPECT_EQ(told, (std::vector<Words>{{1, 2, 3, 4}}));
  const auto found = table_->find(kPort);
  EXPECT_EQ(found.size(), 2U);
  for (const Record& record : found) EXPECT_EQ(record.holder, holder_.number);
}

TEST_F(Held, WhatIsReleasedIsFree) {
  const auto place = table_->take(kPort, {holder_.number, {}}, always);
  ASSERT_TRUE(place);
  table_->release(*place, holder_.number + 1);
  EXPECT_EQ(take(holder_, kPort), EADDRINUSE) << "that was not the holder";
  table_->release(*place, holder_.number);
  EXPECT_TRUE(table_->find(kPort).empty());
  EXPECT_EQ(take(holder_, kPort), 0);
}

TEST_F(Held, AChangeMustNotBeInConflictWithOthers) {
  const auto place = table_->take(kPort, {holder_.number, {1}}, always);
  ASSERT_TRUE(place);
  EXPECT_TRUE(table_->change(*place, kPort, {holder_.number, {2}}, always))
      << "its own is no other";
  EXPECT_EQ(table_->find(kPort)[0].what, (Words{2}));
  ASSERT_EQ(take(holder_, kPort, {}, never), 0);
  const auto changed = table_->change(*place, kPort, {holder_.number, {3}}, always);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().value, EADDRINUSE);
}

TEST_F(Held, OtherProcessesAreSeenAndSee) {
  ASSERT_EQ(take(holder_, kPort), 0);
  EXPECT_EQ(Taker(*table_, kPort).result, EADDRINUSE);
  const Taker other(*table_, kOtherPort);
  ASSERT_EQ(other.result, 0);
  EXPECT_EQ(take(holder_, kOtherPort), EADDRINUSE);
  const auto again = map(path_);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->find(kOtherPort).size(), 1U) << "through another mapping";
}

TEST_F(Held, WhatAKilledProcessHeldIsFreeAtOnce) {
  Taker other(*table_, kPort);
  ASSERT_EQ(other.result, 0);
  const uint64_t number = table_->find(kPort).at(0).holder;
  EXPECT_TRUE(table_->lives(number));
  other.process.kill();
  EXPECT_FALSE(table_->lives(number));
  EXPECT_EQ(take(holder_, kPort), 0);
}

TEST_F(Held, AStoppedProcessKeepsWhatItHolds) {
  Taker other(*table_, kPort);
  ASSERT_EQ(other.result, 0);
  other.process.signal(SIGSTOP);
  EXPECT_EQ(take(holder_, kPort), EADDRINUSE);
}

// Expect: the file does not grow by them.
TEST_F(Held, TheDeadsRecordsAreUsedAgain) {
  constexpr uint64_t kMany = 2000;
  const auto size = [&] {
    struct stat status {};
    stat(path_.c_str(), &status);
    return status.st_size;
  };
  off_t first = 0;
  for (int round = 0; round < 10; ++round) {
    const Holder holder = make_holder(here()).value();
    for (uint64_t i = 0; i < kMany; ++i) {
      ASSERT_EQ(take(holder, {HolderKey::Kind::kPort, i}), 0);
    }
    if (round == 0) first = size();
    EXPECT_EQ(size(), first);
  }
}

TEST_F(Held, AFullTableSaysSo) {
  uint64_t taken = 0;
  int result = 0;
  while (taken <= HolderMemory::kMostCells) {
    result = take(holder_, {HolderKey::Kind::kPort, taken}, {}, never);
    if (result != 0) break;
    ++taken;
  }
  EXPECT_EQ(result, ENOMEM);
  EXPECT_EQ(taken, HolderMemory::kMostCells);
}

// Expect: told, and nothing is lost. The kernel would end a process that goes over this limit.
TEST_F(Held, ATableThatCannotGrowSaysSo) {
  uint64_t taken = 0;
  const auto take_next = [&] {
    const int result = take(holder_, {HolderKey::Kind::kPort, taken}, {}, never);
    if (result == 0) ++taken;
    return result;
  };
  ASSERT_EQ(take_next(), 0);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{static_cast<rlim_t>(status.st_size), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  int result = 0;
  while (result == 0 && taken < HolderMemory::kMostCells) result = take_next();
  EXPECT_EQ(result, EFBIG);
  EXPECT_GT(taken, 1U);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(take_next(), 0);
}

/// Two children take at the same time. Expect: exactly one has it.
TEST_F(Held, ARaceHasOneWinner) {
  for (int round = 0; round < 50; ++round) {
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    const auto take_when_told = [&](int pipe) {
      close(go[1]);
      const Holder holder = make_holder(here()).value();
      pollfd told{go[0], POLLIN, 0};
      poll(&told, 1, -1);
      const auto taken = table_->take(kPort, {holder.number, {}}, always);
      write_record(pipe, taken ? 0 : taken.error().value);
      for (;;) pause();
    };
    const ChildProcess first(take_when_told);
    const ChildProcess second(take_when_told);
    close(go[1]);
    const std::set<int> results{first.read<int>().value_or(-1), second.read<int>().value_or(-1)};
    close(go[0]);
    ASSERT_EQ(results, (std::set{0, EADDRINUSE})) << "round " << round;
  }
}

// Expect: the table stays usable, and nobody sees half a record.
TEST_F(Held, AProcessThatIsKilledInTheMiddleLeavesNoHarm) {
  for (int round = 0; round < 30; ++round) {
    ChildProcess busy([&](int pipe) {
      const Holder holder = make_holder(here()).value();
      write_record(pipe, 0);
      for (uint64_t i = 0;; ++i) {
        const HolderKey key{HolderKey::Kind::kPort, i % 300};
        const auto place = table_->take(key, {holder.number, {i, i, i, i}}, never);
        if (place && i % 3 == 0) table_->release(*place, holder.number);
      }
    });
    ASSERT_TRUE(busy.read<int>());
    for (uint64_t i = 0; i < 300; ++i) {
      for (const Record& record : table_->find({HolderKey::Kind::kPort, i})) {
        for (const uint64_t word : record.what) ASSERT_EQ(word, record.what[0]);
      }
    }
    busy.kill();
    for (uint64_t i = 0; i < 300; ++i) {
      const auto place = table_->take({HolderKey::Kind::kPort, i}, {holder_.number, {}}, always);
      ASSERT_TRUE(place) << place.error().value;
      table_->release(*place, holder_.number);
    }
  }
}

TEST_F(Held, AFileWithSomethingElseIsRefused) {
  const std::string path = directory_ + "/other";
  const int fd = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(write(fd, "something", 9), 9);
  close(fd);
  EXPECT_FALSE(map(path));
  unlink(path.c_str());
}

TEST_F(Held, ADamagedFileIsOfNoHarm) {
  ASSERT_EQ(take(holder_, kPort), 0);
  const std::span<uint32_t> words = map_words();
  // Damage everything but the size: chains that go in circles or lead outside the file.
  for (const uint32_t place : {1U, 0xffffffffU}) {
    std::ranges::fill(words.subspan(16), place);
    EXPECT_TRUE(table_->find(kPort).empty());
    EXPECT_EQ(take(holder_, kPort), 0) << place;
  }
  munmap(words.data(), words.size_bytes());
}

// The second word says how many records the file has room for. Expect: whatever it is changed to,
// nobody looks beyond the file, or for a record of his own in vain.
TEST_F(Held, AWrongSizeInTheFileIsOfNoHarm) {
  const auto place = table_->take(kPort, {holder_.number, {}}, always);
  ASSERT_TRUE(place);
  const std::span<uint32_t> words = map_words();
  words[1] = 0;
  EXPECT_EQ(table_->find(kPort).size(), 1U);
  EXPECT_TRUE(table_->change(*place, kPort, {holder_.number, {1}}, never));
  table_->release(*place, holder_.number);
  EXPECT_TRUE(table_->find(kPort).empty());
  constexpr uint32_t kFarOutside = 100000;
  words[1] = UINT32_MAX;
  std::ranges::fill(words.subspan(16), kFarOutside);
  EXPECT_TRUE(table_->find(kPort).empty());
  words[2] = kFarOutside;  // handed out
  EXPECT_NE(take(holder_, kPort), 0);
  munmap(words.data(), words.size_bytes());
}

TEST(HolderTables, OneForAProcessAndANamespace) {
  const auto one = HolderTable::open(here());
  const auto same = HolderTable::open(here());
  ASSERT_TRUE(one && same);
  EXPECT_EQ(*one, *same);
}

}  // namespace
}  // namespace urxe::test::holder_table_test
