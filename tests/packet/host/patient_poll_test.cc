// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/patient_poll.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/support/descriptor_limit.h"

namespace urxe::test::patient_poll_test {
namespace {

// A sandbox lowers the limit. poll(2) then fails at once, and a thread that sleeps by it would take
// a whole processor.
TEST(PatientPoll, GoesOnWithFewerDescriptorsThanEntries) {
  const int quiet = eventfd(0, EFD_CLOEXEC);
  const int ready = eventfd(1, EFD_CLOEXEC);
  pollfd both[] = {{quiet, POLLIN, 0}, {ready, POLLIN, 0}};
  const timespec second{1, 0};
  {
    const DescriptorLimit limit(1);
    ASSERT_EQ(poll(both, 2, 0), -1);
    EXPECT_EQ(patient_poll(both, &second), 1);
    EXPECT_EQ(both[0].revents, 0);
    EXPECT_EQ(both[1].revents, POLLIN);
    both[1].fd = -1;
    EXPECT_EQ(patient_poll(both, &second), -1);
    EXPECT_EQ(errno, EINTR);
  }
  {
    const DescriptorLimit limit(0);
    EXPECT_EQ(patient_poll(both, nullptr), 1) << "nobody can tell, but of what is no entry";
    EXPECT_EQ(both[0].revents, POLLIN);
    EXPECT_EQ(both[1].revents, 0);
  }
  both[1].fd = ready;
  EXPECT_EQ(patient_poll(both, &second), 1);
  close(quiet);
  close(ready);
}

}  // namespace
}  // namespace urxe::test::patient_poll_test
