// SPDX-License-Identifier: BSD-2-Clause
// A process of the same user that does not follow the rules.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "packet/engine/shm/hello.h"
#include "packet/engine/shm/memory.h"
#include "packet/engine/shm/ring.h"
#include "packet/host/unix_name.h"
#include "tests/packet/engine/shm/shm_fixture.h"

namespace urxe::test {
namespace {

/// A process with a link to `a_` that the test makes itself.
class HostilePeer : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(a_.engine->open_address(address_));
    ASSERT_TRUE(a_.engine->claim_source_port(address_, 0xc000));
    settle({&a_});
    connection_ = connect_to_socket(a_.slot.directory().links_name(a_.slot.number())).value();
  }
  /// Lets `a_` see what was said. Returns the answer; an error if it refuses.
  Expected<HeardHello, Errno> answer() {
    for (int i = 0; i < 1000; ++i) (void)a_.engine->receive();
    return hear_hello(connection_.get());
  }
  [[nodiscard]] bool refused() {
    const auto heard = answer();
    return !heard && heard.error().value != EAGAIN;
  }
  void say(std::vector<int> descriptors, LinkHello hello) {
    ASSERT_TRUE(say_hello(connection_.get(), hello, descriptors));
  }
  [[nodiscard]] LinkHello hello() const { return {LinkHello::kMagic, slot_.number(), 0}; }
  /// Makes the link as a good process would.
  void make_link() {
    memory_.emplace(LinkMemory::create(shared_).value());
    publish_address(memory_->end(0), 0, address_);
    say({shared_.get(), bell_.get()}, hello());
    const auto heard = answer();
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->hello.slot, a_.slot.number());
    EXPECT_TRUE(is_bell(heard->message.descriptors[0].get()));
  }
  [[nodiscard]] bool is_broken() {
    for (int i = 0; i < 1000; ++i) (void)a_.engine->receive();
    return a_.counters().broken_links == 1;
  }

  const Gid address_ = own_loopback(50);
  ShmMember a_;
  Slot slot_ = Slot::acquire().value();
  FileDescriptor connection_;
  FileDescriptor bell_{eventfd(0, EFD_NONBLOCK)};
  FileDescriptor shared_;
  std::optional<LinkMemory> memory_;
};

TEST_F(HostilePeer, IsServedIfItFollowsTheRules) {
  make_link();
  TxBatch batch((TxBatch::Limits()));
  const Flow flow{address_, address_, 0xc000, 0, 64};
  append(batch, flow, send_only(a_.qpn(), 9), 16);
  RingWriter writer(memory_->ring_from(0), memory_->end(1).freed);
  const RecordInfo info{32, 0xc000, 0, 0, 0, 64, false};
  ASSERT_TRUE(writer.write(info, batch.bytes(batch.messages()[0])));
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] { return take(a_, packets); }));
  ASSERT_TRUE(packets[0].headers);
  EXPECT_EQ(packets[0].headers->bth.psn, Psn(9));
  EXPECT_EQ(packets[0].flow, flow);
}

TEST_F(HostilePeer, NeedsMemoryAndABell) {
  say({}, hello());
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, NeedsMemoryThatCannotShrink) {
  FileDescriptor good;
  ASSERT_TRUE(LinkMemory::create(good));
  const off_t size = lseek(good.get(), 0, SEEK_END);
  const FileDescriptor bad(memfd_create("test", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(bad.get(), size), 0);
  say({bad.get(), bell_.get()}, hello());
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, NeedsABellThatCannotBlockOrRaiseSignals) {
  ASSERT_TRUE(LinkMemory::create(shared_));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  say({shared_.get(), writing.get()}, hello());
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, MustSayAProperHello) {
  ASSERT_TRUE(LinkMemory::create(shared_));
  LinkHello wrong = hello();
  wrong.magic ^= 1;
  say({shared_.get(), bell_.get()}, wrong);
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, CannotHaveASlotThatDoesNotExist) {
  ASSERT_TRUE(LinkMemory::create(shared_));
  LinkHello wrong = hello();
  wrong.slot = kSlots;
  say({shared_.get(), bell_.get()}, wrong);
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, CannotHaveTheSlotOfTheProcessItself) {
  ASSERT_TRUE(LinkMemory::create(shared_));
  LinkHello wrong = hello();
  wrong.slot = a_.slot.number();
  say({shared_.get(), bell_.get()}, wrong);
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, CannotTakeAnothersLink) {
  make_link();
  const FileDescriptor first = std::exchange(
      connection_, connect_to_socket(a_.slot.directory().links_name(a_.slot.number())).value());
  FileDescriptor other;
  ASSERT_TRUE(LinkMemory::create(other));
  say({other.get(), bell_.get()}, hello());
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, ThatSaysNothingIsForgottenForOthers) {
  // Expect: more silent callers than are kept do not keep a good one out.
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(connect_to_socket(a_.slot.directory().links_name(a_.slot.number())).value());
    for (int calls = 0; calls < 200; ++calls) (void)a_.engine->receive();
  }
  const auto is_kept = [](const FileDescriptor& caller) {
    pollfd hangup{caller.get(), POLLIN, 0};
    return poll(&hangup, 1, 0) == 0;
  };
  EXPECT_FALSE(is_kept(silent.front())) << "the oldest gives its descriptor back";
  EXPECT_TRUE(is_kept(silent.back()));
  connection_ = connect_to_socket(a_.slot.directory().links_name(a_.slot.number())).value();
  make_link();
}

TEST_F(HostilePeer, IsNotWaitedForWithoutDescriptors) {
  // Expect: the process does not spin on a caller that it cannot accept.
  pollfd wait{a_.engine->wait_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 0), 1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < 1000; ++i) (void)a_.engine->receive();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, IsCutOffAfterABadHeader) {
  make_link();
  const std::array<uint32_t, 2> header{1, 0xffffffff};  // sequence, bytes
  std::memcpy(memory_->ring_from(0).data(), header.data(), sizeof header);
  EXPECT_TRUE(is_broken());
  pollfd hangup{connection_.get(), POLLIN, 0};
  EXPECT_EQ(poll(&hangup, 1, 0), 1);
}

TEST_F(HostilePeer, IsCutOffAfterAnAddressThatItDoesNotHave) {
  make_link();
  RingWriter writer(memory_->ring_from(0), memory_->end(1).freed);
  const std::vector<uint8_t> packet(32);
  ASSERT_TRUE(writer.write({32, 0xc000, 1, 0, 0, 64, false}, packet));
  EXPECT_TRUE(is_broken());
}

TEST_F(HostilePeer, IsCutOffAfterAnAddressThatNobodyHas) {
  make_link();
  RingWriter writer(memory_->ring_from(0), memory_->end(1).freed);
  const std::vector<uint8_t> packet(32);
  ASSERT_TRUE(writer.write({32, 0xc000, 0, 200, 0, 64, false}, packet));
  EXPECT_TRUE(is_broken());
}

TEST_F(HostilePeer, IsCutOffIfItTalksTooMuch) {
  make_link();
  say({bell_.get()}, hello());  // as an answer, but nobody has asked
  EXPECT_EQ(refused(), true);
}

/// A process that `a_` asks for a link.
class HostileAnswer : public HostilePeer {
 protected:
  void SetUp() override {
    HostilePeer::SetUp();
    listener_ = open_listening_socket(a_.slot.directory().links_name(slot_.number()), 4).value();
    TxBatch batch(a_.engine->batch_limits());
    append(batch, {address_, address_, 0xc000, 0, 64},
           send_only(make_qpn(slot_.number(), 5).value(), 1), 16);
    a_.engine->transmit(batch);
    connection_ = FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
    ASSERT_TRUE(connection_);
    auto asked = hear_hello(connection_.get());
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->hello.slot, a_.slot.number());
  }

  FileDescriptor listener_;
};

TEST_F(HostileAnswer, IsTakenIfItIsProper) {
  say({bell_.get()}, hello());
  EXPECT_FALSE(refused());
}

TEST_F(HostileAnswer, NeedsABell) {
  say({}, hello());
  EXPECT_TRUE(refused());
}

// Expect: no process can have this one wait when it rings.
TEST_F(HostileAnswer, NeedsABellThatCannotBlock) {
  const FileDescriptor blocking(eventfd(0, 0));
  say({blocking.get()}, hello());
  EXPECT_TRUE(refused());
}

TEST_F(HostileAnswer, IsOfTheSlotThatWasAsked) {
  LinkHello wrong = hello();
  wrong.slot = (slot_.number() + 1) % kSlots;
  say({bell_.get()}, wrong);
  EXPECT_TRUE(refused());
}

TEST_F(HostilePeer, CanScribbleOverAllOfTheMemory) {
  // Expect: no crash, whatever is found there, and no packet from outside the ring (the address
  // sanitizer would see that). Each link lasts until something unbelievable is read.
  std::minstd_rand random(7);
  size_t received = 0;
  for (int round = 0; round < 60; ++round) {
    connection_ = connect_to_socket(a_.slot.directory().links_name(a_.slot.number())).value();
    make_link();
    RingWriter writer(memory_->ring_from(0), memory_->end(1).freed);
    std::vector<uint8_t> packets(64 + random() % 5000);
    const uint64_t broken = a_.counters().broken_links;
    for (int step = 0; step < 100 && a_.counters().broken_links == broken; ++step) {
      (void)writer.write({64, 0xc000, 0, 0, 0, 64, random() % 2 == 0}, packets);
      const auto ring = memory_->ring_from(0);
      for (int i = 0; i < 20; ++i) {
        // Mostly in the first records.
        ring[random() % (random() % 2 == 0 ? 8192 : ring.size())] = static_cast<uint8_t>(random());
      }
      auto* const ends = reinterpret_cast<uint8_t*>(&memory_->end(random() % 2));
      ends[random() % sizeof(LinkEnd)] = static_cast<uint8_t>(random());
      for (const RxPacket& packet : a_.engine->receive()) {
        received += packet.bytes.size() > 0 ? 1 : 0;
        (void)parse(packet);
      }
      TxBatch batch(a_.engine->batch_limits());
      append(batch, {address_, address_, 0xc000, 0, 64},
             send_only(make_qpn(slot_.number(), 5).value(), 1), 64);
      a_.engine->transmit(batch);
    }
    connection_.reset();
    for (int i = 0; i < 1000; ++i) (void)a_.engine->receive();  // it notices the end
  }
  EXPECT_GT(received, 0U);
}

}  // namespace
}  // namespace urxe::test
