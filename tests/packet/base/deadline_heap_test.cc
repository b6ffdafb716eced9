// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/deadline_heap.h"

#include <gtest/gtest.h>

#include <random>

namespace urxe {
namespace {

struct Timer : DeadlineHook<struct TestTag> {};
using Heap = DeadlineHeap<Timer, TestTag>;

TEST(DeadlineHeap, ElementsComeInOrderHoweverTheyMove) {
  std::minstd_rand random(1);
  Heap heap;
  std::vector<Timer> all(200);
  for (int step = 0; step < 20000; ++step) {
    Timer& timer = all[random() % all.size()];
    const Instant deadline{static_cast<int64_t>(random() % 1000) + 1};
    switch (random() % 3) {
      case 0:
        heap.remove(timer);
        break;
      case 1:
        heap.schedule(timer, deadline);
        break;
      default:
        heap.set(timer, deadline);
    }
    std::optional<Instant> least;
    for (const Timer& each : all) {
      if (each.scheduled() && (!least || each.deadline < *least)) least = each.deadline;
    }
    ASSERT_EQ(heap.next(), least);
  }
  Instant last{0};
  while (heap.next()) {
    const Instant next = *heap.next();
    EXPECT_GE(next, last);
    EXPECT_EQ(heap.pop_due(next - nanoseconds(1)), nullptr);
    EXPECT_NE(heap.pop_due(next), nullptr);
    last = next;
  }
}

TEST(DeadlineHeap, ScheduleOnlyMovesEarlier) {
  Heap heap;
  Timer timer;
  heap.schedule(timer, Instant{20});
  heap.schedule(timer, Instant{30});
  EXPECT_EQ(heap.next(), Instant{20});
  heap.schedule(timer, Instant{10});
  EXPECT_EQ(heap.next(), Instant{10});
  EXPECT_EQ(heap.pop_due(Instant{10}), &timer);
  EXPECT_FALSE(Heap::contains(timer));
  heap.schedule(timer, Instant{30});  // the time that it was to come at, once the old one is over
  EXPECT_EQ(heap.next(), Instant{30});
}

TEST(DeadlineHeap, SetMovesEitherWay) {
  Heap heap;
  Timer timer;
  heap.set(timer, Instant{20});
  heap.set(timer, Instant{30});
  EXPECT_EQ(heap.next(), Instant{30});
  heap.set(timer, Instant{10});
  EXPECT_EQ(heap.next(), Instant{10});
  heap.remove(timer);
  EXPECT_EQ(heap.next(), std::nullopt);
}

}  // namespace
}  // namespace urxe
