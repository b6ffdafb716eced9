// SPDX-License-Identifier: BSD-2-Clause
// The queues, queue pairs and regions that a host makes.
#include <cstring>
#include <utility>

#include "packet/wire/ip/grh.h"
#include "tests/sim/failure.h"
#include "tests/sim/host.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kSendsAndReceives = 2;

}  // namespace

void Host::create_shared_receives() {
  if (plan_.shared_receives_percent != 0) {
    shared_receives_.emplace_back(plan_, device_, memory_, pd_, 0, nullptr, nullptr,
                                  random_.fork());
  }
  if (plan_.xrc_percent == 0) return;
  domain_ = device_.alloc_domain().value();
  for (uint32_t i = 0; i < kXrcQueues; ++i) {
    shared_receives_.emplace_back(plan_, device_, memory_, pd_, i + 1, domain_, new_cq(),
                                  random_.fork());
  }
}

CompletionQueue* Host::new_cq() {
  if (plan_.shared_cq && !cqs_.empty()) return cqs_.front();
  const uint32_t queues = plan_.shared_cq ? plan_.connections * kSendsAndReceives : 1;
  const uint32_t shared = plan_.srq_depth * (plan_.shared_cq ? 1 + kXrcQueues : 1);
  const auto cq = device_.create_cq((plan_.sq_depth + plan_.rq_depth) * queues + shared, nullptr);
  require(cq.has_value(), [] { return std::string("create_cq failed"); });
  cqs_.push_back(*cq);
  if (plan_.use_notifications) (*cq)->arm(false);
  return *cq;
}

QpInit Host::qp_init(Qpn qpn, ibv_qp_type type) {
  QpInit init;
  init.qpn = qpn;
  init.type = type;
  if (type == IBV_QPT_XRC_RECV) {
    init.domain = domain_;
    return init;
  }
  init.pd = pd_;
  init.send_cq = new_cq();
  init.sq_sig_all = plan_.sq_sig_all;
  init.cap.max_send_wr = plan_.sq_depth;
  init.cap.max_send_sge = plan_.max_sge;
  init.cap.max_inline_data = plan_.max_inline;
  if (type == IBV_QPT_XRC_SEND) return init;
  init.recv_cq = random_.percent(50) ? init.send_cq : new_cq();
  if (random_.percent(plan_.shared_receives_percent)) {
    init.srq = &shared_receives_.front().queue();
    return init;
  }
  init.cap.max_recv_wr = plan_.rq_depth;
  init.cap.max_recv_sge = plan_.max_sge;
  return init;
}

QueuePair& Host::create_qp(Qpn qpn, ibv_qp_type type) {
  const auto qp = device_.create_qp(qp_init(qpn, type));
  require(qp.has_value(), [] { return std::string("create_qp failed"); });
  qps_.push_back(*qp);
  return **qp;
}

ReceivePool& Host::pool_of(QueuePair& qp, uint32_t bytes) {
  if (qp.srq != nullptr) return shared_receives_.front().pool();
  const auto number = static_cast<uint32_t>(pools_.size()) + 1 + kXrcQueues;
  const auto post = [this, &qp](uint64_t wr_id, std::span<const Sge> sges) {
    return post_receive(device_, qp, wr_id, sges);
  };
  return pools_.emplace_back(plan_, device_, memory_, pd_,
                             ReceivePool::Setup{number, plan_.rq_depth, bytes, nullptr},
                             random_.fork(), post);
}

template <class Kind, class... Arguments>
Kind& Host::add(Arguments&&... arguments) {
  auto side = std::make_unique<Kind>(plan_, device_, memory_, std::forward<Arguments>(arguments)...,
                                     random_.fork());
  Kind& added = *side;
  endpoints_.push_back(std::move(side));
  return added;
}

Side& Host::add_side(QueuePair& qp) {
  return add<Side>(qp, qp, pd_, std::vector{&pool_of(qp, plan_.max_send)});
}

Side& Host::add_xrc_side(QueuePair& initiator, QueuePair& target) {
  std::vector<ReceivePool*> pools;
  for (SharedReceives& shared : shared_receives_) {
    if (shared.is_xrc()) pools.push_back(&shared.pool());
  }
  return add<Side>(initiator, target, pd_, std::move(pools));
}

UcSide& Host::add_uc_side(QueuePair& qp) {
  return add<UcSide>(qp, pd_, pool_of(qp, plan_.max_send));
}

UdSide& Host::add_ud_side(QueuePair& qp) {
  return add<UdSide>(qp, pd_, pool_of(qp, UdSide::max_length(plan_) + kGrhBytes));
}

void Host::create_shared_counter() {
  counter_.offset = memory_.reserve(8);
  memory_.begin_flux(counter_.offset, 8);
  std::memset(memory_.at(counter_.offset), 0, 8);
  const auto region = device_.register_memory(pd_, memory_.at(counter_.offset), 8, 0x1000,
                                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  require(region.has_value(), [] { return std::string("register_memory failed"); });
  counter_.region = *region;
}

}  // namespace urxe::sim
