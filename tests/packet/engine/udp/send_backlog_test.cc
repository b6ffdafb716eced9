// SPDX-License-Identifier: BSD-2-Clause
// Messages that wait for room in a socket buffer.
#include "packet/engine/udp/send_backlog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "packet/engine/udp/udp.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/full_sockets.h"
#include "tests/support/failing_allocations.h"

namespace {

/// The socket that seems full: it has room for `room` messages.
int full_socket = -1;
unsigned room = 0;

/// How many of `count` messages the socket takes now; 0 sets errno.
unsigned take_room(int fd, unsigned count) {
  if (fd != full_socket) return count;
  const unsigned taken = std::min(count, room);
  room -= taken;
  if (taken == 0) errno = EAGAIN;
  return taken;
}

}  // namespace

namespace urxe::test {
namespace {

struct FullSocket {
  explicit FullSocket(int fd) {
    full_socket = fd;
    room = 0;
    test::take_room = ::take_room;
  }
  ~FullSocket() { full_socket = -1; }
};

/// A message of `size` bytes that all have the value `mark`.
struct Marked {
  Marked(uint8_t mark, size_t size) : bytes(size, mark) {
    message.size = message.segment_size = size;
    message.segments = 1;
  }
  std::vector<uint8_t> bytes;
  TxBatch::Message message;
};

bool is_first(const SendBacklog& backlog, uint8_t mark, size_t size) {
  if (backlog.messages().empty()) return false;
  const TxBatch::Message& first = backlog.messages()[0];
  const std::span<const uint8_t> bytes(backlog.memory() + first.offset, first.size);
  return bytes.size() == size && std::ranges::all_of(bytes, [&](uint8_t b) { return b == mark; });
}

// Expect: the space of what was sent is used again although something always waits.
TEST(SendBacklog, SpaceComesBackBeforeItIsEmpty) {
  SendBacklog backlog;
  std::deque<std::pair<uint8_t, size_t>> waiting;
  size_t bytes = 0;
  for (uint32_t i = 0; i < 500; ++i) {
    const auto mark = static_cast<uint8_t>(i);
    const size_t size = 1 + i * 7919 % 60000;
    while (bytes + size > SendBacklog::kBytes / 2) {
      ASSERT_TRUE(is_first(backlog, waiting.front().first, waiting.front().second)) << i;
      bytes -= waiting.front().second;
      waiting.pop_front();
      backlog.pop(1);
    }
    const Marked marked(mark, size);
    ASSERT_TRUE(backlog.push(marked.message, marked.bytes.data())) << i;
    waiting.emplace_back(mark, size);
    bytes += size;
  }
  for (const auto& [mark, size] : waiting) {
    ASSERT_TRUE(is_first(backlog, mark, size));
    backlog.pop(1);
  }
  EXPECT_TRUE(backlog.empty());
}

// Expect: what waits is a copy, whatever becomes of the payload.
TEST(SendBacklog, KeepsNoPayloadElsewhere) {
  TxBatch::Limits limits;
  limits.elsewhere_from = 512;
  TxBatch batch(limits);
  std::vector<uint8_t> payload(1000, uint8_t{7});
  const Flow flow{own_loopback(1), own_loopback(2)};
  ASSERT_TRUE(batch.append_whole(flow, send_only(7, 1), payload));
  ASSERT_EQ(batch.messages()[0].elsewhere, 1U);
  SendBacklog backlog;
  const TxBatch::Message& message = batch.messages()[0];
  ASSERT_TRUE(backlog.push(message, batch.bytes(message).data() - message.offset));
  std::ranges::fill(payload, uint8_t{9});
  const TxBatch::Message& kept = backlog.messages()[0];
  EXPECT_EQ(kept.elsewhere, 0U);
  const Received packet = keep({{backlog.memory() + kept.offset, kept.size}, flow, uint16_t{0}});
  EXPECT_TRUE(packet.headers);
  EXPECT_EQ(packet.payload, std::vector<uint8_t>(1000, uint8_t{7}));
}

TEST(SendBacklog, BoundsOfBytesAndMessages) {
  SendBacklog bytes;
  const Marked large(1, SendBacklog::kBytes / 4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(bytes.push(large.message, large.bytes.data()));
  const Marked small(2, 1);
  EXPECT_FALSE(bytes.push(small.message, small.bytes.data()));
  bytes.pop(1);
  EXPECT_TRUE(bytes.push(large.message, large.bytes.data()));
  EXPECT_FALSE(bytes.push(small.message, small.bytes.data()));

  SendBacklog messages;
  for (size_t i = 0; i < SendBacklog::kMessages; ++i) {
    EXPECT_TRUE(messages.push(small.message, small.bytes.data()));
  }
  EXPECT_FALSE(messages.push(small.message, small.bytes.data()));
  messages.pop(1);
  EXPECT_TRUE(messages.push(small.message, small.bytes.data()));
}

struct TwoFlows {
  explicit TwoFlows(Duration patience = kUsualPatience) : sender(UdpConfig{.patience = patience}) {
    EXPECT_TRUE(sender.open_address(from));
    EXPECT_TRUE(receiver.open_address(to));
    blocked = {from, to, sender.claim_source_port(from, 0xc111).value_or(0), 0, 64};
    free = {from, to, sender.claim_source_port(from, 0xc222).value_or(0), 0, 64};
  }
  void send(const Flow& flow, uint32_t psn, size_t bytes = 1000) {
    append(batch, flow, send_only(7, psn), bytes);
  }
  std::vector<uint32_t> received(size_t count) {
    std::vector<uint32_t> psns;
    for (const Received& packet : receive_packets(receiver, count)) {
      if (packet.headers) psns.push_back(packet.headers->bth.psn.value());
    }
    return psns;
  }
  const Gid from = own_loopback(11);
  const Gid to = own_loopback(12);
  UdpEngine sender;
  UdpEngine receiver{UdpConfig{}};
  Flow blocked, free;
  TxBatch batch{sender.batch_limits()};
};

// Expect: what goes by another socket is not held up, now or later, and no order changes.
TEST(SendBacklog, AFullSocketHoldsUpItsOwnFlowOnly) {
  TwoFlows two;
  {
    const FullSocket full(find_socket(two.from, two.blocked.source_port));
    two.send(two.blocked, 1);
    two.send(two.free, 101);
    two.send(two.blocked, 2);
    two.send(two.free, 102);
    two.sender.transmit(two.batch);
    EXPECT_EQ(two.received(2), (std::vector<uint32_t>{101, 102}));
    two.send(two.blocked, 3);
    two.send(two.free, 103);
    two.sender.transmit(two.batch);
    EXPECT_EQ(two.received(1), (std::vector<uint32_t>{103}));
  }
  two.send(two.blocked, 4);
  two.sender.transmit(two.batch);
  EXPECT_EQ(two.received(4), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(two.sender.totals().send_lost, 0U);
}

// The defect: a socket that became full was given its backlog then, and what could not be kept was
// lost. Expect: no memory is needed for that.
TEST(SendBacklog, NoMemoryIsNeededWhenASocketIsFull) {
  if (!can_fail_allocations()) GTEST_SKIP() << "a sanitizer's operator new";
  TwoFlows two;
  two.send(two.blocked, 1);
  {
    const FullSocket full(find_socket(two.from, two.blocked.source_port));
    fail_allocation(1);
    two.sender.transmit(two.batch);
    EXPECT_TRUE(failure_is_due()) << "something was allocated";
    fail_allocation(0);
  }
  EXPECT_EQ(two.sender.totals().send_lost, 0U);
  two.sender.receive();  // flushes
  EXPECT_EQ(two.received(1), (std::vector<uint32_t>{1}));
}

// A socket that takes no more at a time than comes new. Expect: far more than the backlog holds
// goes through without a loss, although it is never empty.
TEST(SendBacklog, LastingShortageLosesNothing) {
  TwoFlows two;
  const FullSocket full(find_socket(two.from, two.blocked.source_port));
  constexpr uint32_t kRound = 8;
  uint32_t sent = 0;
  uint32_t received = 0;
  for (size_t bytes = 0; bytes < 4 * SendBacklog::kBytes; bytes += kRound * 1000) {
    for (uint32_t i = 0; i < kRound; ++i) two.send(two.blocked, sent++);
    two.sender.transmit(two.batch);
    if (sent <= 256) continue;
    // A segmented datagram counts as one.
    while (received + 256 < sent) {
      room = 1;
      two.sender.receive();  // flushes
      for (const RxPacket& packet : two.receiver.receive()) {
        const auto view = parse(packet);
        ASSERT_TRUE(view);
        ASSERT_EQ(view->headers.bth.psn, Psn(received++));
      }
    }
  }
  EXPECT_GT(sent, received);
  EXPECT_EQ(two.sender.totals().send_lost, 0U);
}

// Expect: what the backlog has no room for stays in the batch, the rest of the batch does not wait,
// and all goes in order when the socket takes something.
TEST(SendBacklog, WhatFindsNoRoomStaysInTheBatch) {
  TwoFlows two(seconds(300));
  uint32_t sent = 0;
  uint32_t others = 100000;
  std::vector<uint32_t> got;
  std::vector<uint32_t> got_others;
  const auto take = [&] {
    for (const RxPacket& packet : two.receiver.receive()) {
      const uint32_t psn = keep(packet).headers->bth.psn.value();
      (psn < 100000 ? got : got_others).push_back(psn);
    }
  };
  const FullSocket full(find_socket(two.from, two.blocked.source_port));
  while (two.batch.empty()) {
    for (int i = 0; i < 20; ++i) two.send(two.blocked, sent++, i % 3 == 0 ? 100 : 4096);
    two.send(two.free, others++);
    for (int i = 0; i < 20; ++i) two.send(two.blocked, sent++, 1000);
    two.sender.transmit(two.batch);
    take();
  }
  EXPECT_GT(sent * size_t{4096}, SendBacklog::kBytes);
  const auto left = two.batch.packets();
  EXPECT_EQ(two.sender.transmit(two.batch), 0U);
  EXPECT_EQ(two.batch.packets(), left);
  EXPECT_TRUE(eventually([&] {
    take();
    return got_others.size() == others - 100000;
  }));
  EXPECT_TRUE(eventually([&] {
    room = 1;              // so that the receiver's buffer is enough
    two.sender.receive();  // flushes
    two.sender.transmit(two.batch);
    take();
    return got.size() >= sent;
  }));
  EXPECT_TRUE(two.batch.empty());
  ASSERT_EQ(got.size(), sent);
  for (uint32_t psn = 0; psn < sent; ++psn) ASSERT_EQ(got[psn], psn);
  EXPECT_EQ(two.sender.totals().send_lost, 0U);
}

// Expect: a socket that takes nothing does not stop those that send by others forever.
TEST(SendBacklog, WhatWaitsForASocketThatTakesNothingIsLostAndCounted) {
  TwoFlows two(nanoseconds(-1));
  const FullSocket full(find_socket(two.from, two.blocked.source_port));
  for (uint32_t psn = 0; psn < 1000; psn += 10) {
    for (uint32_t i = 0; i < 10; ++i) two.send(two.blocked, psn + i, 4096);
    two.sender.transmit(two.batch);
    ASSERT_TRUE(two.batch.empty());
  }
  EXPECT_GT(two.sender.totals().send_lost, 0U);
  EXPECT_EQ(two.sender.totals().send_lost + two.sender.counters().tx_delayed, 1000U);
}

// Expect: patience is over only if nothing has left the queue meanwhile.
TEST(StallWatch, CountsFromTheFirstThatFoundNoRoom) {
  StallWatch watch;
  const Instant start{1000};
  EXPECT_FALSE(watch.is_stalled(start, nanoseconds(10)));
  EXPECT_FALSE(watch.is_stalled(start + nanoseconds(10), nanoseconds(10)));
  EXPECT_TRUE(watch.is_stalled(start + nanoseconds(11), nanoseconds(10)));
  watch.note_left();
  EXPECT_FALSE(watch.is_stalled(start + nanoseconds(30), nanoseconds(10)));
  EXPECT_TRUE(watch.is_stalled(start + nanoseconds(50), nanoseconds(10)));
}

// Port 4791 both sends and receives. Expect: after it was full it still wakes for what comes in.
TEST(SendBacklog, PortThatReceivesMayBeFull) {
  TwoFlows two;
  Flow flow = two.blocked;
  flow.source_port = kRoceUdpPort;
  {
    const FullSocket full(find_socket(two.from, kRoceUdpPort));
    two.send(flow, 1);
    two.sender.transmit(two.batch);
  }
  two.sender.receive();
  EXPECT_EQ(two.received(1), (std::vector<uint32_t>{1}));
  const auto port = two.receiver.claim_source_port(two.to, 0xc333);
  ASSERT_TRUE(port);
  append(two.batch, {two.to, two.from, *port, 0, 64}, send_only(7, 5), 1);
  two.receiver.transmit(two.batch);
  pollfd wait{two.sender.wait_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 20000), 1);
  EXPECT_EQ(receive_packets(two.sender, 1).size(), 1U);
}

// Expect: what waits for a socket that is closed is counted as lost.
TEST(SendBacklog, ClosedSocket) {
  TwoFlows two;
  const FullSocket full(find_socket(two.from, two.blocked.source_port));
  two.send(two.blocked, 1);
  two.sender.transmit(two.batch);
  EXPECT_EQ(two.sender.totals().send_lost, 0U);
  two.sender.release_source_port(two.from, two.blocked.source_port);
  EXPECT_EQ(two.sender.totals().send_lost, 1U);
}

}  // namespace
}  // namespace urxe::test
