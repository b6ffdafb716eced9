// SPDX-License-Identifier: BSD-2-Clause
// Which requests wait for others.
#include "provider/runtime/progress/gathering.h"

#include <gtest/gtest.h>

namespace urxe::test::gathering_test {
namespace {

constexpr Duration kShortly = microseconds(1);
constexpr Duration kLater = microseconds(10);

/// Requests that are posted one after the other.
class Posts {
 public:
  explicit Posts(Gathering::Post post) : post_(post) {}
  bool next(Duration after) {
    now_ = now_ + after;
    return gathering_.waits(post_, now_);
  }
  /// So many follow each other. How many of them wait?
  int wait_of(int count) {
    int waiting = 0;
    for (int i = 0; i < count; ++i) waiting += next(kShortly) ? 1 : 0;
    return waiting;
  }
  Gathering::Post& post() { return post_; }
  Gathering& gathering() { return gathering_; }
  Instant& now() { return now_; }

 private:
  Gathering gathering_;
  Gathering::Post post_;
  Instant now_{1000000000};
};

constexpr Gathering::Post kPolled{64, true, true, true};
constexpr Gathering::Post kNotPolled{64, true, true, false};

TEST(Gathering, NotBeforeAnAnswerIsDue) {
  Posts posts({64, true, false, true});
  EXPECT_EQ(posts.wait_of(20), 0);
}

TEST(Gathering, AtOnceIfTheApplicationPolls) {
  Posts posts(kPolled);
  EXPECT_TRUE(posts.next(kLater));
}

TEST(Gathering, ALimitedNumber) {
  Posts posts(kPolled);
  EXPECT_EQ(posts.wait_of(31), 31);
  EXPECT_FALSE(posts.next(kShortly));
  posts.gathering().clear();
  EXPECT_EQ(posts.wait_of(31), 31);
}

TEST(Gathering, NoMoreThanADatagramHolds) {
  Posts posts({4096, true, true, true});
  EXPECT_EQ(posts.wait_of(14), 14);
  EXPECT_FALSE(posts.next(kShortly));
}

TEST(Gathering, NotForLongIfTheApplicationPostsSlowly) {
  Posts posts(kPolled);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(posts.next(kLater));
  EXPECT_FALSE(posts.next(kLater));
  posts.gathering().clear();
  EXPECT_TRUE(posts.next(kLater));
}

TEST(Gathering, TheTimeIsReadAgainAfterAFewRequestsAndOnceTheyAreSent) {
  Posts posts(kPolled);
  EXPECT_FALSE(posts.gathering().was_just_now());
  EXPECT_EQ(posts.wait_of(3), 3);
  EXPECT_TRUE(posts.gathering().was_just_now());
  EXPECT_EQ(posts.gathering().last(), posts.now());
  EXPECT_EQ(posts.wait_of(1), 1);
  EXPECT_FALSE(posts.gathering().was_just_now());
  EXPECT_EQ(posts.wait_of(1), 1);
  posts.gathering().clear();
  EXPECT_FALSE(posts.gathering().was_just_now());
}

TEST(Gathering, NoLargeRequest) {
  Posts posts({4097, true, true, true});
  EXPECT_FALSE(posts.next(kShortly));
}

TEST(Gathering, ManyInARowOfAnApplicationThatDoesNotPoll) {
  Posts posts(kNotPolled);
  EXPECT_EQ(posts.wait_of(7), 0);
  EXPECT_EQ(posts.wait_of(10), 10);
}

TEST(Gathering, NotAfterAPauseOfAnApplicationThatDoesNotPoll) {
  Posts posts(kNotPolled);
  EXPECT_EQ(posts.wait_of(10), 3);
  EXPECT_FALSE(posts.next(kLater));
  EXPECT_EQ(posts.wait_of(6), 0);
  EXPECT_TRUE(posts.next(kShortly));
}

TEST(Gathering, TheTimeThatSendingTakesIsNoPause) {
  Posts posts(kNotPolled);
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(posts.next(kShortly));
    posts.now() = posts.now() + kLater;
    posts.gathering().returns(posts.now());
  }
  EXPECT_TRUE(posts.next(kShortly));
}

TEST(Gathering, OfServicesWithoutAnswersWhatFollowsAtOnce) {
  Posts posts({64, false, false, true});
  EXPECT_FALSE(posts.next(kShortly));
  EXPECT_TRUE(posts.next(kShortly));
  EXPECT_FALSE(posts.next(kLater));
}

}  // namespace
}  // namespace urxe::test::gathering_test
