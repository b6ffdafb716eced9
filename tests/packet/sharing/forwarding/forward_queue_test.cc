// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/forward_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "packet/sharing/slots/slots.h"
#include "tests/packet/host/scratch_place.h"
#include "tests/support/failing_allocations.h"

namespace urxe::test {
namespace {

UnixName name_of(const Slot& slot) {
  return slot.directory().slot_name(slot.number());
}

/// Packets for a process that does not read. The test keeps the time.
class ForwardQueueTest : public ::testing::Test {
 protected:
  bool send(uint8_t mark) {
    std::ranges::fill(bytes_, mark);
    return queue_.send(name_of(other_), {Flow{}, 280, bytes_}, now_);
  }
  /// Fills the other's socket until one packet waits. Returns how many fit.
  uint32_t fill() {
    uint32_t sent = 0;
    while (!queue_.has_waiting() && sent < 100000) {
      EXPECT_TRUE(send(0));
      ++sent;
    }
    return sent - 1;
  }
  /// The mark of the next packet that the other reads.
  std::optional<uint8_t> read() {
    reader_.rewind();
    const auto item = reader_.read(other_.forward_fd());
    const auto* packets = std::get_if<PacketRun>(&item);
    if (packets == nullptr) return std::nullopt;
    return packets->bytes.front();
  }
  Slot self_ = Slot::acquire().value();
  Slot other_ = Slot::acquire().value();
  SharingCounters counters_;
  ForwardQueue queue_{self_.forward_fd(), counters_};
  ForwardReader reader_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(280);
  Instant now_{1000000000};
};

// The defect: a retry that found no memory lost packets and sent others twice. Expect: it needs
// none.
TEST_F(ForwardQueueTest, ARetryNeedsNoMemory) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  fill();
  for (uint8_t mark = 1; mark <= 9; ++mark) EXPECT_TRUE(send(mark));
  const size_t waiting = queue_.size();
  fail_allocation(1);
  queue_.retry(now_ + milliseconds(1));
  EXPECT_TRUE(failure_is_due()) << "something was allocated";
  fail_allocation(0);
  EXPECT_EQ(queue_.size(), waiting);
  std::vector<uint8_t> got;
  for (int i = 0; i < 40 && got.size() < 9; ++i) {
    while (const auto mark = read()) {
      if (*mark != 0) got.push_back(*mark);
    }
    queue_.retry(now_ + milliseconds(2));
  }
  EXPECT_EQ(got, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(counters_.forward_lost, 0U);
}

// Expect: what is no datagram of ours is thrown away, and what comes behind it is read.
TEST_F(ForwardQueueTest, StrangeDatagramsArePassedOver) {
  constexpr size_t kMagicAt = 0;
  constexpr size_t kKindAt = 4;
  ASSERT_TRUE(send(1));
  std::vector<uint8_t> right(70000);
  const ssize_t size = recv(other_.forward_fd(), right.data(), right.size(), MSG_DONTWAIT);
  ASSERT_GT(size, static_cast<ssize_t>(bytes_.size()));
  const size_t header = static_cast<size_t>(size) - bytes_.size();
  std::vector<std::vector<uint8_t>> strange{{}, {1}, right};
  right.resize(static_cast<size_t>(size));
  strange.emplace_back(right.begin(), right.begin() + static_cast<ptrdiff_t>(header) - 1);
  for (const size_t at : {kMagicAt, kKindAt}) {
    strange.push_back(right);
    strange.back()[at] ^= 0x80;
  }
  // The segment size is the only 32 bits of the header that have it.
  const uint32_t segment_size = 280;
  for (size_t at = 0; at + 4 <= header; ++at) {
    if (std::memcmp(&right[at], &segment_size, 4) != 0) continue;
    strange.push_back(right);
    std::memset(&strange.back()[at], 0, 4);
  }
  ASSERT_EQ(strange.size(), 7U);
  const UnixName to = name_of(other_);
  for (const std::vector<uint8_t>& bytes : strange) {
    ASSERT_EQ(sendto(self_.forward_fd(), bytes.data(), bytes.size(), MSG_DONTWAIT,
                     reinterpret_cast<const sockaddr*>(&to.address), to.size),
              static_cast<ssize_t>(bytes.size()));
  }
  ASSERT_TRUE(send(2));
  EXPECT_EQ(read(), 2);
  EXPECT_EQ(read(), std::nullopt);
}

TEST_F(ForwardQueueTest, WhatWaitsGoesWhenThereIsRoom) {
  const uint32_t fitted = fill();
  EXPECT_EQ(counters_.forwarded, fitted);
  queue_.retry(now_ + milliseconds(1));
  EXPECT_TRUE(queue_.has_waiting());
  EXPECT_TRUE(read());
  queue_.retry(now_ + milliseconds(2));
  EXPECT_FALSE(queue_.has_waiting());
  EXPECT_EQ(counters_.forwarded, fitted + 1);
  EXPECT_EQ(counters_.forward_lost, 0U);
}

TEST_F(ForwardQueueTest, NothingOvertakesWhatWaits) {
  const uint32_t fitted = fill();
  EXPECT_TRUE(read());
  EXPECT_TRUE(send(1)) << "there is room, but not for this one yet";
  EXPECT_TRUE(send(2));
  for (uint32_t i = 1; i < fitted; ++i) EXPECT_EQ(read(), 0);
  EXPECT_EQ(read(), std::nullopt);
  queue_.retry(now_ + milliseconds(1));
  EXPECT_EQ(read(), 0);
  EXPECT_EQ(read(), 1);
  EXPECT_EQ(read(), 2);
}

TEST_F(ForwardQueueTest, WhatWaitsForOneDoesNotHoldUpAnother) {
  Slot third = Slot::acquire().value();
  fill();
  EXPECT_TRUE(queue_.send(name_of(third), {Flow{}, 280, bytes_}, now_));
  reader_.rewind();
  EXPECT_TRUE(std::holds_alternative<PacketRun>(reader_.read(third.forward_fd())));
}

TEST_F(ForwardQueueTest, WhatWaitsTooLongIsLostAndCounted) {
  fill();
  queue_.retry(now_ + ForwardQueue::kMaxWait);
  EXPECT_FALSE(queue_.has_waiting());
  EXPECT_EQ(counters_.forward_lost, 1U);
}

TEST_F(ForwardQueueTest, NoMoreDatagramsWaitThanMay) {
  fill();
  for (size_t i = 1; i < ForwardQueue::kMaxWaiting + 5; ++i) EXPECT_TRUE(send(0));
  EXPECT_EQ(queue_.size(), ForwardQueue::kMaxWaiting);
  EXPECT_EQ(counters_.forward_lost, 5U);
}

TEST_F(ForwardQueueTest, NoMoreBytesWaitThanMay) {
  fill();
  bytes_.resize(1 << 16);
  for (size_t i = 0; i < ForwardQueue::kMaxWaitingBytes >> 16; ++i) EXPECT_TRUE(send(0));
  EXPECT_GT(counters_.forward_lost, 0U);
}

/// A name whose path leads nowhere from the root directory that this process has.
UnixName elsewhere(const UnixName& name) {
  UnixName hidden = name;
  const std::string file(name.path().substr(name.path().rfind('/')));
  const std::string path = "/nowhere" + file;
  std::memset(hidden.address.sun_path, 0, sizeof hidden.address.sun_path);
  path.copy(hidden.address.sun_path, sizeof hidden.address.sun_path - 1);
  hidden.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return hidden;
}

TEST_F(ForwardQueueTest, AProcessWithAnotherRootGoesByTheDescriptor) {
  EXPECT_TRUE(queue_.send(elsewhere(name_of(other_)), {Flow{}, 280, bytes_}, now_));
  EXPECT_EQ(counters_.forwarded, 1U);
  EXPECT_TRUE(read());
  const UnixName nobody = elsewhere(self_.directory().slot_name(kSlots + 1));
  EXPECT_FALSE(queue_.send(nobody, {Flow{}, 280, bytes_}, now_));
}

/// Expect: packets that it cannot pass on are lost. "Nobody" would let it refuse connections in the
/// name of another process.
TEST_F(ForwardQueueTest, AProcessWithoutAWayDoesNotSayNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const ScratchPlace root;
  const pid_t child = fork();
  if (child == 0) {
    if (chroot(root.path().c_str()) != 0) _exit(2);
    const bool sent = queue_.send(name_of(other_), {Flow{}, 280, bytes_}, now_);
    _exit(sent && counters_.forward_lost == 1 && counters_.forwarded == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ForwardQueueTest, WhereNobodyHasTheNameItSaysSo) {
  const UnixName nobody = self_.directory().slot_name(kSlots + 1);
  EXPECT_FALSE(queue_.send(nobody, {Flow{}, 280, bytes_}, now_));
  EXPECT_EQ(counters_.forwarded + counters_.forward_lost, 0U);
}

}  // namespace
}  // namespace urxe::test
