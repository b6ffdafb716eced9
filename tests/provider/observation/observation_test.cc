// SPDX-License-Identifier: BSD-2-Clause
// A process's file of reports, written and read.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "packet/host/clock.h"
#include "provider/observation/stat_reader.h"
#include "provider/observation/stat_writer.h"

namespace urxe::test {
namespace {

class Observed : public testing::Test {
 protected:
  void SetUp() override {
    pd_ = device_.alloc_pd().value();
    cq_ = device_.create_cq(16, nullptr).value();
  }
  QueuePair* add(uint32_t qpn) {
    QpInit init;
    init.qpn = Qpn(qpn);
    init.pd = pd_;
    init.send_cq = init.recv_cq = cq_;
    init.cap = {4, 4, 1, 1, 0};
    return device_.create_qp(init).value();
  }
  StatWriter open() {
    StatFile file = make_stat_file();
    EXPECT_TRUE(file.fd);
    path_ = file.path;
    return StatWriter(std::move(file), name(), "udp", clock_now());
  }
  /// The same for no other test that runs at the time.
  static std::string name() { return "observed_" + std::to_string(getpid()); }
  static std::vector<DeviceObservation> own() {
    Observation all = observe(Whose::kThisNamespace);
    std::erase_if(all.devices, [](const DeviceObservation& seen) { return seen.device != name(); });
    return all.devices;
  }

  Device device_{DeviceConfig{}};
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  std::string path_;
};

TEST_F(Observed, SeesWhatWasPublished) {
  StatWriter writer = open();
  add(0x10);
  add(0x11);
  EXPECT_TRUE(writer.publish(device_, clock_now()));
  const auto seen = own();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(seen[0].program, program_invocation_short_name);
  EXPECT_EQ(seen[0].engine, "udp");
  ASSERT_EQ(seen[0].queue_pairs.size(), 2U);
  EXPECT_EQ(seen[0].queue_pairs[0].qpn, 0x10U);
  EXPECT_EQ(seen[0].queue_pairs[1].qpn, 0x11U);
  EXPECT_EQ(seen[0].queue_pairs[1].send_queue.capacity, 4U);
}

TEST_F(Observed, ADestroyedQueuePairGoes) {
  StatWriter writer = open();
  QueuePair* const first = add(0x10);
  add(0x11);
  writer.publish(device_, clock_now());
  device_.destroy_qp(first);
  writer.publish(device_, clock_now());
  const auto seen = own();
  ASSERT_EQ(seen.size(), 1U);
  ASSERT_EQ(seen[0].queue_pairs.size(), 1U);
  EXPECT_EQ(seen[0].queue_pairs[0].qpn, 0x11U);
}

TEST_F(Observed, ManyTakeSeveralTurns) {
  StatWriter writer = open();
  constexpr uint32_t kMany = 1000;
  for (uint32_t i = 0; i < kMany; ++i) add(0x10 + i);
  int turns = 1;
  while (!writer.publish(device_, clock_now())) ++turns;
  EXPECT_GT(turns, 4);
  const auto seen = own();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].queue_pairs.size(), kMany);
}

TEST_F(Observed, TheFileGoesWithItsWriter) {
  {
    const StatWriter writer = open();
    EXPECT_EQ(own().size(), 1U);
    EXPECT_EQ(access(path_.c_str(), F_OK), 0);
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
  EXPECT_TRUE(own().empty());
}

TEST_F(Observed, AbandonedFilesStay) {
  StatWriter writer = open();
  StatWriter other;
  other = std::move(writer);
  const pid_t child = fork();
  if (child == 0) {
    other.abandon();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(own().size(), 1U) << "the parent's, which its child must leave alone";
}

/// A killed process cannot remove its file.
TEST_F(Observed, FilesOfTheDeadAreRemoved) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    StatWriter writer = open();
    (void)!write(pipe_ends[1], path_.c_str(), path_.size());
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  char path[256] = {};
  ASSERT_GT(read(pipe_ends[0], path, sizeof path - 1), 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  (void)observe(Whose::kAll);
  EXPECT_NE(access(path, F_OK), 0) << path;
}

TEST_F(Observed, AnotherBuildsFilesAreCounted) {
  StatWriter writer = open();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const uint64_t other_size = sizeof(StatRecord) + 8;
  file.seekp(offsetof(StatHeader, record_bytes));
  file.write(reinterpret_cast<const char*>(&other_size), sizeof other_size);
  file.close();
  EXPECT_GE(observe(Whose::kThisNamespace).unreadable, 1U);
  EXPECT_TRUE(own().empty());
}

TEST_F(Observed, NoRoomTellsNothing) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{1024, 1024};
    setrlimit(RLIMIT_FSIZE, &none);
    StatWriter writer(make_stat_file(), name(), "udp", clock_now());
    add(0x10);
    const bool fine = !writer.is_open() && writer.publish(device_, clock_now());
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// What is read while it is being written is one of the states that were published.
TEST_F(Observed, RecordsAreNotTorn) {
  StatWriter writer = open();
  QueuePair* const qp = add(0x10);
  std::atomic<bool> stop{false};
  std::thread publisher([&] {
    while (!stop.load()) {
      ++qp->counters.sent_packets;
      qp->counters.rnr_naks_sent = qp->counters.sent_packets;
      writer.publish(device_, clock_now());
    }
  });
  uint64_t last = 0;
  for (int i = 0; i < 300; ++i) {
    const auto seen = own();
    if (seen.empty() || seen[0].queue_pairs.empty()) continue;
    const QpCounters& counters = seen[0].queue_pairs[0].counters;
    EXPECT_EQ(counters.sent_packets, counters.rnr_naks_sent);
    EXPECT_GE(counters.sent_packets, last);
    last = counters.sent_packets;
  }
  stop.store(true);
  publisher.join();
  EXPECT_GT(last, 0U);
}

}  // namespace
}  // namespace urxe::test
