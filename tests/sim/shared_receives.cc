// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/shared_receives.h"

#include "packet/wire/ip/grh.h"
#include "tests/sim/failure.h"
#include "tests/sim/posting.h"

namespace urxe::sim {

SharedReceives::SharedReceives(const Plan& plan, Device& device, Memory& memory, PdId pd,
                               uint32_t number, XrcDomain* domain, CompletionQueue* cq,
                               Random random)
    : plan_(plan),
      device_(device),
      random_(random),
      queue_(create(plan, device, pd, domain, cq)),
      pool_(plan, device, memory, pd,
            {number, plan.srq_depth, plan.max_send + uint32_t{kGrhBytes}, &queue_}, random_.fork(),
            [this](uint64_t wr_id, std::span<const Sge> sges) {
              return post_receive(queue_, wr_id, sges);
            }) {}

SharedReceiveQueue& SharedReceives::create(const Plan& plan, Device& device, PdId pd,
                                           XrcDomain* domain, CompletionQueue* cq) {
  const auto queue = device.create_srq({pd, plan.srq_depth, plan.max_sge, domain, cq, nullptr});
  require(queue.has_value(), [] { return std::string("create_srq failed"); });
  return **queue;
}

void SharedReceives::modify(const ibv_srq_attr& attr, int mask) {
  require(device_.modify_srq(queue_, attr, mask).has_value(),
          [] { return std::string("modify_srq failed"); });
}

void SharedReceives::change() {
  if (random_.percent(90)) return;
  ibv_srq_attr attr{};
  if (random_.percent(50)) {
    attr.max_wr = random_.range32(plan_.srq_depth, plan_.srq_depth * 2);
    return modify(attr, IBV_SRQ_MAX_WR);
  }
  attr.srq_limit = limit_ = random_.range32(0, plan_.srq_depth);
  modify(attr, IBV_SRQ_LIMIT);
}

void SharedReceives::on_limit_reached() {
  require(limit_ != 0, [] { return std::string("a limit that is not armed was reached"); });
  limit_ = 0;
}

void SharedReceives::check_limit() const {
  require(queue_.waiting() >= limit_, [&] {
    return text("%u receives wait, and nothing told of the limit %u", queue_.waiting(), limit_);
  });
}

}  // namespace urxe::sim
