// SPDX-License-Identifier: BSD-2-Clause
// How long an ACK waits for the application's reply.
#include "provider/runtime/progress/reply_wait.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

constexpr Instant kStart{1'000'000'000};

/// Requests come each `interval`, and the application replies to each after `reply`. How long the
/// next ACK waits.
Duration wait_after_replies(Duration interval, Duration reply, int requests) {
  ReplyWait wait;
  Instant now = kStart;
  for (int i = 0; i < requests; ++i, now = now + interval) {
    wait.owes_ack(now);
    wait.posts(now + reply);
  }
  wait.owes_ack(now);
  return wait.until() - now;
}

TEST(ReplyWait, NobodyHasReplied) {
  ReplyWait wait;
  for (int i = 0; i < 3; ++i) {
    const Instant now = kStart + milliseconds(i);
    wait.owes_ack(now);
    EXPECT_EQ(wait.until(), now);
  }
}

TEST(ReplyWait, WaitsForAnApplicationThatReplies) {
  EXPECT_GT(wait_after_replies(microseconds(50), microseconds(2), 1), microseconds(2));
  EXPECT_GT(wait_after_replies(microseconds(50), microseconds(40), 1), microseconds(40));
}

TEST(ReplyWait, NotForOneThatTakesLong) {
  EXPECT_EQ(wait_after_replies(microseconds(400), microseconds(150), 3), Duration{});
}

// Expect: late replies among quick ones, as from a thread that has lost its processor, change
// nothing, not even how long the next one is waited for; many late ones do.
TEST(ReplyWait, SomeLateRepliesAreForgiven) {
  ReplyWait wait;
  Instant now = kStart;
  const auto reply = [&](Duration time) {
    now = now + milliseconds(1);
    wait.owes_ack(now);
    wait.posts(now + time);
  };
  const auto waits = [&] {
    now = now + milliseconds(1);
    wait.owes_ack(now);
    return wait.until() - now;
  };
  reply(microseconds(5));
  for (int i = 0; i < 2; ++i) reply(microseconds(300));
  const Duration usual = waits();
  EXPECT_GT(usual, microseconds(5));
  EXPECT_LT(usual, microseconds(50));
  for (int i = 0; i < 100; ++i) reply(microseconds(300));
  EXPECT_EQ(waits(), Duration{});
  reply(microseconds(5));
  EXPECT_EQ(waits(), usual);
}

TEST(ReplyWait, NotForAReplyOfLongAgo) {
  EXPECT_EQ(wait_after_replies(milliseconds(20), microseconds(2), 3), Duration{});
}

TEST(ReplyWait, NotWhileTheApplicationWaitsForAnswersItself) {
  ReplyWait wait;
  wait.owes_ack(kStart);
  wait.posts(kStart + microseconds(2));
  const Instant now = kStart + microseconds(10);
  wait.owes_ack(now);
  EXPECT_TRUE(wait.holds(now, false));
  EXPECT_FALSE(wait.holds(now, true));
  EXPECT_FALSE(wait.holds(wait.until(), false));
}

TEST(ReplyWait, ForTheAnswerThatComesBehindALongMessage) {
  ReplyWait wait;
  wait.posts(kStart);
  wait.owes_ack(kStart);
  wait.receives(7, kStart);
  EXPECT_FALSE(wait.holds(kStart, true));
  wait.receives(8, kStart);
  EXPECT_TRUE(wait.holds(kStart + microseconds(5), true));
  wait.receives(0, kStart + microseconds(12));
  EXPECT_FALSE(wait.holds(kStart + microseconds(12), true));
  // The rest of the message.
  wait.receives(1, kStart + microseconds(30));
  EXPECT_TRUE(wait.holds(kStart + microseconds(35), true));
  wait.receives(1, kStart + microseconds(100));
  EXPECT_FALSE(wait.holds(kStart + microseconds(100), true));
}

// Another peer may be waiting for its ACK.
TEST(ReplyWait, NotForeverWhilePacketsOfLongMessagesArrive) {
  ReplyWait wait;
  wait.posts(kStart);
  wait.owes_ack(kStart);
  for (int us = 0; us < 500; us += 10) {
    wait.receives(64, kStart + microseconds(us));
    EXPECT_TRUE(wait.holds(kStart + microseconds(us), true));
  }
  wait.receives(64, kStart + microseconds(500));
  EXPECT_FALSE(wait.holds(kStart + microseconds(500), true));
}

TEST(ReplyWait, NotAfterALongMessageToOneThatPostsNothing) {
  ReplyWait wait;
  wait.owes_ack(kStart);
  wait.receives(64, kStart);
  EXPECT_FALSE(wait.holds(kStart, true));
  wait.posts(kStart - milliseconds(6));
  EXPECT_FALSE(wait.holds(kStart, true));
}

TEST(ReplyWait, NotForOneThatHasStopped) {
  ReplyWait wait;
  wait.owes_ack(kStart);
  wait.posts(kStart + microseconds(2));
  wait.owes_ack(kStart + microseconds(10));
  EXPECT_GT(wait.until(), kStart + microseconds(10));
  wait.owes_ack(kStart + microseconds(200));  // no reply has come to the one before
  EXPECT_EQ(wait.until(), kStart + microseconds(200));
}

}  // namespace
}  // namespace urxe::test
