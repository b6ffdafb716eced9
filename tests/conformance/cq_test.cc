// SPDX-License-Identifier: BSD-2-Clause
// Completion queues, completion channels.
#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "tests/conformance/support/fixture.h"

namespace conformance::cq_test {
namespace {

constexpr uint32_t kSize = 64;

struct Cq : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    channel_.reset(ibv_create_comp_channel(context()));
    ASSERT_NE(channel_, nullptr);
  }
  void TearDown() override {
    left_.reset();
    right_.reset();
    Conformance::TearDown();
  }
  /// The right side's receives go to the channel.
  void connect_with_events() {
    QpConfig with_events;
    with_events.recv_channel = channel_.get();
    connect_pair(QpConfig{}, with_events);
  }
  /// One message; both completions are polled.
  void exchange(unsigned flags) {
    Buffer local(left_->pd, kSize);
    Buffer target(right_->pd, kSize);
    ASSERT_EQ(Recv(5).data(target.sge()).post(right_qp()), 0);
    ASSERT_EQ(Send(1).data(local.sge(0, 8)).flags(flags).post(left_qp()), 0);
    expect_completion(left_done(), 1);
    expect_completion(right_received(), 5);
  }
  bool event_waits() { return readable(channel_->fd, std::chrono::milliseconds{0}); }
  void expect_cq_event(ibv_cq* expected) {
    ASSERT_TRUE(readable(channel_->fd, kPatience)) << "no completion event came";
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &cq_context), 0);
    EXPECT_EQ(cq, expected);
    EXPECT_EQ(cq_context, expected->cq_context);
    ibv_ack_cq_events(cq, 1);
  }

  ChannelPtr channel_;
};

TEST_F(Cq, SizeIsAtLeastWhatWasAsked) {
  checks("ibv_create_cq(3)");
  for (const int entries : {1, 2, 3, 100, 1000, 4097}) {
    int mark = 0;
    const CqPtr cq(ibv_create_cq(context(), entries, &mark, channel_.get(), 0));
    ASSERT_NE(cq, nullptr) << entries;
    EXPECT_GE(cq->cqe, entries);
    EXPECT_EQ(cq->cq_context, &mark);
    EXPECT_EQ(cq->channel, channel_.get());
    EXPECT_EQ(cq->context, context());
  }
}

TEST_F(Cq, SizesThatCannotBe) {
  checks("ibv_create_cq(3): cqe");
  for (const int entries : {0, -1, device_.attr.orig_attr.max_cqe + 1}) {
    errno = 0;
    EXPECT_EQ(create_cq(entries), nullptr) << entries;
    EXPECT_EQ(errno, EINVAL) << entries;
  }
}

TEST_F(Cq, CompletionVectors) {
  checks("ibv_create_cq(3): comp_vector from 0 to context->num_comp_vectors - 1");
  for (int vector = 0; vector < context()->num_comp_vectors; ++vector)
    EXPECT_NE(CqPtr(ibv_create_cq(context(), 16, nullptr, channel_.get(), vector)), nullptr);
  for (const int vector : {-1, context()->num_comp_vectors}) {
    errno = 0;
    EXPECT_EQ(CqPtr(ibv_create_cq(context(), 16, nullptr, channel_.get(), vector)), nullptr);
    EXPECT_EQ(errno, EINVAL) << vector;
  }
}

TEST_F(Cq, EmptyPollGivesNothing) {
  checks("ibv_poll_cq(3)");
  const CqPtr cq = create_cq();
  expect_empty(cq.get());
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq.get(), 0, &wc), 0);
}

TEST_F(Cq, PollTakesNoMoreThanAsked) {
  checks("ibv_poll_cq(3): num_entries; completions in order");
  connect_pair();
  if (stopped()) return;
  constexpr int kCount = 20;
  for (int i = 0; i < kCount; ++i)
    ASSERT_EQ(Send(static_cast<uint64_t>(i), IBV_WR_RDMA_WRITE).remote(0, 0).post(left_qp()), 0);
  int seen = 0;
  ASSERT_TRUE(eventually([&] {
    std::vector<ibv_wc> wcs(3);
    const int n = ibv_poll_cq(left_done(), 3, wcs.data());
    EXPECT_LE(n, 3);
    for (int i = 0; i < n; ++i)
      EXPECT_EQ(wcs[static_cast<size_t>(i)].wr_id, static_cast<uint64_t>(seen++));
    return seen == kCount;
  }));
}

TEST_F(Cq, BusyWithAQueuePair) {
  checks("ibv_create_cq(3): ibv_destroy_cq() fails if any queue pair is associated");
  connect_pair();
  if (stopped()) return;
  EXPECT_EQ(ibv_destroy_cq(left_done()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(left_received()), EBUSY);
}

TEST_F(Cq, ResizeUpAndDown) {
  checks("ibv_resize_cq(3)");
  connect_pair();
  if (stopped()) return;
  constexpr uint64_t kCount = 10;
  for (uint64_t id = 0; id < kCount; ++id)
    ASSERT_EQ(Send(id, IBV_WR_RDMA_WRITE).remote(0, 0).post(left_qp()), 0);
  expect_completion(left_done(), 0);
  const int result = ibv_resize_cq(left_done(), 1000);
  if (!need(!is_unsupported(result), "ibv_resize_cq")) return;
  ASSERT_EQ(result, 0);
  EXPECT_GE(left_done()->cqe, 1000);
  for (uint64_t id = 1; id < kCount; ++id) expect_completion(left_done(), id);
  ASSERT_EQ(ibv_resize_cq(left_done(), 16), 0);
  EXPECT_GE(left_done()->cqe, 16);
  ASSERT_EQ(Send(77, IBV_WR_RDMA_WRITE).remote(0, 0).post(left_qp()), 0);
  expect_completion(left_done(), 77);
}

TEST_F(Cq, ResizeToWhatCannotBe) {
  checks("ibv_resize_cq(3): cqe must be large enough for what is in the queue");
  connect_pair();
  if (stopped()) return;
  const int probe = ibv_resize_cq(left_done(), 300);
  if (!need(!is_unsupported(probe), "ibv_resize_cq")) return;
  EXPECT_EQ(ibv_resize_cq(left_done(), device_.attr.orig_attr.max_cqe + 1), EINVAL);
  EXPECT_EQ(ibv_resize_cq(left_done(), 0), EINVAL);
}

TEST_F(Cq, ResizeBelowWhatIsQueued) {
  checks("ibv_resize_cq(3): fewer entries than completions waiting");
  QpConfig deep;
  deep.cap.max_send_wr = 64;
  connect_pair(deep);
  if (stopped()) return;
  for (uint64_t id = 0; id < 64; ++id)
    ASSERT_EQ(Send(id, IBV_WR_RDMA_WRITE).remote(0, 0).post(left_qp()), 0);
  // The last one done says that all are in the queue: it is fenced by a message to the peer.
  Buffer inbox(right_->pd, kSize);
  ASSERT_EQ(Recv(5).data(inbox.sge()).post(right_qp()), 0);
  expect_completion(left_done(), 0);
  ASSERT_EQ(Send(64).post(left_qp()), 0);
  expect_completion(right_received(), 5);
  const int result = ibv_resize_cq(left_done(), 1);
  if (!need(!is_unsupported(result), "ibv_resize_cq")) return;
  EXPECT_TRUE(result == 0 || result == EINVAL) << result;
  for (uint64_t id = 1; id <= 64; ++id) expect_completion(left_done(), id);
}

TEST_F(Cq, OverflowIsAnEventAndEndsTheQueuePair) {
  checks("ibv_get_async_event(3): IBV_EVENT_CQ_ERR (CQ overrun); IBTA 11.6.3.2");
  QpConfig narrow;
  narrow.cq_entries = 1;
  make_pair(narrow, QpConfig{});
  if (stopped()) return;
  const auto entries = static_cast<uint32_t>(left_done()->cqe);
  if (!need_if_any(entries < 4096, "small completion queues")) return;
  narrow.cap.max_send_wr = entries + 8;
  make_pair(narrow, QpConfig{});
  if (stopped()) return;
  left_->connect_to(right_->number());
  right_->connect_to(left_->number());
  for (uint64_t id = 0; id < entries + 8; ++id)
    ASSERT_EQ(Send(id, IBV_WR_RDMA_WRITE).remote(0, 0).post(left_qp()), 0);
  std::set<ibv_event_type> seen;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(readable(context()->async_fd, kPatience)) << "event " << i;
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context(), &event), 0);
    if (event.event_type == IBV_EVENT_CQ_ERR) {
      EXPECT_EQ(event.element.cq, left_done());
    } else {
      EXPECT_EQ(event.element.qp, left_qp());
    }
    seen.insert(event.event_type);
    ibv_ack_async_event(&event);
  }
  EXPECT_EQ(seen, (std::set<ibv_event_type>{IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL}));
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_ERR);
}

TEST_F(Cq, NoEventWithoutARequest) {
  checks("ibv_req_notify_cq(3)");
  connect_with_events();
  if (stopped()) return;
  exchange(IBV_SEND_SOLICITED);
  EXPECT_FALSE(event_waits());
}

TEST_F(Cq, OneEventForOneRequest) {
  checks("ibv_req_notify_cq(3): a request is good for one event");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  expect_cq_event(right_received());
  exchange(0);
  EXPECT_FALSE(event_waits());
}

TEST_F(Cq, TwoRequestsGiveOneEvent) {
  checks("ibv_req_notify_cq(3)");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  exchange(0);
  expect_cq_event(right_received());
  EXPECT_FALSE(event_waits());
}

TEST_F(Cq, SolicitedOnly) {
  checks("ibv_req_notify_cq(3): solicited_only");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  exchange(0);
  EXPECT_FALSE(event_waits());
  exchange(IBV_SEND_SOLICITED);
  expect_cq_event(right_received());
}

TEST_F(Cq, SolicitedWriteWithImmediate) {
  checks("ibv_post_send(3): IBV_SEND_SOLICITED is valid for Send and RDMA Write with immediate");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).post(right_qp()), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  Send write(1, IBV_WR_RDMA_WRITE_WITH_IMM);
  ASSERT_EQ(write.imm(1).remote(0, 0).flags(IBV_SEND_SOLICITED).post(left_qp()), 0);
  expect_completion(right_received(), 5);
  expect_cq_event(right_received());
}

TEST_F(Cq, SolicitedOnlyWakesForErrors) {
  checks("ibv_req_notify_cq(3): completions with error count as solicited");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).post(right_qp()), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  ASSERT_EQ(to_state(right_qp(), IBV_QPS_ERR), 0);
  expect_cq_event(right_received());
  expect_completion(right_received(), 5, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Cq, RequestForAnyIsNotWeakened) {
  checks("IBTA 11.4.2.2: a request for the next completion outlasts one for solicited only");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  exchange(0);
  expect_cq_event(right_received());
}

TEST_F(Cq, RequestForSolicitedIsWidened) {
  checks("IBTA 11.4.2.2");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  expect_cq_event(right_received());
}

TEST_F(Cq, SendCompletionsWakeToo) {
  checks("ibv_req_notify_cq(3)");
  QpConfig with_events;
  with_events.send_channel = channel_.get();
  connect_pair(with_events, QpConfig{});
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(left_done(), 0), 0);
  exchange(0);
  expect_cq_event(left_done());
}

TEST_F(Cq, OneChannelForSeveralQueues) {
  checks("ibv_create_comp_channel(3), ibv_get_cq_event(3)");
  QpConfig with_events;
  with_events.send_channel = with_events.recv_channel = channel_.get();
  connect_pair(with_events);
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(left_done(), 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  std::set<ibv_cq*> woken;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(readable(channel_->fd, kPatience));
    ibv_cq* cq = nullptr;
    void* unused = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &unused), 0);
    ibv_ack_cq_events(cq, 1);
    woken.insert(cq);
  }
  EXPECT_EQ(woken, (std::set<ibv_cq*>{left_done(), right_received()}));
}

TEST_F(Cq, ChannelCanBeNonBlocking) {
  checks("ibv_get_cq_event(3): non-blocking mode");
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  ASSERT_EQ(::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  errno = 0;
  EXPECT_EQ(ibv_get_cq_event(channel_.get(), &cq, &unused), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Cq, ChannelIsBusyWithAQueue) {
  checks("ibv_create_comp_channel(3): destroy fails if any queue is associated");
  const CqPtr cq = create_cq(16, channel_.get());
  EXPECT_EQ(ibv_destroy_comp_channel(channel_.get()), EBUSY);
}

TEST_F(Cq, EventsAcknowledgedInOne) {
  checks("ibv_get_cq_event(3): ibv_ack_cq_events() for several events at once");
  connect_with_events();
  if (stopped()) return;
  constexpr unsigned kCount = 5;
  for (unsigned i = 0; i < kCount; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
    exchange(0);
    ASSERT_TRUE(readable(channel_->fd, kPatience));
    ibv_cq* cq = nullptr;
    void* unused = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &unused), 0);
  }
  ibv_ack_cq_events(right_received(), kCount);
}

TEST_F(Cq, DestroyWaitsForTheAcknowledgement) {
  checks("ibv_get_cq_event(3): ibv_destroy_cq() waits until all events are acknowledged");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  ASSERT_TRUE(readable(channel_->fd, kPatience));
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &unused), 0);
  right_->qp.reset();
  std::atomic<bool> acknowledged{false};
  bool in_order = false;
  std::thread destroyer([&] {
    right_->recv_cq.reset();
    in_order = acknowledged.load();
  });
  // Time enough for a destroyer that does not wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  acknowledged = true;
  ibv_ack_cq_events(cq, 1);
  destroyer.join();
  EXPECT_TRUE(in_order);
}

TEST_F(Cq, UnreadEventGoesWithItsQueue) {
  checks("ibv_create_cq(3): ibv_destroy_cq() with an event that nobody has read");
  connect_with_events();
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  exchange(0);
  ASSERT_TRUE(readable(channel_->fd, kPatience));
  right_->qp.reset();
  right_->recv_cq.reset();
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  ASSERT_EQ(::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel_.get(), &cq, &unused), -1);
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

/// Limits the number of descriptors for a while.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(size_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit small = before_;
    small.rlim_cur = most;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  }
  ~DescriptorLimit() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(Cq, DestroyedChannelsGiveTheirDescriptorsBack) {
  checks("ibv_destroy_comp_channel(3)");
  constexpr size_t kChannels = 200;
  const size_t before = open_descriptors();
  std::vector<ChannelPtr> channels;
  const auto make_channels = [&] {
    for (size_t i = 0; i < kChannels; ++i) {
      channels.emplace_back(ibv_create_comp_channel(context()));
      ASSERT_NE(channels.back(), nullptr) << std::strerror(errno) << ", channel " << i;
    }
  };
  make_channels();
  const DescriptorLimit limit(open_descriptors() + 10);
  for (int round = 0; round < 3 && !HasFatalFailure(); ++round) {
    channels.clear();
    make_channels();
  }
  channels.clear();
  EXPECT_LT(open_descriptors(), before + kChannels * 3 / 2) << "some may be noticed later";
}

// A server whose clients leave, one after the other.
TEST_F(Cq, ChannelsGiveTheirDescriptorsBackAsTheirQueuesAreDestroyed) {
  checks("ibv_destroy_comp_channel(3)");
  constexpr size_t kClients = 100;
  constexpr size_t kNoticedLater = 16;
  const size_t before = open_descriptors();
  std::vector<std::pair<ChannelPtr, CqPtr>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    ChannelPtr channel(ibv_create_comp_channel(context()));
    ASSERT_NE(channel, nullptr) << std::strerror(errno);
    CqPtr cq(ibv_create_cq(context(), 1, nullptr, channel.get(), 0));
    ASSERT_NE(cq, nullptr) << std::strerror(errno);
    clients.emplace_back(std::move(channel), std::move(cq));
  }
  while (!clients.empty()) {
    clients.back().second.reset();
    clients.pop_back();
  }
  EXPECT_LE(open_descriptors(), before + kNoticedLater);
}

TEST_F(Cq, ChannelsLeaveNoDescriptorsBehindWhenTheDeviceIsClosed) {
  checks("ibv_close_device(3)");
  const auto make_channels = [] {
    const Device other = Device::open();
    std::vector<ChannelPtr> channels;
    for (int i = 0; i < 50; ++i) {
      channels.emplace_back(ibv_create_comp_channel(other.context.get()));
      EXPECT_NE(channels.back(), nullptr);
    }
    channels.clear();  // before the device is closed
  };
  make_channels();
  const size_t before = open_descriptors();
  make_channels();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Cq, ChannelOfAnotherContext) {
  checks("ibv_create_cq(3): channel of the same context");
  const Device other = Device::open();
  ASSERT_NE(other.context, nullptr);
  const ChannelPtr channel(ibv_create_comp_channel(other.context.get()));
  ASSERT_NE(channel, nullptr);
  EXPECT_EQ(ibv_create_cq(context(), 8, nullptr, channel.get(), 0), nullptr);
}

}  // namespace
}  // namespace conformance::cq_test
