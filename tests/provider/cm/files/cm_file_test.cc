// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/files/cm_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "tests/support/frees_beside.h"

namespace urxe {
namespace {

CmFileEvent event_for(uint32_t owner, uint32_t number = 0) {
  CmFileEvent event;
  event.owner = owner;
  event.response.status = number;
  return event;
}

short poll_now(int fd, short events) {
  pollfd poll_fd{fd, events, 0};
  EXPECT_GE(poll(&poll_fd, 1, 0), 0);
  return poll_fd.revents;
}

class CmFileTest : public ::testing::Test {
 protected:
  void SetUp() override { open(O_RDWR | O_CLOEXEC); }

  void open(int flags) {
    int fd = -1;
    auto made = CmFile::create(flags, &fd);
    ASSERT_TRUE(made);
    file_ = *made;
    application_ = FileDescriptor(fd);
  }

  [[nodiscard]] int fd() const { return application_.get(); }
  [[nodiscard]] bool is_readable() const { return (poll_now(fd(), POLLIN) & POLLIN) != 0; }
  [[nodiscard]] bool is_hung_up() const { return (poll_now(file_->own_fd(), 0) & POLLHUP) != 0; }

  std::shared_ptr<CmFile> file_;
  FileDescriptor application_;
};

TEST_F(CmFileTest, FlagsAreThoseOfOpen) {
  EXPECT_EQ(fcntl(fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(fd(), F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR);
  open(O_RDWR | O_NONBLOCK);
  EXPECT_EQ(fcntl(fd(), F_GETFD), 0);
  EXPECT_NE(fcntl(fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(CmFileTest, IsNeverWritable) {
  EXPECT_EQ(poll_now(fd(), POLLIN | POLLOUT), 0);
  ASSERT_TRUE(file_->post(event_for(1)));
  EXPECT_EQ(poll_now(fd(), POLLIN | POLLOUT), POLLIN);
}

TEST_F(CmFileTest, IsReadableExactlyWhileEventsWait) {
  EXPECT_FALSE(is_readable());
  ASSERT_TRUE(file_->post(event_for(1, 10)));
  ASSERT_TRUE(file_->post(event_for(1, 11)));
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(file_->take()->response.status, 10u);
  file_->settle(fd());
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(file_->take()->response.status, 11u);
  file_->settle(fd());
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(file_->take());
  ASSERT_TRUE(file_->post(event_for(1)));
  EXPECT_TRUE(is_readable());
}

TEST_F(CmFileTest, PostingNeverBlocksAndIsBounded) {
  for (size_t i = 0; i < CmFile::kMaxWaiting; ++i) {
    ASSERT_TRUE(file_->post(event_for(1, static_cast<uint32_t>(i))));
  }
  EXPECT_EQ(file_->post(event_for(1)).error().value, ENOMEM);
  for (size_t i = 0; i < CmFile::kMaxWaiting; ++i) {
    ASSERT_EQ(file_->take()->response.status, i);
  }
  EXPECT_FALSE(file_->take());
  file_->settle(fd());
  EXPECT_FALSE(is_readable());
  ASSERT_TRUE(file_->post(event_for(1)));
  EXPECT_TRUE(is_readable());
}

TEST_F(CmFileTest, AnEdgeTriggeredPollerIsToldOfEachEvent) {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{EPOLLIN | EPOLLOUT | EPOLLET, {}};
  ASSERT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd(), &wanted), 0);
  epoll_event got{};
  EXPECT_EQ(epoll_wait(epoll.get(), &got, 1, 0), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(file_->post(event_for(1)));
    EXPECT_EQ(epoll_wait(epoll.get(), &got, 1, 0), 1) << i;
    EXPECT_EQ(got.events, EPOLLIN);
    EXPECT_EQ(epoll_wait(epoll.get(), &got, 1, 0), 0) << i;
  }
}

TEST_F(CmFileTest, TakeBackIsOfOneOwnerInOrder) {
  for (uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(file_->post(event_for(i % 2, i)));
  auto taken = file_->take_back(1);
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken.front().response.status, 1u);
  EXPECT_EQ(taken.back().response.status, 5u);
  EXPECT_EQ(file_->waiting(), 3u);
  EXPECT_EQ(file_->take()->response.status, 0u);
  file_->settle(fd());
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(file_->take_back(0).size(), 2u);
  file_->settle(fd());
  EXPECT_FALSE(is_readable());
}

TEST_F(CmFileTest, OneIsTakenBackFromAmongOthers) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(file_->post(event_for(1, i)));
  const auto is_second = [](const CmFileEvent& event) { return event.response.status == 1; };
  EXPECT_EQ(file_->take_back_if(is_second).size(), 1u);
  EXPECT_EQ(file_->take()->response.status, 0u);
  EXPECT_EQ(file_->take()->response.status, 2u);
}

TEST_F(CmFileTest, EventsOfAnotherFileCanBeGiven) {
  for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(file_->post(event_for(1, i)));
  const std::shared_ptr<CmFile> from = file_;
  open(O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(is_readable());
  file_->give(from->take_back(1));
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(from->waiting(), 0u);
  EXPECT_EQ(file_->take()->response.status, 0u);
  EXPECT_EQ(file_->take()->response.status, 1u);
}

// As EventSocketTest.FreesNothingWhileOthersWaitForIt.
TEST_F(CmFileTest, FreesNothingWhileOthersWaitForIt) {
  if (!test::can_fail_allocations()) GTEST_SKIP() << "operator delete cannot be watched here";
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(file_->post(event_for(i % 2, i)));
  const auto look = [this] { (void)file_->waiting(); };
  const auto take = [this] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(file_->take());
  };
  EXPECT_GT(test::FreesBeside::count(take, look), 0);
  EXPECT_GT(test::FreesBeside::count([this] { (void)file_->take_back(1); }, look), 0);
}

TEST_F(CmFileTest, SettleLeavesOtherFilesAlone) {
  int other[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
  FileDescriptor near(other[0]);
  FileDescriptor far(other[1]);
  ASSERT_EQ(write(far.get(), "data", 4), 4);
  ASSERT_TRUE(file_->post(event_for(1)));
  ASSERT_TRUE(file_->take());
  file_->settle(near.get());
  char text[8];
  EXPECT_EQ(recv(near.get(), text, sizeof text, MSG_DONTWAIT), 4);
  file_->settle(-1);
  EXPECT_TRUE(is_readable());
  file_->settle(fd());
  EXPECT_FALSE(is_readable());
}

TEST_F(CmFileTest, WaitGoesByTheDescriptorsFlagAtThatTime) {
  ASSERT_EQ(fcntl(fd(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(CmFile::wait(fd()).error().value, EAGAIN);
  ASSERT_TRUE(file_->post(event_for(1)));
  EXPECT_TRUE(CmFile::wait(fd()));
  EXPECT_TRUE(CmFile::wait(fd()));  // Expect: waiting takes nothing.
  ASSERT_EQ(fcntl(fd(), F_SETFL, 0), 0);
  EXPECT_TRUE(CmFile::wait(fd()));
}

TEST_F(CmFileTest, WaitEndsWithAnEvent) {
  std::thread poster([this] { ASSERT_TRUE(file_->post(event_for(1))); });
  EXPECT_TRUE(CmFile::wait(fd()));
  poster.join();
}

TEST_F(CmFileTest, EachOfTwoReadersGetsOneOfTwoEvents) {
  auto read_one = [this] {
    while (!file_->take()) {
      file_->settle(fd());
      ASSERT_TRUE(CmFile::wait(fd()));
    }
    file_->settle(fd());
  };
  for (int i = 0; i < 200; ++i) {
    std::thread first(read_one);
    std::thread second(read_one);
    ASSERT_TRUE(file_->post(event_for(1)));
    ASSERT_TRUE(file_->post(event_for(1)));
    first.join();
    second.join();
    ASSERT_FALSE(is_readable());
  }
}

TEST_F(CmFileTest, WaitEndsWhereTheFileIsNoMore) {
  std::thread destroyer([this] { file_.reset(); });
  EXPECT_EQ(CmFile::wait(fd()).error().value, ENODEV);
  destroyer.join();
}

/// Waits on another thread, which `flags` (of sigaction) say what a signal does to.
class Waiter {
 public:
  Waiter(int fd, int flags) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &before_);
    thread_ = std::thread([this, fd] {
      result_ = CmFile::wait(fd);
      done_ = true;
    });
  }
  ~Waiter() { sigaction(SIGUSR1, &before_, nullptr); }

  /// The signal may come before the thread waits.
  void interrupt() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  [[nodiscard]] bool is_done() const { return done_; }
  Expected<void, Errno> join() {
    thread_.join();
    return result_;
  }

 private:
  struct sigaction before_ {};
  std::thread thread_;
  Expected<void, Errno> result_;
  std::atomic<bool> done_ = false;
};

TEST_F(CmFileTest, ASignalInterruptsTheWait) {
  Waiter waiter(fd(), 0);
  while (!waiter.is_done()) waiter.interrupt();
  EXPECT_EQ(waiter.join().error().value, EINTR);
}

TEST_F(CmFileTest, ARestartingSignalDoesNot) {
  Waiter waiter(fd(), SA_RESTART);
  for (int i = 0; i < 1000; ++i) waiter.interrupt();
  EXPECT_FALSE(waiter.is_done());
  ASSERT_TRUE(file_->post(event_for(1)));
  EXPECT_TRUE(waiter.join());
}

TEST_F(CmFileTest, HangsUpWithTheApplicationsLastDescriptor) {
  FileDescriptor copy(dup(fd()));
  EXPECT_FALSE(is_hung_up());
  application_.reset();
  EXPECT_FALSE(is_hung_up());
  copy.reset();
  EXPECT_TRUE(is_hung_up());
  // Expect: no signal, and nothing that the poster need care about.
  EXPECT_TRUE(file_->post(event_for(1)));
  EXPECT_EQ(file_->waiting(), 1u);
}

TEST_F(CmFileTest, AChildsCopiesDoNotDisturb) {
  ASSERT_TRUE(file_->post(event_for(1)));
  const pid_t child = fork();
  if (child == 0) {
    close(file_->own_fd());
    close(fd());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(is_hung_up());
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(file_->take());
  file_->settle(fd());
  EXPECT_FALSE(is_readable());
}

TEST_F(CmFileTest, InodesAreOfSocketsOnly) {
  EXPECT_EQ(CmFile::socket_inode(fd()), file_->application_inode());
  FileDescriptor copy(dup(fd()));
  EXPECT_EQ(CmFile::socket_inode(copy.get()), file_->application_inode());
  EXPECT_NE(CmFile::socket_inode(file_->own_fd()), file_->application_inode());
  FileDescriptor plain(::open("/dev/null", O_RDWR | O_CLOEXEC));
  errno = ERANGE;
  EXPECT_EQ(CmFile::socket_inode(plain.get()), 0u);
  EXPECT_EQ(CmFile::socket_inode(-1), 0u);
  EXPECT_EQ(errno, ERANGE);
}

}  // namespace
}  // namespace urxe
