// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/descriptor_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace urxe {
namespace {

constexpr std::array<uint8_t, 4> kText{'t', 'e', 'x', 't'};

/// Two connected sockets that keep messages apart.
struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    a = FileDescriptor(ends[0]);
    b = FileDescriptor(ends[1]);
  }
  FileDescriptor a;
  FileDescriptor b;
};

/// The number that the next descriptor gets: as long as none is lost, it stays the same.
int next_descriptor() {
  return FileDescriptor(dup(0)).get();
}

TEST(DescriptorMessage, CarriesBytesAndDescriptors) {
  Pair pair;
  const FileDescriptor first(eventfd(7, 0));
  const FileDescriptor second(eventfd(8, 0));
  ASSERT_TRUE(send_message(pair.a.get(), kText, std::vector{first.get(), second.get()}));
  std::array<uint8_t, 10> buffer{};
  const auto message = receive_message(pair.b.get(), buffer);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->bytes, kText.size());
  EXPECT_EQ(std::memcmp(buffer.data(), kText.data(), kText.size()), 0);
  for (size_t i = 0; i < 2; ++i) {
    eventfd_t value = 0;
    EXPECT_EQ(eventfd_read(message->descriptors[i].get(), &value), 0);
    EXPECT_EQ(value, 7 + i);
    EXPECT_NE(fcntl(message->descriptors[i].get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(DescriptorMessage, CanDoWithoutDescriptors) {
  Pair pair;
  ASSERT_TRUE(send_message(pair.a.get(), kText, {}));
  std::array<uint8_t, 10> buffer{};
  const auto message = receive_message(pair.b.get(), buffer);
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->descriptors[0]);
}

TEST(DescriptorMessage, TellsThatNothingIsThereOrWillBe) {
  Pair pair;
  std::array<uint8_t, 10> buffer{};
  EXPECT_EQ(receive_message(pair.b.get(), buffer).error().value, EAGAIN);
  pair.a.reset();
  EXPECT_EQ(receive_message(pair.b.get(), buffer).error().value, EPIPE);
  EXPECT_EQ(send_message(pair.b.get(), kText, {}).error().value, EPIPE);
}

TEST(DescriptorMessage, KeepsNoDescriptorOfARefusedMessage) {
  Pair pair;
  const int before = next_descriptor();
  const std::vector<int> one{pair.a.get()};
  ASSERT_TRUE(send_message(pair.a.get(), kText, one));
  std::array<uint8_t, 3> too_small{};
  EXPECT_EQ(receive_message(pair.b.get(), too_small).error().value, EMSGSIZE);
  EXPECT_EQ(next_descriptor(), before);
}

TEST(DescriptorMessage, TakesNoMoreDescriptorsThanItSays) {
  Pair pair;
  EXPECT_EQ(send_message(pair.a.get(), kText, std::vector{0, 0, 0}).error().value, EINVAL);
}

TEST(DescriptorMessage, KnowsTheUserOfThePeer) {
  Pair pair;
  EXPECT_TRUE(is_peer_of_user(pair.a.get(), geteuid()));
  EXPECT_FALSE(is_peer_of_user(pair.a.get(), geteuid() + 1));
}

}  // namespace
}  // namespace urxe
