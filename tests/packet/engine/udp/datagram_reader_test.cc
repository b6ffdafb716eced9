// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/datagram_reader.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <vector>

#include "packet/host/file_descriptor.h"

namespace urxe::test {
namespace {

constexpr size_t kLongDatagram = 30000;
constexpr size_t kShortDatagram = 100;

/// A socket on 127.0.0.1 that has sent itself datagrams, and who reads it.
class LoopedSocket {
 public:
  LoopedSocket() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_.get(), name, size), 0);
    EXPECT_EQ(getsockname(fd_.get(), name, &size), 0);
    EXPECT_EQ(connect(fd_.get(), name, size), 0);
  }

  DatagramReader reader;

  /// How many of `count` datagrams of `size` bytes each read takes, until none is left.
  std::vector<size_t> bursts(size_t count, size_t size) {
    const std::vector<uint8_t> bytes(size, 1);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(::send(fd_.get(), bytes.data(), size, 0), static_cast<ssize_t>(size));
    std::vector<size_t> taken;
    for (size_t left = count; left > 0; left -= taken.back()) {
      taken.push_back(reader.read(fd_.get(), Gid{}, false).size());
      if (taken.back() == 0 || taken.back() > left) break;
    }
    return taken;
  }

 private:
  FileDescriptor fd_{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

using Bursts = std::vector<size_t>;

TEST(DatagramReader, ReadsBurstsOfEight) {
  LoopedSocket socket;
  EXPECT_EQ(socket.bursts(10, kShortDatagram), (Bursts{8, 2}));
}

// Expect: once datagrams have been long, a burst is a quarter of the room at most; short ones again
// come eight at a time.
TEST(DatagramReader, BurstsOfLongDatagramsAreAQuarterOfTheRoom) {
  LoopedSocket socket;
  socket.reader.set_receive_room(4 * 2 * kLongDatagram);
  EXPECT_EQ(socket.bursts(1, kLongDatagram), (Bursts{1}));
  EXPECT_EQ(socket.bursts(4, kLongDatagram), (Bursts{2, 2}));
  EXPECT_EQ(socket.bursts(3, kShortDatagram), (Bursts{2, 1}));
  EXPECT_EQ(socket.bursts(8, kShortDatagram), (Bursts{8}));
}

// Expect: one at a time, however little the room.
TEST(DatagramReader, ABurstHasADatagram) {
  LoopedSocket socket;
  socket.reader.set_receive_room(kLongDatagram);
  EXPECT_EQ(socket.bursts(1, kLongDatagram), (Bursts{1}));
  EXPECT_EQ(socket.bursts(2, kLongDatagram), (Bursts{1, 1}));
}

// Expect: if the room is unknown, bursts are not limited.
TEST(DatagramReader, WithoutAKnownRoomBurstsAreEight) {
  LoopedSocket socket;
  socket.reader.set_receive_room(0);
  EXPECT_EQ(socket.bursts(1, kLongDatagram), (Bursts{1}));
  EXPECT_EQ(socket.bursts(5, kLongDatagram), (Bursts{5}));
}

}  // namespace
}  // namespace urxe::test
