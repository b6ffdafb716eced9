// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/beacon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "packet/host/clock.h"
#include "packet/host/descriptor_message.h"
#include "packet/host/pause.h"

namespace urxe::test::beacon_test {
namespace {

/// A program with an interval timer, as profilers set one.
class Interrupted : public testing::Test {
 protected:
  Interrupted() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++signals; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Interrupted() override {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

  static inline std::atomic<int> signals{0};

 private:
  struct sigaction before_ {};
};

using BeaconAnswer = Interrupted;
using PauseFor = Interrupted;

// The defect: a signal was taken for no answer within a second, and the device was of no use.
TEST_F(BeaconAnswer, IsWaitedForWhateverSignalsCome) {
  const FileDescriptor folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto is_waited_for = [&] {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const BeaconLink link{"name", FileDescriptor(ends[0])};
    const FileDescriptor beacon(ends[1]);
    const int before = signals;
    std::thread answers([&] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      while (signals < before + 5) usleep(100);
      const std::array<uint8_t, 1> byte{};
      const int descriptor = folder.get();
      EXPECT_TRUE(send_message(beacon.get(), byte, std::span(&descriptor, 1)));
    });
    const bool found = receive_directory(link).has_value();
    answers.join();
    return found;
  };
  // The second may be over before a busy machine has run the other thread.
  bool found = false;
  for (int tries = 0; !found && tries < 30; ++tries) found = is_waited_for();
  EXPECT_TRUE(found);
}

TEST_F(PauseFor, LastsWhateverSignalsCome) {
  constexpr Duration kTime = milliseconds(20);
  const int before = signals;
  const Instant begin = clock_now();
  pause_for({0, kTime.ns});
  EXPECT_GE(clock_now() - begin, kTime);
  EXPECT_GT(signals, before);
}

}  // namespace
}  // namespace urxe::test::beacon_test
