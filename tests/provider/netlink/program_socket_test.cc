// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/program_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "packet/host/file_descriptor.h"
#include "tests/provider/netlink/reading.h"

namespace urxe::netlink {
namespace {

Bytes numbered(uint32_t number) {
  return write_request(99, 0, [&](MessageWriter& w) { w.add_u32(1, number); });
}

/// The number of the next message; nullopt: there is none now.
std::optional<uint32_t> receive(int fd, int flags = MSG_DONTWAIT) {
  Bytes bytes(4096);
  const ssize_t size = recv(fd, bytes.data(), bytes.size(), flags);
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(size));
  return read_message(bytes).number(1);
}

/// As somebody else's: no privilege, and the port of the socket to send to.
int send_as_stranger(uint32_t port, uint32_t number) {
  const FileDescriptor stranger(open_socket(NETLINK_USERSOCK));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_pid = port;
  const Bytes message = numbered(number);
  const bool sent = sendto(stranger.get(), message.data(), message.size(), 0,
                           reinterpret_cast<sockaddr*>(&address), sizeof address) >= 0;
  return sent ? 0 : errno;
}

/// The port from which the socket takes messages.
uint32_t peer_of(int fd) {
  sockaddr_nl peer{};
  socklen_t size = sizeof peer;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 ? peer.nl_pid : 0;
}

class ProgramSocket : public testing::Test {
 protected:
  FileDescriptor fd_{open_socket(NETLINK_USERSOCK)};
};

TEST_F(ProgramSocket, GetsWhatIsDelivered) {
  const uint32_t port = port_of(fd_.get()).value();
  EXPECT_NE(port, 0U);
  ASSERT_TRUE(deliver(fd_.get(), port, {numbered(1), numbered(2)}));
  ASSERT_TRUE(deliver(fd_.get(), port, {numbered(3)}));
  EXPECT_EQ(receive(fd_.get()), 1U);
  EXPECT_EQ(receive(fd_.get()), 2U);
  EXPECT_EQ(receive(fd_.get()), 3U);
  EXPECT_EQ(receive(fd_.get()), std::nullopt);
}

TEST_F(ProgramSocket, GetsNothingFromStrangers) {
  sockaddr_nl any{};
  any.nl_family = AF_NETLINK;
  ASSERT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  const uint32_t port = port_of(fd_.get()).value();
  EXPECT_EQ(send_as_stranger(port, 666), 0);  // before the program has asked anything
  ASSERT_TRUE(deliver(fd_.get(), port, {numbered(1)}));
  EXPECT_EQ(send_as_stranger(port, 667), ECONNREFUSED);
  EXPECT_EQ(receive(fd_.get()), 1U);
  EXPECT_EQ(receive(fd_.get()), std::nullopt);
  EXPECT_EQ(send_as_stranger(port, 668), ECONNREFUSED);
}

TEST_F(ProgramSocket, GetsMoreThanItsBufferHolds) {
  const int bytes = 4096;
  ASSERT_EQ(setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
  const uint32_t port = port_of(fd_.get()).value();
  constexpr uint32_t kMessages = 2000;
  std::vector<Bytes> messages;
  for (uint32_t i = 0; i < kMessages; ++i) messages.push_back(numbered(i));
  ASSERT_TRUE(deliver(fd_.get(), port, std::move(messages)));
  for (uint32_t i = 0; i < kMessages; ++i) ASSERT_EQ(receive(fd_.get(), 0), i);
  // The sender's port is free then, and anybody may take it.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (peer_of(fd_.get()) != port && std::chrono::steady_clock::now() < end) usleep(1000);
  EXPECT_EQ(peer_of(fd_.get()), port);
}

}  // namespace
}  // namespace urxe::netlink
