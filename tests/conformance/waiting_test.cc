// SPDX-License-Identifier: BSD-2-Clause
// Threads that wait in ibv_get_cq_event(3), which waits as read(2) does.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "tests/conformance/support/fixture.h"
#include "tests/conformance/support/waiter.h"

namespace conformance {
namespace {

constexpr uint32_t kSize = 64;

/// The action of a signal, until the end of the scope.
class Action {
 public:
  Action(int signal, void (*handler)(int), int flags) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal_, &action, &before_);
  }
  ~Action() { sigaction(signal_, &before_, nullptr); }
  Action(const Action&) = delete;
  Action& operator=(const Action&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

std::atomic<int> handled{0};
void count_signal(int /*signal*/) {
  ++handled;
}
sigjmp_buf way_out;
constexpr int kJumped = -2;
void jump_out(int /*signal*/) {
  siglongjmp(way_out, 1);
}

struct Waiting : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    handled = 0;
    channel_.reset(ibv_create_comp_channel(context()));
    ASSERT_NE(channel_, nullptr);
    QpConfig unsignaled;
    unsignaled.sq_sig_all = 0;
    QpConfig with_events;
    with_events.recv_channel = channel_.get();
    connect_pair(unsignaled, with_events);
    if (stopped()) return;
    local_.emplace(left_->pd, kSize);
    target_.emplace(right_->pd, kSize);
  }
  void TearDown() override {
    local_.reset();
    target_.reset();
    left_.reset();
    right_.reset();
    Conformance::TearDown();
  }

  void arm() {
    ASSERT_EQ(Recv(5).data(target_->sge()).post(right_qp()), 0);
    ASSERT_EQ(ibv_req_notify_cq(right_received(), 0), 0);
  }
  /// Without a completion, so that nobody has to poll.
  void send_unseen() { ASSERT_EQ(Send(1).data(local_->sge(0, 8)).post(left_qp()), 0); }
  void take_receive() { expect_completion(right_received(), 5); }

  /// 0, or the errno of ibv_get_cq_event().
  int wait_for_event() {
    ibv_cq* cq = nullptr;
    void* unused = nullptr;
    if (ibv_get_cq_event(channel_.get(), &cq, &unused) != 0) return errno;
    ibv_ack_cq_events(cq, 1);
    return 0;
  }
  /// The next event comes to a thread that waits.
  void expect_event_while_waiting() {
    arm();
    Waiter waiter([this] { return wait_for_event(); });
    send_unseen();
    EXPECT_EQ(waiter.outcome(), 0);
    take_receive();
  }

  /// A thread waits when the signal comes to it; a message follows if `then_sends`. What it ended
  /// with.
  int wait_with_signal(int signal, bool then_sends) {
    arm();
    Waiter waiter([this] { return wait_for_event(); });
    waiter.signal(signal);
    if (then_sends) {
      waiter.expect_sleep();
      send_unseen();
    }
    const int outcome = waiter.outcome();
    if (!then_sends) {  // the event is still to come
      send_unseen();
      EXPECT_EQ(wait_for_event(), 0);
    }
    take_receive();
    return outcome;
  }

  /// A WRITE to the right side's memory, looked for only there.
  void write_and_await(uint8_t seed) {
    local_->fill_pattern(seed);
    ASSERT_EQ(Send(2, IBV_WR_RDMA_WRITE)
                  .data(local_->sge())
                  .remote(target_->address(), target_->rkey())
                  .post(left_qp()),
              0);
    const volatile uint8_t* const last = target_->bytes.data() + kSize - 1;
    EXPECT_TRUE(eventually([&] { return *last == local_->bytes.back(); }));
  }

  ChannelPtr channel_;
  std::optional<Buffer> local_;
  std::optional<Buffer> target_;
};

TEST_F(Waiting, IsWokenEachTime) {
  checks("ibv_get_cq_event(3): blocks until an event comes");
  if (stopped()) return;
  for (int i = 0; i < 10; ++i) expect_event_while_waiting();
}

TEST_F(Waiting, InterruptedByAHandler) {
  checks("signal(7): read(2) fails with EINTR after a handler without SA_RESTART");
  if (stopped()) return;
  const Action action(SIGUSR1, count_signal, 0);
  EXPECT_EQ(wait_with_signal(SIGUSR1, false), EINTR);
  EXPECT_EQ(handled, 1);
  expect_event_while_waiting();
}

TEST_F(Waiting, GoesOnAfterARestartingHandler) {
  checks("signal(7): SA_RESTART");
  if (stopped()) return;
  const Action action(SIGUSR1, count_signal, SA_RESTART);
  EXPECT_EQ(wait_with_signal(SIGUSR1, true), 0);
  EXPECT_EQ(handled, 1);
}

TEST_F(Waiting, GoesOnIfTheSignalIsIgnored) {
  checks("signal(7)");
  if (stopped()) return;
  const Action action(SIGUSR1, SIG_IGN, 0);
  EXPECT_EQ(wait_with_signal(SIGUSR1, true), 0);
}

TEST_F(Waiting, BlockedSignalsStayBlocked) {
  checks("signal(7): a blocked signal waits");
  if (stopped()) return;
  const Action action(SIGUSR1, count_signal, 0);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  EXPECT_EQ(wait_with_signal(SIGUSR1, true), 0);  // the reader inherits the mask
  EXPECT_EQ(handled, 0);
  ASSERT_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
  expect_event_while_waiting();
  EXPECT_EQ(handled, 0);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_EQ(handled, 1);
}

TEST_F(Waiting, HandlerMayJumpOut) {
  checks("signal-safety(7): siglongjmp(3) out of read(2)");
  if (stopped()) return;
  arm();
  const Action action(SIGUSR1, jump_out, 0);
  Waiter waiter([this] { return sigsetjmp(way_out, 1) == 0 ? wait_for_event() : kJumped; });
  waiter.signal(SIGUSR1);
  EXPECT_EQ(waiter.outcome(), kJumped);
  send_unseen();
  EXPECT_EQ(wait_for_event(), 0);
  take_receive();
  expect_event_while_waiting();
}

TEST_F(Waiting, CanBeCancelled) {
  checks("pthreads(7): read(2) is a cancellation point");
  if (stopped()) return;
  for (int i = 0; i < 3; ++i) {
    Waiter([this] { return wait_for_event(); }).cancel();
    expect_event_while_waiting();
  }
}

/// If it ended in the middle of a poll, it would leave the device locked.
TEST_F(Waiting, AThreadThatPollsIsCancelledBetweenTwoPolls) {
  checks("pthreads(7), Cancellation points: ibv_poll_cq(3) is not among them");
  if (stopped()) return;
  constexpr int kThreads = 200;
  for (int i = 0; i < kThreads; ++i) {
    std::thread poller([this] {
      for (ibv_wc wc{};; pthread_testcancel()) ibv_poll_cq(right_received(), 1, &wc);
    });
    usleep(static_cast<useconds_t>(i));
    pthread_cancel(poller.native_handle());
    poller.join();
  }
  expect_event_while_waiting();
}

// As above, of a thread that makes objects, posts, and ends the objects again. Expect: all of them
// ended.
TEST_F(Waiting, AThreadThatMakesObjectsIsCancelledBetweenTwoRounds) {
  checks("pthreads(7), Cancellation points: the functions of libibverbs are not among them");
  if (stopped()) return;
  constexpr int kThreads = 50;
  const PdPtr pd(ibv_alloc_pd(context()));
  ASSERT_NE(pd, nullptr);
  const QpConfig config;
  std::atomic<int> failures{0};
  for (int i = 0; i < kThreads; ++i) {
    std::thread maker([&] {
      for (;; pthread_testcancel()) {
        std::array<uint8_t, 256> bytes{};
        ibv_mr* const mr = ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE);
        ibv_cq* const cq = ibv_create_cq(context(), 8, nullptr, nullptr, 0);
        ibv_qp* const qp = Endpoint::create(device_, config, pd.get(), cq, cq);
        ibv_sge sge{reinterpret_cast<uintptr_t>(bytes.data()), bytes.size(), mr->lkey};
        if (to_init(device_, qp, config) != 0 || Recv(1).data(sge).post(qp) != 0) ++failures;
        if (to_state(qp, IBV_QPS_ERR) != 0 || ibv_destroy_qp(qp) != 0) ++failures;
        if (ibv_destroy_cq(cq) != 0 || ibv_dereg_mr(mr) != 0) ++failures;
      }
    });
    usleep(static_cast<useconds_t>(10 * i));
    pthread_cancel(maker.native_handle());
    maker.join();
  }
  EXPECT_EQ(failures.load(), 0);
  expect_event_while_waiting();
}

TEST_F(Waiting, EachThreadGetsItsOwnEvents) {
  checks("ibv_get_cq_event(3): two channels");
  if (stopped()) return;
  const ChannelPtr other(ibv_create_comp_channel(context()));
  ASSERT_NE(other, nullptr);
  Waiter idle([&] {
    ibv_cq* cq = nullptr;
    void* unused = nullptr;
    return ibv_get_cq_event(other.get(), &cq, &unused);  // until it is cancelled
  });
  for (int i = 0; i < 3; ++i) expect_event_while_waiting();
  idle.expect_sleep();
  idle.cancel();
  for (int i = 0; i < 3; ++i) expect_event_while_waiting();
}

TEST_F(Waiting, PollingTheDescriptorInstead) {
  checks("ibv_get_cq_event(3): EXAMPLES, poll(2) on the channel's descriptor");
  if (stopped()) return;
  expect_event_while_waiting();
  for (int i = 0; i < 3; ++i) {
    arm();
    send_unseen();
    EXPECT_TRUE(readable(channel_->fd, kPatience));
    EXPECT_EQ(wait_for_event(), 0);
    take_receive();
  }
}

TEST_F(Waiting, PeersAreServedMeanwhile) {
  checks("10.7: a target of RDMA does nothing for it");
  if (stopped()) return;
  expect_event_while_waiting();
  Waiter idle([this] { return wait_for_event(); });  // until it is cancelled
  for (uint64_t i = 0; i < 20; ++i) {
    write_and_await(static_cast<uint8_t>(i + 1));
    idle.expect_sleep();
  }
  idle.cancel();
}

TEST_F(Waiting, PeersAreServedAfterwards) {
  checks("10.7: a target of RDMA does nothing for it");
  if (stopped()) return;
  for (uint64_t i = 0; i < 5; ++i) {
    expect_event_while_waiting();
    write_and_await(static_cast<uint8_t>(i + 101));
  }
}

}  // namespace
}  // namespace conformance
