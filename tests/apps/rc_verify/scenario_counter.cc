// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdio>

#include "completions.h"
#include "failure.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr uint64_t kAddsPerQp = 200;
constexpr uint32_t kBarrierCounted = 0xadd;
constexpr uint64_t kUnset = ~0ULL;

struct Word {
  uint64_t address;
  uint32_t rkey;
};

class SharedCounter {
 public:
  explicit SharedCounter(Session& session)
      : session_(session),
        completions_(session.endpoint, session.control, session.test),
        returned_(session.endpoint.queue_pairs() * kAddsPerQp, kUnset),
        posted_(session.endpoint.queue_pairs(), 0),
        completed_(session.endpoint.queue_pairs(), 0) {}

  void run();

 private:
  void post(uint32_t qp);
  void handle(const ibv_wc& completion, bool receive);
  void check() const;
  uint32_t index_of(uint32_t qp_number) const;

  Session& session_;
  Completions completions_;
  alignas(8) uint64_t counter_ = 0;
  std::vector<uint64_t> returned_;  // By queue pair and order.
  std::vector<uint64_t> posted_;
  std::vector<uint64_t> completed_;
  MrPtr counter_mr_;
  MrPtr returned_mr_;
  Word peer_{};
};

void SharedCounter::run() {
  ibv_pd* pd = session_.endpoint.pd();
  counter_mr_.reset(ibv_reg_mr(pd, &counter_, sizeof counter_,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
  returned_mr_.reset(ibv_reg_mr(pd, returned_.data(), returned_.size() * sizeof(uint64_t),
                                IBV_ACCESS_LOCAL_WRITE));
  if (!counter_mr_ || !returned_mr_) system_failed("ibv_reg_mr");
  const std::vector<Word> ours = {{reinterpret_cast<uint64_t>(&counter_), counter_mr_->rkey}};
  peer_ = session_.control.exchange(ours)[0];

  const uint64_t depth = std::min<uint64_t>(session_.test.messages, kAddsPerQp);
  const uint32_t qps = session_.endpoint.queue_pairs();
  for (uint64_t i = 0; i < depth; ++i)
    for (uint32_t qp = 0; qp < qps; ++qp) post(qp);
  const auto unfinished = [this] {
    return std::any_of(completed_.begin(), completed_.end(),
                       [](uint64_t n) { return n < kAddsPerQp; });
  };
  while (unfinished())
    completions_.wait([this](const ibv_wc& wc, bool receive) { handle(wc, receive); },
                      [] { return std::string("shared counter: FETCH_AND_ADD completions"); });
  session_.control.barrier(kBarrierCounted);
  check();
}

void SharedCounter::post(uint32_t qp) {
  const uint64_t slot = qp * kAddsPerQp + posted_[qp];
  ibv_sge place{reinterpret_cast<uint64_t>(&returned_[slot]), sizeof(uint64_t), returned_mr_->lkey};
  ibv_send_wr request{};
  request.wr_id = posted_[qp]++;
  request.sg_list = &place;
  request.num_sge = 1;
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic.remote_addr = peer_.address;
  request.wr.atomic.rkey = peer_.rkey;
  request.wr.atomic.compare_add = 1;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(session_.endpoint.queue_pair(qp).qp.get(), &request, &bad);
  if (error != 0) mismatch(format("shared counter: ibv_post_send: error %d", error));
}

uint32_t SharedCounter::index_of(uint32_t qp_number) const {
  for (uint32_t i = 0; i < session_.endpoint.queue_pairs(); ++i)
    if (session_.endpoint.queue_pair(i).qp->qp_num == qp_number) return i;
  mismatch(format("shared counter: completion of an unknown QP number 0x%x", qp_number));
}

void SharedCounter::handle(const ibv_wc& completion, bool receive) {
  if (receive) mismatch("shared counter: a receive completion");
  const uint32_t qp = index_of(completion.qp_num);
  if (completion.status != IBV_WC_SUCCESS) {
    const std::string status = ibv_wc_status_str(completion.status);
    if (session_.control.peer_gone(2000)) peer_lost("shared counter: " + status);
    mismatch("shared counter: " + status);
  }
  if (completion.wr_id != completed_[qp] || completion.opcode != IBV_WC_FETCH_ADD)
    mismatch("shared counter: a completion out of order or with a wrong opcode");
  ++completed_[qp];
  if (posted_[qp] < kAddsPerQp) post(qp);
}

void SharedCounter::check() const {
  if (counter_ != returned_.size())
    mismatch(format("shared counter: %llu after %zu additions",
                    static_cast<unsigned long long>(counter_), returned_.size()));
  for (size_t i = 1; i < returned_.size(); ++i) {
    if (i % kAddsPerQp != 0 && returned_[i - 1] >= returned_[i])
      mismatch("shared counter: one queue pair's values do not ascend");
  }
  std::vector<uint64_t> sorted = returned_;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != i)
      mismatch(format("shared counter: the value %zu did not come back exactly once", i));
  }
}

}  // namespace

void run_shared_counter(Session& session) {
  SharedCounter(session).run();
  if (!session.quiet) std::printf("shared counter: each value came back once\n");
}

}  // namespace rc_verify
