// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/frames/frame_filter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

#include "packet/host/file_descriptor.h"
#include "tests/support/isolation.h"

namespace urxe::test {
namespace {

/// The most that the kernel lets the programs of a socket have, in this network namespace, until
/// the object ends. Kernels before 6.7 have it once for all.
class ProgramRoom {
 public:
  explicit ProgramRoom(int bytes) {
    std::ifstream(kPath) >> before_;
    set(bytes);
  }
  ~ProgramRoom() { set(before_); }
  ProgramRoom(const ProgramRoom&) = delete;
  ProgramRoom& operator=(const ProgramRoom&) = delete;
  [[nodiscard]] bool is_set() const { return set_; }

 private:
  static constexpr const char* kPath = "/proc/sys/net/core/optmem_max";
  void set(int bytes) {
    std::ofstream file(kPath);
    set_ = static_cast<bool>(file << bytes << std::flush);
  }
  int before_ = 0;
  bool set_ = false;
};

/// UDP over IPv4 from one address to another, from and to a port.
FrameMatch match_of_a_connection(uint8_t number) {
  using Base = FrameMatch::Base;
  constexpr std::array<uint8_t, 8> kAll{255, 255, 255, 255, 255, 255, 255, 255};
  const std::array<uint8_t, 8> addresses{10, 0, 0, number, 10, 0, 1, number};
  const std::array<uint8_t, 4> ports{0x12, 0xb7, 0x40, number};
  FrameMatch match;
  match.require_network(FrameHeaders::Network::kIpv4);
  match.require_transport(FrameHeaders::Transport::kUdp);
  match.require(Base::kNetwork, 12, addresses, kAll);
  match.require(Base::kTransport, 0, ports, std::span(kAll).first(4));
  return match;
}

FrameInterest interest_of_connections() {
  FrameInterest interest;
  interest.any = true;
  for (uint8_t number = 0; number < 30; ++number) {
    interest.matches.push_back(match_of_a_connection(number));
  }
  return interest;
}

/// A socket joined with another one: a filter for frames reads what it receives as such.
class FrameFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    receiver_ = FileDescriptor(fds[0]);
    sender_ = FileDescriptor(fds[1]);
  }
  [[nodiscard]] bool keeps(const std::vector<uint8_t>& frame) const {
    EXPECT_TRUE(send(sender_.get(), frame.data(), frame.size(), 0) >= 0 || errno == EPERM);
    std::array<uint8_t, 256> got;
    return recv(receiver_.get(), got.data(), got.size(), 0) >= 0;
  }
  FileDescriptor receiver_;
  FileDescriptor sender_;
};

TEST_F(FrameFilterTest, WithoutRoomForTheProgramAllFramesCome) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  const FrameInterest interest = interest_of_connections();
  const std::vector<uint8_t> others_frame(200, 0);
  ASSERT_TRUE(attach_frame_filter(receiver_.get(), interest));
  EXPECT_FALSE(keeps(others_frame));
  const ProgramRoom room(2000);
  if (!room.is_set()) GTEST_SKIP() << "the kernel's limit cannot be changed";
  ASSERT_TRUE(attach_frame_filter(receiver_.get(), interest));
  EXPECT_TRUE(keeps(others_frame));
}

TEST_F(FrameFilterTest, WithoutRoomForTwoProgramsNoFrameComes) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  ASSERT_TRUE(attach_frame_filter(receiver_.get(), interest_of_connections()));
  const ProgramRoom room(2000);
  if (!room.is_set()) GTEST_SKIP() << "the kernel's limit cannot be changed";
  ASSERT_TRUE(attach_frame_filter(receiver_.get(), {}));
  EXPECT_FALSE(keeps(std::vector<uint8_t>(200, 0)));
}

}  // namespace
}  // namespace urxe::test
