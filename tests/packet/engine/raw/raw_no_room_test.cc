// SPDX-License-Identifier: BSD-2-Clause
// A packet socket whose buffer is full.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "packet/engine/raw/raw.h"
#include "tests/packet/engine/full_sockets.h"
#include "tests/packet/engine/raw/raw_fixture.h"

namespace {

/// How many messages packet sockets take; nullopt: all.
std::optional<unsigned> room;

/// How many of `count` messages the socket takes now; 0 sets errno.
unsigned take_room(int fd, unsigned count) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (!room || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return count;
  if (domain != AF_PACKET) return count;
  const unsigned taken = std::min(count, *room);
  *room -= taken;
  if (taken == 0) errno = EAGAIN;
  return taken;
}

}  // namespace

namespace urxe::test::raw_no_room_test {
namespace {

struct FullPacketSockets {
  FullPacketSockets() {
    room = 0;
    test::take_room = ::take_room;
  }
  ~FullPacketSockets() { room.reset(); }
};

class RawNoRoom : public TwoHosts {
 protected:
  static constexpr size_t kPayload = 4096;
};

// Expect: frames that find no room stay in the batch, what goes by UDP does not wait for them, and
// all come in order when there is room.
TEST_F(RawNoRoom, FramesStayInTheBatch) {
  introduce();
  Raw left(*left_, seconds(300));
  Udp right(*right_);
  const Flow flow = flow_between(*left_, *right_);
  const Flow to_itself = flow_between(*left_, *left_);
  TxBatch batch(left.engine->batch_limits());
  uint32_t sent = 0;
  size_t others = 0;
  std::vector<Received> got;
  const FullPacketSockets full;
  while (batch.empty()) {
    for (int i = 0; i < 10; ++i) append(batch, flow, send_only(right.qpn(), sent++), kPayload);
    append(batch, to_itself, send_only(left.qpn(), 0), 16);
    for (int i = 0; i < 10; ++i) append(batch, flow, send_only(right.qpn(), sent++), kPayload);
    ++others;
    left.engine->transmit(batch);
  }
  EXPECT_EQ(left.engine->transmit(batch), 0U);
  EXPECT_TRUE(left.engine->has_unsent());
  EXPECT_EQ(receive_packets(*left.engine, others).size(), others);
  EXPECT_TRUE(eventually([&] {
    room = 1;                // so that the receiver's buffer is enough
    left.engine->receive();  // flushes
    left.engine->transmit(batch);
    for (const RxPacket& packet : right.engine->receive()) got.push_back(keep(packet));
    return got.size() >= sent;
  }));
  EXPECT_TRUE(batch.empty());
  expect_sequence(got, flow, 0, sent, kPayload);
  EXPECT_EQ(left.engine->totals().send_lost, 0U);
}

// Expect: a socket that takes nothing does not stop what goes by UDP forever.
TEST_F(RawNoRoom, FramesAreLostIfNoneGoes) {
  introduce();
  Raw left(*left_, nanoseconds(-1));
  Udp right(*right_);
  const Flow flow = flow_between(*left_, *right_);
  const FullPacketSockets full;
  for (uint32_t psn = 0; psn < 600; psn += 10) {
    send_packets(*left.engine, flow, right.qpn(), psn, 10, kPayload);
  }
  EXPECT_GT(left.engine->totals().send_lost, 0U);
  EXPECT_EQ(left.engine->totals().send_lost + left.engine->counters().tx_delayed, 600U);
}

}  // namespace
}  // namespace urxe::test::raw_no_room_test
