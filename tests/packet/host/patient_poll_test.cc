// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/patient_poll.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

namespace urxe::test::patient_poll_test {
namespace {

/// A limit of descriptors, as a sandbox sets it; the former one at the end.
class Limit {
 public:
  explicit Limit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~Limit() { setrlimit(RLIMIT_NOFILE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

// poll(2) then fails at once, and the thread that sleeps by it would take a whole processor.
TEST(PatientPoll, GoesOnWithFewerDescriptorsThanEntries) {
  const int quiet = eventfd(0, EFD_CLOEXEC);
  const int ready = eventfd(1, EFD_CLOEXEC);
  pollfd both[] = {{quiet, POLLIN, 0}, {ready, POLLIN, 0}};
  const timespec second{1, 0};
  {
    const Limit limit(1);
    ASSERT_EQ(poll(both, 2, 0), -1);
    EXPECT_EQ(patient_poll(both, &second), 1);
    EXPECT_EQ(both[0].revents, 0);
    EXPECT_EQ(both[1].revents, POLLIN);
    both[1].fd = -1;
    EXPECT_EQ(patient_poll(both, &second), -1);
    EXPECT_EQ(errno, EINTR);
  }
  {
    const Limit limit(0);
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
