// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "provider/devices/stale_trees.h"
#include "provider/devices/tree_update.h"
#include "provider/devices/tree_users.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

const NetworkNamespace kNamespace{4026531840, "boot 1", "pid:[1]"};

class TreeStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/urxe-tree-store-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    content_.files = {{"devices/d", "name=d\n"}, {"sys/x/y", "1\n"}};
    content_.links = {{"sys/link", "x/y"}};
    content_.tables = {{"devices/d.counters", 4096}};
    content_.directories = {"dev/infiniband"};
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
  TreeContent content_;
};

TEST_F(TreeStoreTest, WritesEverythingReadOnlyButTheTables) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  ASSERT_TRUE(tree.has_value()) << tree.error();
  EXPECT_EQ(fs::read_symlink(*tree + "/sys/link"), "x/y");
  EXPECT_EQ(fs::file_size(*tree + "/devices/d.counters"), 4096u);
  EXPECT_TRUE(fs::is_directory(*tree + "/dev/infiniband"));
  EXPECT_EQ(static_cast<int>(fs::status(*tree + "/sys/x/y").permissions()), 0444);
  EXPECT_EQ(entries(), 1u);
}

// Expect: the order of the numbers where the file system lists by age, whichever it has first.
// Other file systems have an order of their own.
TEST_F(TreeStoreTest, ListsUverbsByNumber) {
  std::string shm = "/dev/shm/urxe-tree-store-XXXXXX";
  ASSERT_NE(mkdtemp(shm.data()), nullptr);
  const std::string directory = "sys/class/infiniband_verbs/";
  for (const int number : {10, 9, 192, 194, 193})
    content_.links[fmt::format("{}uverbs{}", directory, number)] = fmt::format("../{}", number);
  auto tree = publish_tree(shm, kNamespace, content_);
  ASSERT_TRUE(tree.has_value()) << tree.error();
  std::vector<std::string> listed;
  for (const auto& entry : fs::directory_iterator(*tree + "/" + directory)) {
    listed.push_back(entry.path().filename());
    EXPECT_EQ(fs::read_symlink(entry.path()).string(), "../" + listed.back().substr(6));
  }
  fs::remove_all(shm);
  EXPECT_EQ(listed, (std::vector<std::string>{"uverbs9", "uverbs10", "uverbs192", "uverbs193",
                                              "uverbs194"}));
}

// Expect: a page of memory for a text, not for a file; but those that are locked are no others.
TEST_F(TreeStoreTest, TheSameTextIsOneFile) {
  content_.files["a"] = content_.state["b"] = "same\n";
  content_.files["lock"] = content_.files["users"] = "";
  auto tree = publish_tree(directory_, kNamespace, content_);
  ASSERT_TRUE(tree.has_value()) << tree.error();
  EXPECT_TRUE(fs::equivalent(*tree + "/a", *tree + "/b"));
  EXPECT_FALSE(fs::equivalent(*tree + "/lock", *tree + "/users"));
  EXPECT_EQ(fs::hard_link_count(*tree + "/sys/x/y"), 1u);
}

TEST_F(TreeStoreTest, TheSameContentIsTheSameTreeAndKeepsItsCounters) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  std::ofstream(*tree + "/devices/d.counters", std::ios::in | std::ios::binary) << "count";
  EXPECT_EQ(publish_tree(directory_, kNamespace, content_), tree);
  std::string word;
  std::ifstream(*tree + "/devices/d.counters") >> word;
  EXPECT_EQ(word.substr(0, 5), "count");
}

TEST_F(TreeStoreTest, OtherContentIsAnotherTree) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  content_.files["sys/x/y"] = "2\n";
  EXPECT_NE(publish_tree(directory_, kNamespace, content_), tree);
  EXPECT_EQ(entries(), 2u);
}

TEST_F(TreeStoreTest, AnotherStateIsTheSameTree) {
  content_.state["sys/x/state"] = "up\n";
  auto tree = publish_tree(directory_, kNamespace, content_);
  EXPECT_TRUE(fs::exists(*tree + "/sys/x/state"));
  content_.state["sys/x/state"] = "down, and long\n";
  EXPECT_EQ(publish_tree(directory_, kNamespace, content_), tree);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(TreeStoreTest, ADamagedTreeIsReplaced) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  fs::remove(*tree + "/sys/x/y");
  EXPECT_EQ(publish_tree(directory_, kNamespace, content_), tree);
  EXPECT_TRUE(fs::exists(*tree + "/sys/x/y"));
}

TEST_F(TreeStoreTest, ConcurrentPublishersAgree) {
  std::vector<std::string> trees(8);
  std::vector<std::thread> threads;
  threads.reserve(trees.size());
  for (std::string& tree : trees) {
    threads.emplace_back(
        [&] { tree = publish_tree(directory_, kNamespace, content_).value_or("failed"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& tree : trees) EXPECT_EQ(tree, trees[0]);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(TreeStoreTest, OldTreesGo) {
  const NetworkNamespace other{kNamespace.number + 1, "boot 2", kNamespace.pid_namespace};
  const NetworkNamespace unseen{kNamespace.number + 2, "boot 3", "pid:[2]"};
  auto publish_aged = [&](const NetworkNamespace& netns, std::chrono::hours age) {
    content_.files["sys/x/y"] += "1";
    auto tree = publish_tree(directory_, netns, content_);
    fs::last_write_time(*tree, fs::file_time_type::clock::now() - age);
    return *tree;
  };
  auto ours_new = publish_aged(kNamespace, std::chrono::hours(24));
  auto ours_old = publish_aged(kNamespace, std::chrono::hours(24 * 8));
  auto others_new = publish_aged(other, std::chrono::hours(0));
  auto others_old = publish_aged(other, std::chrono::hours(2));
  auto unseen_old = publish_aged(unseen, std::chrono::hours(24 * 8));
  remove_stale_trees(directory_, kNamespace);
  EXPECT_TRUE(fs::exists(ours_new));
  EXPECT_FALSE(fs::exists(ours_old));
  EXPECT_TRUE(fs::exists(others_new));
  EXPECT_FALSE(fs::exists(others_old));
  EXPECT_TRUE(fs::exists(unseen_old)) << "/proc does not show whether it is used";
}

/// A shell with the tree in its environment that runs `script`, whose first line of output tells
/// that it is there; its input ends with this object.
class TreeUser {
 public:
  TreeUser(const std::string& directory, const std::string& tree, const std::string& script) {
    const std::string fifo = directory + "/.fifo";
    EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const std::string command =
        "exec env 'URXE_TREE=" + tree + "' sh -c '" + script + "' < " + fifo;
    child_ = popen(command.c_str(), "r");
    input_ = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(fgetc(child_), '\n');
  }
  TreeUser(const TreeUser&) = delete;
  TreeUser& operator=(const TreeUser&) = delete;
  ~TreeUser() {
    close(input_);
    pclose(child_);
  }

 private:
  FILE* child_ = nullptr;
  int input_ = -1;
};

/// A process in a network namespace of its own, until this object ends.
class Neighbour {
 public:
  Neighbour() {
    int made[2];
    EXPECT_EQ(pipe2(made, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool is_apart =
          unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
      if (is_apart) (void)!write(made[1], "x", 1);
      close(made[1]);
      pause();
      _exit(0);
    }
    close(made[1]);
    char byte = 0;
    is_apart_ = read(made[0], &byte, 1) == 1;
    close(made[0]);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  [[nodiscard]] bool is_apart() const { return is_apart_; }
  [[nodiscard]] std::string network() const { return fmt::format("/proc/{}/ns/net", child_); }
  [[nodiscard]] uint64_t number() const {
    struct stat status {};
    EXPECT_EQ(stat(network().c_str(), &status), 0);
    return status.st_ino;
  }

 private:
  pid_t child_ = -1;
  bool is_apart_ = false;
};

TEST_F(TreeStoreTest, TreesOfNamespacesThatAreGoneGoSoon) {
  const Neighbour neighbour;
  if (!neighbour.is_apart()) GTEST_SKIP() << "no network namespace can be made here";
  const auto publish_aged = [&](uint64_t number, std::chrono::seconds age) {
    content_.files["sys/x/y"] += "1";
    auto tree = publish_tree(directory_, {number, "boot 2", kNamespace.pid_namespace}, content_);
    fs::last_write_time(*tree, fs::file_time_type::clock::now() - age);
    return *tree;
  };
  constexpr uint64_t kNobodys = 7;  // those that the kernel gives are larger
  const auto lives = publish_aged(neighbour.number(), std::chrono::minutes(30));
  const auto gone = publish_aged(kNobodys, std::chrono::minutes(2));
  const auto gone_but_new = publish_aged(kNobodys, std::chrono::seconds(5));
  const auto gone_but_used = publish_aged(kNobodys, std::chrono::minutes(2));
  const TreeUser user(directory_, gone_but_used, "echo; read line");
  remove_stale_trees(directory_, kNamespace);
  EXPECT_TRUE(fs::exists(lives));
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(gone_but_new)) << "a process may be about to use it";
  EXPECT_TRUE(fs::exists(gone_but_used));
}

/// Mounts a neighbour's namespace in a mount namespace of this process's own, as `ip netns add`
/// does it, and lets the neighbour end. Returns its number; 0: that is not allowed here.
uint64_t leave_mounted_namespace(const std::string& at) {
  const Neighbour neighbour;
  std::ofstream(at).put('\n');
  const bool is_mounted =
      neighbour.is_apart() && unshare(CLONE_NEWNS) == 0 &&
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount(neighbour.network().c_str(), at.c_str(), nullptr, MS_BIND, nullptr) == 0;
  return is_mounted ? neighbour.number() : 0;
}

// The defect: what was left of a tree when its removal was cut short stayed for good.
TEST_F(TreeStoreTest, RemaindersOfTreesGoAfterADay) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  fs::remove(*tree + "/netns");
  fs::remove(*tree + "/pidns");
  const std::string other = directory_ + "/7-things";
  fs::create_directory(other);
  const auto age = [&](std::chrono::hours hours) {
    for (const std::string& path : {*tree, other}) {
      fs::last_write_time(path, fs::file_time_type::clock::now() - hours);
    }
    remove_stale_trees(directory_, kNamespace);
  };
  age(std::chrono::hours(23));
  EXPECT_TRUE(fs::exists(*tree));
  age(std::chrono::hours(25));
  EXPECT_FALSE(fs::exists(*tree));
  EXPECT_TRUE(fs::exists(other)) << "no tree has such a name";
}

TEST_F(TreeStoreTest, AMountedNamespaceLives) {
  constexpr int kCannot = 77;
  const pid_t child = fork();
  if (child == 0) {
    const uint64_t number = leave_mounted_namespace(directory_ + "/name");
    const auto living = living_network_namespaces();
    if (number == 0) _exit(kCannot);
    _exit(living && living->contains(number) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "no mount can be made here";
  EXPECT_EQ(status, 0);
}

TEST_F(TreeStoreTest, ATreeInUseStays) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  fs::last_write_time(*tree, fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  const TreeUser user(directory_, *tree, "echo; read line");
  remove_stale_trees(directory_, kNamespace);
  EXPECT_TRUE(fs::exists(*tree));
}

// Programs may write over their environment to show a title.
TEST_F(TreeStoreTest, ATreeThatIsHeldStays) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  std::ofstream(*tree + "/users").put('\n');
  fs::last_write_time(*tree, fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  FileDescriptor held = hold_tree(*tree);
  ASSERT_TRUE(held);
  remove_stale_trees(directory_, kNamespace);
  EXPECT_TRUE(fs::exists(*tree));
  held.reset();
  remove_stale_trees(directory_, kNamespace);
  EXPECT_FALSE(fs::exists(*tree));
}

// The environment of a process cannot be read while it becomes another program.
TEST_F(TreeStoreTest, ATreeStaysWhileItsUserBecomesAnotherProgram) {
  auto tree = publish_tree(directory_, kNamespace, content_);
  fs::last_write_time(*tree, fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  const std::string end = directory_ + "/.end";
  std::ofstream(directory_ + "/.again")
      << "[ -e " << end << " ] || exec sh " << directory_ << "/.again\n";
  {
    const TreeUser user(directory_, *tree, "echo; exec sh " + directory_ + "/.again");
    for (int i = 0; i < 100 && fs::exists(*tree); ++i) remove_stale_trees(directory_, kNamespace);
    EXPECT_TRUE(fs::exists(*tree));
    std::ofstream(end).put('\n');
  }
}

TEST_F(TreeStoreTest, ANewNamespaceOfTheSameNumberStartsAfresh) {
  const NetworkNamespace next{kNamespace.number, "boot 2", kNamespace.pid_namespace};
  auto old_tree = publish_tree(directory_, kNamespace, content_);
  auto next_tree = publish_tree(directory_, next, content_);
  EXPECT_NE(next_tree, old_tree);
  remove_stale_trees(directory_, next);
  EXPECT_FALSE(fs::exists(*old_tree));
  EXPECT_TRUE(fs::exists(*next_tree));
}

TEST(CurrentNetworkNamespace, IsTheSameEachTime) {
  auto once = current_network_namespace();
  ASSERT_TRUE(once.has_value()) << once.error();
  EXPECT_NE(once->number, 0u);
  EXPECT_EQ(current_network_namespace()->identity, once->identity);
}

TEST_F(TreeStoreTest, LiesInAPrivateDirectoryOfTheFirstPlaceThatHasOne) {
  const auto tree = publish_tree_in({directory_ + "/none", directory_}, kNamespace, content_);
  ASSERT_TRUE(tree) << tree.error();
  EXPECT_TRUE(tree->starts_with(directory_ + "/urxe/")) << *tree;
  struct stat status {};
  ASSERT_EQ(lstat((directory_ + "/urxe").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

// What lies in a later place, because the first one was full once, goes there, too.
TEST_F(TreeStoreTest, OldTreesGoFromAllPlaces) {
  const std::string later = directory_ + "/later";
  ASSERT_EQ(mkdir(later.c_str(), 0700), 0);
  TreeContent other = content_;
  other.files["sys/x/y"] = "2\n";
  const auto old = publish_tree_in({later}, kNamespace, other);
  ASSERT_TRUE(old) << old.error();
  const auto fresh = publish_tree_in({later}, kNamespace, content_);
  ASSERT_TRUE(fresh) << fresh.error();
  const std::string draft = later + "/urxe/.tmp-abcdef";
  ASSERT_EQ(mkdir(draft.c_str(), 0700), 0);
  fs::last_write_time(*old, fs::file_time_type::clock::now() - std::chrono::hours(24 * 8));
  ASSERT_TRUE(publish_tree_in({directory_, later}, kNamespace, content_));
  EXPECT_FALSE(fs::exists(*old));
  EXPECT_FALSE(fs::exists(draft));
  EXPECT_TRUE(fs::exists(*fresh));
}

// A process that has the tree open and has become another user can read it, and no more: others
// would follow its links, and lose counters that it cuts off.
TEST_F(TreeStoreTest, OnlyItsOwnerCanChangeIt) {
  const auto tree = publish_tree_in({directory_}, kNamespace, content_);
  ASSERT_TRUE(tree) << tree.error();
  for (const auto& entry : fs::recursive_directory_iterator(*tree)) {
    struct stat status {};
    ASSERT_EQ(lstat(entry.path().c_str(), &status), 0);
    if (S_ISLNK(status.st_mode)) continue;
    EXPECT_EQ(status.st_mode & 0022, 0U) << entry.path();
    if (S_ISDIR(status.st_mode)) {
      EXPECT_EQ(status.st_mode & 0555, 0555U) << entry.path();
    }
  }
}

TEST_F(TreeStoreTest, SaysWhyNoPlaceWillDo) {
  ASSERT_EQ(mkdir((directory_ + "/urxe").c_str(), 0700), 0);
  ASSERT_EQ(chmod((directory_ + "/urxe").c_str(), 0755), 0);
  const auto tree = publish_tree_in({directory_ + "/none", directory_}, kNamespace, content_);
  ASSERT_FALSE(tree);
  EXPECT_NE(tree.error().find("/none: No such file"), std::string::npos) << tree.error();
  EXPECT_NE(tree.error().find("open to other users"), std::string::npos) << tree.error();
}

}  // namespace
}  // namespace urxe
