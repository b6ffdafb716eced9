// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/events/event_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tests/support/frees_beside.h"

namespace urxe {
namespace {

EventSocket::Event event_about(uint64_t element) {
  EventSocket::Event event;
  std::memcpy(event.bytes.data(), &element, sizeof element);
  return event;
}

class EventSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = EventSocket::create(8, &reader_);
    ASSERT_TRUE(made.has_value());
    socket_ = *made;
    fcntl(reader_, F_SETFL, O_NONBLOCK);
  }
  void TearDown() override {
    if (reader_ >= 0) close(reader_);
  }
  std::vector<uint64_t> read_all() const {
    std::vector<uint64_t> result;
    uint64_t element = 0;
    while (read(reader_, &element, sizeof element) == sizeof element) result.push_back(element);
    return result;
  }

  int reader_ = -1;
  std::shared_ptr<EventSocket> socket_;
};

TEST_F(EventSocketTest, DeliversInOrder) {
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_TRUE(socket_->send(event_about(i)));
  EXPECT_EQ(read_all(), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
}

// Expect: what the socket's buffer has no room for is kept and follows in order.
TEST_F(EventSocketTest, KeepsWhatFindsNoRoom) {
  constexpr uint64_t kEvents = 5000;
  for (uint64_t i = 0; i < kEvents; ++i) ASSERT_TRUE(socket_->send(event_about(i)));
  ASSERT_TRUE(socket_->has_waiting());
  std::vector<uint64_t> got = read_all();
  while (got.size() < kEvents) {
    const size_t before = got.size();
    socket_->flush();
    for (uint64_t element : read_all()) got.push_back(element);
    ASSERT_GT(got.size(), before);
  }
  for (uint64_t i = 0; i < kEvents; ++i) ASSERT_EQ(got[i], i);
  EXPECT_FALSE(socket_->has_waiting());
}

TEST_F(EventSocketTest, DropsAtItsBound) {
  bool dropped = false;
  for (int i = 0; i < 100000 && !dropped; ++i) dropped = !socket_->send(event_about(1));
  EXPECT_TRUE(dropped);
}

// Expect: only unread events about the object go, the others keep their order.
TEST_F(EventSocketTest, TakesBackUnreadEvents) {
  for (uint64_t element : {1, 2, 1, 3}) socket_->send(event_about(element));
  uint64_t first = 0;
  ASSERT_EQ(read(reader_, &first, sizeof first), static_cast<ssize_t>(sizeof first));
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(socket_->take_back(1), 1U);
  EXPECT_EQ(read_all(), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(socket_->take_back(1), 0U);
}

TEST_F(EventSocketTest, TakesBackWaitingEventsToo) {
  constexpr uint32_t kEach = 3000;
  for (uint32_t i = 0; i < kEach; ++i) {
    socket_->send(event_about(7));
    socket_->send(event_about(8));
  }
  ASSERT_TRUE(socket_->has_waiting());
  EXPECT_EQ(socket_->take_back(7), kEach);
  uint32_t left = 0;
  do {
    for (uint64_t element : read_all()) {
      ASSERT_EQ(element, 8U);
      ++left;
    }
  } while (!socket_->flush());
  left += static_cast<uint32_t>(read_all().size());
  EXPECT_EQ(left, kEach);
}

// The defect: an object was destroyed without memory, and the program ended by std::bad_alloc.
TEST_F(EventSocketTest, TakesBackUnreadEventsWithoutMemory) {
  if (!test::can_fail_allocations()) GTEST_SKIP() << "a sanitizer's operator new";
  constexpr uint64_t kEvents = 200;  // more than one batch, all of them in the socket
  std::vector<uint64_t> others;
  for (uint64_t i = 0; i < kEvents; ++i) {
    ASSERT_TRUE(socket_->send(event_about(i % 3 == 0 ? 7 : i)));
    if (i % 3 != 0 && i != 7) others.push_back(i);
  }
  ASSERT_FALSE(socket_->has_waiting());
  test::fail_allocation(1);
  const uint32_t taken = socket_->take_back(7);
  const bool took_memory = !test::failure_is_due();
  test::fail_allocation(0);
  EXPECT_EQ(taken, kEvents - others.size());
  EXPECT_FALSE(took_memory);
  EXPECT_EQ(read_all(), others);
}

// Expect: events keep their order if the socket is full and others wait.
TEST_F(EventSocketTest, TakesBackFromAFullSocketInOrder) {
  constexpr uint64_t kEvents = 5000;
  for (uint64_t i = 0; i < kEvents; ++i) ASSERT_TRUE(socket_->send(event_about(i)));
  ASSERT_TRUE(socket_->has_waiting());
  EXPECT_EQ(socket_->take_back(100), 1U);
  EXPECT_EQ(socket_->take_back(4999), 1U);
  std::vector<uint64_t> got = read_all();
  while (socket_->has_waiting()) {
    socket_->flush();
    for (uint64_t element : read_all()) got.push_back(element);
  }
  ASSERT_EQ(got.size(), kEvents - 2);
  for (uint64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < 100 ? i : i + 1);
}

// The defect: two threads waited for each other for seconds. A thread that frees memory may wait
// for the thread that drives the device, which may wait for the socket, to send an event.
TEST_F(EventSocketTest, FreesNothingWhileOthersWaitForIt) {
  if (!test::can_fail_allocations()) GTEST_SKIP() << "operator delete cannot be watched here";
  const auto fill = [this] {
    for (uint64_t i = 0; i < 2000; ++i) socket_->send(event_about(7 + i % 2));
    return socket_->has_waiting();
  };
  ASSERT_TRUE(fill());
  const auto look = [this] { (void)socket_->has_waiting(); };
  read_all();
  EXPECT_GT(test::FreesBeside::count([this] { socket_->flush(); }, look), 0);
  ASSERT_TRUE(fill());
  EXPECT_GT(test::FreesBeside::count([this] { socket_->take_back(7); }, look), 0);
  const auto another = [this] {
    for (int i = 0; i < 100; ++i) socket_->send(event_about(9));
  };
  EXPECT_GE(test::FreesBeside::count(another, look), 0);
}

// The application has closed its end: no signal, no error, nothing kept.
TEST_F(EventSocketTest, ReaderIsGone) {
  EXPECT_FALSE(socket_->reader_is_gone());
  close(std::exchange(reader_, -1));
  EXPECT_TRUE(socket_->reader_is_gone());
  EXPECT_TRUE(socket_->send(event_about(1)));
  EXPECT_FALSE(socket_->has_waiting());
}

// Another file has got the number since: it is not read from.
TEST_F(EventSocketTest, KnowsItsReaderByMoreThanTheNumber) {
  EXPECT_TRUE(socket_->is_reader(reader_));
  int other[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
  const uint64_t element = 1;
  ASSERT_EQ(write(other[1], &element, sizeof element), static_cast<ssize_t>(sizeof element));
  ASSERT_EQ(dup2(other[0], reader_), reader_);
  fcntl(reader_, F_SETFL, O_NONBLOCK);
  EXPECT_FALSE(socket_->is_reader(reader_));
  EXPECT_EQ(socket_->take_back(1), 0U);
  EXPECT_EQ(read_all(), std::vector<uint64_t>{1});
  close(other[0]);
  close(other[1]);
}

}  // namespace
}  // namespace urxe
