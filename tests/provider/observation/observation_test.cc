// SPDX-License-Identifier: BSD-2-Clause
// A process's file of reports, written and read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/// Gives this process a directory of its own for shared files, if it may: only so many files of
/// failures are kept for a user, and other tests make some.
void own_shared_files() {
  static const bool once [[maybe_unused]] =
      unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") == 0;
}

class Observed : public testing::Test {
 protected:
  void SetUp() override {
    own_shared_files();
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
    kept_.push_back(path_);
    return StatWriter(std::move(file), name(), "udp", clock_now());
  }
  /// The same for no other test that runs at the time.
  static std::string name() { return "observed_" + std::to_string(getpid()); }
  static std::vector<DeviceObservation> own() {
    Observation all = observe(Whose::kThisNamespace);
    std::erase_if(all.devices, [](const DeviceObservation& seen) { return seen.device != name(); });
    return all.devices;
  }

  static std::vector<EndedQueuePair> own_ended() {
    Observation all = observe(Whose::kThisNamespace);
    std::erase_if(all.ended, [](const EndedQueuePair& one) { return one.device.device != name(); });
    return all.ended;
  }
  QueuePair* add_failed(uint32_t qpn) {
    QueuePair* const qp = add(qpn);
    qp->error_cause.reason = ErrorReason::kNak;
    return qp;
  }
  void TearDown() override {
    for (const std::string& path : kept_) unlink(path.c_str());
  }

  Device device_{DeviceConfig{}};
  std::vector<std::string> kept_;  ///< files to remove at the end
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
  writer.tell_memory_packets(3);
  EXPECT_EQ(own()[0].engine, "udp+shm");
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

/// What has failed is told of after its end; what has not is forgotten.
TEST_F(Observed, FailedQueuePairsAreKept) {
  StatWriter writer = open();
  QueuePair* const failed = add_failed(0x10);
  QueuePair* const fine = add(0x11);
  QueuePair* const recovered = add(0x12);
  recovered->last_error.reason = ErrorReason::kNoAnswer;
  writer.publish(device_, clock_now());
  for (QueuePair* const qp : {failed, fine, recovered}) {
    writer.end_queue_pair(device_, qp->place, clock_now());
    device_.destroy_qp(qp);
  }
  EXPECT_TRUE(own()[0].queue_pairs.empty()) << "at once, not with the next report";
  const auto ended = own_ended();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].report.qpn, 0x10U);
  EXPECT_EQ(ended[0].report.cause.reason, ErrorReason::kNak);
  EXPECT_FALSE(ended[0].process_has_ended);
  EXPECT_LE(ended[0].ended, clock_now());
  EXPECT_EQ(ended[1].report.last_error.reason, ErrorReason::kNoAnswer);
}

TEST_F(Observed, TheNewestFailuresAreKept) {
  StatWriter writer = open();
  for (uint32_t i = 0; i < 2 * kEndedRecords; ++i) {
    QueuePair* const qp = add_failed(0x10 + i);
    writer.end_queue_pair(device_, qp->place, Instant{clock_now().ns});
    device_.destroy_qp(qp);
  }
  const auto ended = own_ended();
  ASSERT_EQ(ended.size(), kEndedRecords);
  EXPECT_EQ(ended.back().report.qpn, 0x10 + 2 * kEndedRecords - 1);
  EXPECT_EQ(ended.front().report.qpn, 0x10 + kEndedRecords);
}

TEST_F(Observed, TheFileOfAFailureStays) {
  {
    StatWriter writer = open();
    writer.end_queue_pair(device_, add_failed(0x10)->place, clock_now());
  }
  EXPECT_TRUE(own().empty());
  const auto ended = own_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_FALSE(ended[0].process_has_ended) << "it has only left the device";
  EXPECT_EQ(ended[0].device.pid, static_cast<uint32_t>(getpid()));
}

TEST_F(Observed, FilesOfFailuresGoWithTime) {
  {
    StatWriter writer = open();
    writer.end_queue_pair(device_, add_failed(0x10)->place, clock_now());
    writer.publish(device_, clock_now() - kEndedFileAge - seconds(1));
    writer.end(clock_now() - kEndedFileAge - seconds(1));
  }
  EXPECT_TRUE(own_ended().empty());
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(Observed, FilesOfFailuresAreFew) {
  for (size_t i = 0; i < kMostEndedFiles + 3; ++i) {
    StatWriter writer = open();
    writer.end_queue_pair(device_, add_failed(0x10 + static_cast<uint32_t>(i))->place, clock_now());
  }
  const auto ended = own_ended();
  EXPECT_LE(ended.size(), kMostEndedFiles);
  EXPECT_EQ(ended.back().report.qpn, 0x10 + kMostEndedFiles + 2);
  EXPECT_NE(access(kept_[0].c_str(), F_OK), 0);
}

/// A file that a process was making when it was killed.
TEST_F(Observed, UnfinishedFilesGoWithTime) {
  const StatWriter writer = open();
  const std::string folder = path_.substr(0, path_.rfind('/'));
  const std::string old = folder + "/.old" + std::to_string(getpid());
  const std::string fresh = folder + "/.fresh" + std::to_string(getpid());
  for (const std::string& path : {old, fresh}) {
    std::ofstream(path).flush();
    kept_.push_back(path);
  }
  const timespec past[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), past, 0), 0);
  (void)observe(Whose::kAll);
  EXPECT_NE(access(old.c_str(), F_OK), 0);
  EXPECT_EQ(access(fresh.c_str(), F_OK), 0);
}

TEST_F(Observed, StoppedProcessesAreKnown) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const StatWriter writer(make_stat_file(), name() + "_child", "udp", clock_now());
    (void)!write(pipe_ends[1], "r", 1);
    pause();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  const auto state = [&] {
    for (const DeviceObservation& seen : observe(Whose::kThisNamespace).devices) {
      if (seen.pid == static_cast<uint32_t>(child)) return is_stopped(seen) ? 'T' : 'r';
    }
    return '?';
  };
  EXPECT_EQ(state(), 'r');
  kill(child, SIGSTOP);
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  EXPECT_EQ(state(), 'T');
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
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

TEST_F(Observed, SeesOtherObjects) {
  StatWriter writer = open();
  writer.publish(device_, clock_now());
  ASSERT_EQ(own().size(), 1U);
  EXPECT_EQ(own()[0].counts.domains, 1U);
  EXPECT_EQ(own()[0].counts.completion_queues, 1U);
  EXPECT_TRUE(own()[0].regions.empty());

  std::array<uint8_t, 64> memory{};
  const auto region = device_.register_memory(pd_, memory.data(), memory.size(), 0x5000, 0).value();
  add(0x10);
  writer.publish(device_, clock_now());
  const DeviceObservation seen = own()[0];
  ASSERT_EQ(seen.regions.size(), 1U);
  EXPECT_EQ(seen.regions[0].iova, 0x5000U);
  EXPECT_EQ(seen.regions[0].length, 64U);
  EXPECT_EQ(seen.regions[0].key, region->lkey.value());
  EXPECT_EQ(seen.regions[0].domain, pd_.value());
  ASSERT_EQ(seen.domains.size(), 1U);
  EXPECT_EQ(seen.domains[0].number, pd_.value());
  EXPECT_EQ(seen.domains[0].users, 2U);
  EXPECT_EQ(seen.queue_pairs[0].domain, pd_.value());

  ASSERT_TRUE(device_.deregister_memory(region));
  writer.publish(device_, clock_now());
  EXPECT_TRUE(own()[0].regions.empty());
  EXPECT_EQ(own()[0].counts.regions, 0U);
}

TEST_F(Observed, RegionsBeyondTheRoomAreCounted) {
  StatWriter writer = open();
  std::array<uint8_t, 64> memory{};
  constexpr size_t kMany = kRegionReports + 10;
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(device_.register_memory(pd_, memory.data(), memory.size(), 0, 0));
  }
  writer.publish(device_, clock_now());
  EXPECT_EQ(own()[0].counts.regions, kMany);
  EXPECT_EQ(own()[0].regions.size(), kRegionReports);
}

TEST_F(Observed, QueuesWithoutQueuePairsAreSeen) {
  StatWriter writer = open();
  CompletionQueue* const cq =
      device_.create_cq(30, nullptr, {.ignore_overrun = false, .owner = 5}).value();
  const PdId pd = device_.alloc_pd(5).value();
  SharedReceiveQueue* const srq = device_.create_srq({.pd = pd}).value();
  writer.publish(device_, clock_now());
  DeviceObservation seen = own()[0];
  ASSERT_EQ(seen.completion_queues.size(), 2U);
  const auto queue =
      std::ranges::find(seen.completion_queues, cq->number, &CompletionQueueReport::number);
  ASSERT_NE(queue, seen.completion_queues.end());
  EXPECT_EQ(queue->capacity, cq->capacity());
  EXPECT_EQ(queue->owner, 5U);
  const auto domain = std::ranges::find(seen.domains, pd.value(), &DomainReport::number);
  ASSERT_NE(domain, seen.domains.end());
  EXPECT_EQ(domain->owner, 5U);
  EXPECT_EQ(domain->users, 1U);
  ASSERT_EQ(seen.shared_receive_queues.size(), 1U);
  EXPECT_EQ(seen.shared_receive_queues[0].number, srq->number.value());
  EXPECT_EQ(seen.shared_receive_queues[0].domain, pd.value());
  EXPECT_EQ(seen.shared_receive_queues[0].completion_queue, 0U);
  ASSERT_TRUE(device_.destroy_srq(srq));
  ASSERT_TRUE(device_.resize_cq(*cq, 100));
  writer.publish(device_, clock_now());
  seen = own()[0];
  EXPECT_TRUE(seen.shared_receive_queues.empty());
  EXPECT_TRUE(std::ranges::any_of(seen.completion_queues,
                                  [](const auto& one) { return one.capacity >= 100; }));
}

TEST_F(Observed, QueuePairNamesItsSharedReceiveQueue) {
  StatWriter writer = open();
  SharedReceiveQueue* const srq = device_.create_srq({.pd = pd_}).value();
  QpInit init;
  init.qpn = Qpn(0x20);
  init.pd = pd_;
  init.send_cq = init.recv_cq = cq_;
  init.cap = {4, 0, 1, 0, 0};
  init.srq = srq;
  ASSERT_TRUE(device_.create_qp(init));
  writer.publish(device_, clock_now());
  EXPECT_EQ(own()[0].queue_pairs[0].srq, srq->number.value());
}

TEST_F(Observed, ContextsAreSeen) {
  StatWriter writer = open();
  const std::array<uint32_t, 2> numbers{3, 9};
  writer.tell_contexts(numbers, 70);
  EXPECT_EQ(own()[0].context_count, 70U);
  writer.tell_contexts(numbers, 2);
  EXPECT_EQ(own()[0].contexts, (std::vector<uint64_t>{3, 9}));
}

TEST_F(Observed, IdsOfTheConnectionManagerComeAndGo) {
  StatWriter writer = open();
  CmIdReport report;
  for (uint32_t number = 1; number <= kCmIdReports + 1; ++number) {
    report.number = number;
    writer.tell_cm_id(report);
  }
  EXPECT_EQ(own()[0].cm_id_count, kCmIdReports + 1);
  EXPECT_EQ(own()[0].cm_ids.size(), kCmIdReports);
  writer.forget_cm_id(kCmIdReports + 1);  // which had no room
  for (uint32_t number = 2; number <= kCmIdReports; ++number) writer.forget_cm_id(number);
  writer.forget_cm_id(2);
  report.number = 1;
  report.qpn = 0x77;
  writer.tell_cm_id(report);
  report.number = 5000;
  writer.tell_cm_id(report);
  StatWriter moved = std::move(writer);
  const auto seen = own();
  EXPECT_EQ(seen[0].cm_id_count, 2U);
  ASSERT_EQ(seen[0].cm_ids.size(), 2U);
  EXPECT_EQ(seen[0].cm_ids[0].qpn + seen[0].cm_ids[1].qpn, 2 * 0x77U);
  moved.forget_cm_id(1);
  ASSERT_EQ(own()[0].cm_ids.size(), 1U);
  EXPECT_EQ(own()[0].cm_ids[0].number, 5000U);
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

/// It could not move its queue pairs to those that have ended.
TEST_F(Observed, FailuresOfTheKilledAreKept) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const std::string own_name = name();
  const pid_t child = fork();
  if (child == 0) {
    StatFile file = make_stat_file();
    (void)!write(pipe_ends[1], file.path.c_str(), file.path.size());
    StatWriter writer(std::move(file), own_name, "udp", clock_now());
    add_failed(0x10);
    add(0x11);
    writer.publish(device_, clock_now());
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  char path[256] = {};
  ASSERT_GT(read(pipe_ends[0], path, sizeof path - 1), 0);
  kept_.emplace_back(path);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  const auto ended = own_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].report.qpn, 0x10U);
  EXPECT_TRUE(ended[0].process_has_ended);
  EXPECT_EQ(ended[0].ended, ended[0].device.published);
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
    const bool is_counted = observe(Whose::kThisNamespace).without_room > 0;
    _exit(fine && is_counted ? 0 : 1);
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
