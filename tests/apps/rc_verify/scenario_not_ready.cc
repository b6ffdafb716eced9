// SPDX-License-Identifier: BSD-2-Clause
// The server has no receive posted when the client's requests come. Queue pairs go by twos: on the
// first of two the request waits for as long as it takes; on the second it gives up after
// kRnrRetries attempts. The second was posted after the first: once it has given up, the first has
// been told "not ready" too. Only then does the server post the receives.
#include <arpa/inet.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "completions.h"
#include "failure.h"
#include "plan.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kNotReadyKey = 0x3d1;
constexpr uint32_t kStream = 12;  // Messages that follow each other on a queue pair that waits.
constexpr uint32_t kLength = 3000;
constexpr uint32_t kImmediate = 0x600d600d;
constexpr uint32_t kNotReadyPrepared = 0x3d11;
constexpr uint32_t kBarrierTold = 0x3d12;
constexpr uint32_t kNotReadyDone = 0x3d13;
constexpr std::array kOperations = {Operation::kSend, Operation::kSendImm, Operation::kWriteImm};

class NotReady {
 public:
  explicit NotReady(Session& session);
  void run();

 private:
  void request_all();
  void post_requests(uint32_t qp);
  void wait_for_the_impatient(Clock::time_point start);
  void wait_for_the_patient();
  void serve();
  void post_receive(uint32_t qp, uint32_t number);
  void check_message(const ibv_wc& completion, uint32_t qp, uint32_t number) const;
  void wait_for(const Completions::Handler& handler);

  uint32_t index_of(uint32_t qp_number) const;
  static Operation operation(uint32_t qp) { return kOperations[qp / 2 % kOperations.size()]; }
  static PatternKey key(uint32_t qp, uint32_t number) {
    return make_key({kNotReadyKey, qp, number});
  }
  uint8_t* place(uint32_t qp, uint32_t number) {
    return &memory_[(size_t{qp} * kStream + number) * kLength];
  }
  const uint8_t* place(uint32_t qp, uint32_t number) const {
    return &memory_[(size_t{qp} * kStream + number) * kLength];
  }

  Session& session_;
  Completions completions_;
  uint32_t qps_;
  std::vector<uint8_t> memory_;
  MrPtr mr_;
  Region peer_{};
};

NotReady::NotReady(Session& session)
    : session_(session),
      completions_(session.endpoint, session.control, session.test),
      qps_(session.endpoint.queue_pairs()),
      memory_(size_t{qps_} * kStream * kLength) {
  mr_.reset(ibv_reg_mr(session.endpoint.pd(), memory_.data(), memory_.size(),
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!mr_) system_failed("ibv_reg_mr");
}

void NotReady::run() {
  const std::vector<Region> ours = {{reinterpret_cast<uint64_t>(memory_.data()), mr_->rkey}};
  peer_ = session_.control.exchange(ours)[0];
  session_.control.barrier(kNotReadyPrepared);
  if (session_.is_server) {
    session_.control.barrier(kBarrierTold);
    serve();
  } else {
    const auto start = Clock::now();
    request_all();
    wait_for_the_impatient(start);
    session_.control.barrier(kBarrierTold);
    wait_for_the_patient();
  }
  session_.control.barrier(kNotReadyDone);
}

void NotReady::request_all() {
  for (uint32_t qp = 0; qp < qps_; ++qp) post_requests(qp);
}

void NotReady::post_requests(uint32_t qp) {
  const uint32_t count = qp % 2 == 0 ? kStream : 1;
  for (uint32_t number = 0; number < count; ++number) {
    fill_pattern(key(qp, number), 0, {place(qp, number), kLength});
    ibv_sge list{reinterpret_cast<uint64_t>(place(qp, number)), kLength, mr_->lkey};
    ibv_send_wr request{};
    request.wr_id = number;
    request.sg_list = &list;
    request.num_sge = 1;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(kImmediate + number);
    request.opcode = IBV_WR_SEND;
    if (operation(qp) == Operation::kSendImm) request.opcode = IBV_WR_SEND_WITH_IMM;
    if (operation(qp) == Operation::kWriteImm) {
      request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      const uint64_t offset = static_cast<uint64_t>(place(qp, number) - memory_.data());
      request.wr.rdma = {peer_.address + offset, peer_.rkey};
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(session_.endpoint.queue_pair(qp).qp.get(), &request, &bad) != 0)
      mismatch("rnr: ibv_post_send failed");
  }
}

uint32_t NotReady::index_of(uint32_t qp_number) const {
  for (uint32_t i = 0; i < qps_; ++i)
    if (session_.endpoint.queue_pair(i).qp->qp_num == qp_number) return i;
  mismatch(format("rnr: completion of an unknown QP number 0x%x", qp_number));
}

void NotReady::wait_for(const Completions::Handler& handler) {
  completions_.wait(handler, [] { return std::string("rnr: completions"); });
}

void NotReady::wait_for_the_impatient(Clock::time_point start) {
  uint32_t given_up = 0;
  while (given_up < qps_ / 2)
    wait_for([&](const ibv_wc& completion, bool receive) {
      const uint32_t qp = index_of(completion.qp_num);
      if (receive || qp % 2 == 0) mismatch("rnr: a completion while the receiver is not ready");
      if (completion.status != IBV_WC_RNR_RETRY_EXC_ERR)
        mismatch(format("rnr: %s instead of giving up", ibv_wc_status_str(completion.status)));
      ++given_up;
    });
  // A lower bound, which no load on the machine can break: each attempt waits for the timer.
  const auto least = std::chrono::microseconds(kRnrRetries * kSlowRnrMicroseconds);
  if (Clock::now() - start < least)
    mismatch("rnr: asked again before the receiver's timer was over");
}

void NotReady::wait_for_the_patient() {
  std::vector<uint32_t> completed(qps_, 0);
  uint32_t missing = qps_ / 2 * kStream;
  while (missing > 0)
    wait_for([&](const ibv_wc& completion, bool receive) {
      const uint32_t qp = index_of(completion.qp_num);
      if (completion.status != IBV_WC_SUCCESS)
        mismatch(format("rnr: QP %u: %s", qp, ibv_wc_status_str(completion.status)));
      if (receive || qp % 2 != 0 || completion.wr_id != completed[qp]++)
        mismatch("rnr: a wrong completion of a request");
      --missing;
    });
}

// One receive at a time on each queue pair: the stream behind it finds none, again and again.
void NotReady::serve() {
  std::vector<uint32_t> received(qps_, 0);
  uint32_t missing = qps_ / 2 * kStream;
  for (uint32_t qp = 0; qp < qps_; qp += 2) post_receive(qp, 0);
  while (missing > 0)
    wait_for([&](const ibv_wc& completion, bool receive) {
      const uint32_t qp = index_of(completion.qp_num);
      if (!receive || qp % 2 != 0 || completion.wr_id != received[qp])
        mismatch("rnr: a wrong receive completion");
      check_message(completion, qp, received[qp]++);
      --missing;
      if (received[qp] < kStream) post_receive(qp, received[qp]);
    });
}

void NotReady::post_receive(uint32_t qp, uint32_t number) {
  ibv_sge list{reinterpret_cast<uint64_t>(place(qp, number)), kLength, mr_->lkey};
  ibv_recv_wr request{number, nullptr, &list, operation(qp) == Operation::kWriteImm ? 0 : 1};
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(session_.endpoint.queue_pair(qp).qp.get(), &request, &bad) != 0)
    mismatch("rnr: ibv_post_recv failed");
}

void NotReady::check_message(const ibv_wc& completion, uint32_t qp, uint32_t number) const {
  if (completion.status != IBV_WC_SUCCESS)
    mismatch(format("rnr: QP %u: %s", qp, ibv_wc_status_str(completion.status)));
  if (completion.byte_len != kLength) mismatch(format("rnr: byte_len %u", completion.byte_len));
  const bool immediate = has_immediate(operation(qp));
  if (immediate && ntohl(completion.imm_data) != kImmediate + number)
    mismatch("rnr: wrong immediate data");
  if (const auto at = first_difference(key(qp, number), 0, {place(qp, number), kLength}))
    mismatch(format("rnr: QP %u, message %u: its byte %zu is wrong", qp, number, *at));
}

}  // namespace

void run_not_ready(Session& session) {
  NotReady(session).run();
  if (!session.quiet)
    std::printf("rnr: %u queue pairs gave up; %u messages waited on each other one\n",
                session.endpoint.queue_pairs() / 2, kStream);
}

}  // namespace rc_verify
