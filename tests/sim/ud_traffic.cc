// SPDX-License-Identifier: BSD-2-Clause
// The requests that a UD queue pair makes, and the groups it joins.
#include <algorithm>
#include <utility>

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"
#include "tests/sim/ud_side.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kLongest = 4096;  ///< the port's MTU
constexpr uint32_t kControlled = 0x80000000;

}  // namespace

UdSide::UdSide(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, PdId pd,
               ReceivePool& pool, Random random)
    : plan_(plan),
      device_(device),
      qp_(qp),
      pool_(pool),
      source_(plan, device, memory, pd, max_length(plan)),
      random_(random),
      pace_(plan),
      remaining_(plan.requests),
      sends_(qp) {}

uint32_t UdSide::max_length(const Plan& plan) {
  return std::min(plan.max_send, kLongest);
}

/// A few, so that some queue pairs share one; with the top bit and without.
uint32_t UdSide::draw_qkey(Random& random) {
  constexpr uint32_t kKeys[] = {0x11111111, 0x11111111, 0x22222222, 0x80010000, 0x80020000};
  return kKeys[random.below(std::size(kKeys))];
}

void UdSide::connect_model(const DatagramNet& net) {
  net_ = &net;
  memberships_.resize(net.groups.size());
  for (size_t i = 0; i < memberships_.size() * 2; ++i) change_membership();
}

/// Joins a group or leaves it.
void UdSide::change_membership() {
  if (memberships_.empty()) return;
  const auto index = static_cast<size_t>(random_.below(memberships_.size()));
  Membership& membership = memberships_[index];
  const Gid& group = net_->groups[index];
  const auto done =
      membership.now ? device_.detach_multicast(qp_, group) : device_.attach_multicast(qp_, group);
  require(done.has_value(), [] { return std::string("attaching or detaching failed"); });
  membership.now = !membership.now;
  membership.ever = true;
}

/// Whether there is a Q_Key for a work request that gets to who has this one: a controlled one,
/// with the top bit, is replaced by the sender's own.
bool UdSide::reaches(uint32_t other_qkey) const {
  return (other_qkey & kControlled) == 0 || other_qkey == qkey();
}

UdSide::Message UdSide::draw_destination() {
  Message message;
  if (!net_->groups.empty() && random_.percent(40)) {
    message.group = static_cast<size_t>(random_.below(net_->groups.size()));
    message.qkey = draw_qkey(random_);
  } else {
    message.destination = net_->sides[random_.below(net_->sides.size())];
    message.qkey = message.destination->qkey();
    if (random_.percent(5)) message.qkey ^= 0x5;
  }
  if (random_.percent(5)) message.qkey = qkey();
  return message;
}

void UdSide::address(Message& message, SendRequest& request, bool last) {
  ibv_ah_attr ah{};
  ah.is_global = 1;
  ah.port_num = 1;
  ah.grh.hop_limit = message.hop_limit = static_cast<uint8_t>(random_.range(1, 255));
  ah.grh.traffic_class = message.traffic_class = static_cast<uint8_t>(random_.below(64) << 2);
  ah.grh.flow_label = static_cast<uint32_t>(random_.below(1 << 20));
  const bool to_group = message.group != kNoGroup;
  message.to = to_group ? net_->groups[message.group] : message.destination->gid();
  std::copy(message.to.bytes.begin(), message.to.bytes.end(), ah.grh.dgid.raw);
  const auto flow = device_.resolve(ah);
  require(flow.has_value(), [] { return std::string("an address was refused"); });
  const Qpn qpn = to_group ? Qpn{kMulticastQpn} : message.destination->qp_.qpn;
  request.datagram = {*flow, qpn, QKey{message.qkey}};
  if ((message.qkey & kControlled) != 0) message.qkey = qkey();
  if (!last && !to_group && random_.percent(2)) {
    request.datagram.qpn = Qpn{qpn.value() ^ 0x800000};
    message.destination = nullptr;
  }
}

void UdSide::post_one(Message message, bool last) {
  SendRequest request;
  address(message, request, last);
  const uint32_t length = draw_length(random_, 128U << plan_.mtu, max_length(plan_));
  message.bad = !last && random_.percent(3);
  if (message.bad) {
    message.data = source_.draw_bad(random_, std::max(1U, length), request);
  } else {
    message.data = source_.draw(random_, length, qp_.sq.inline_bytes(), request);
  }
  message.has_imm = random_.percent(50);
  request.opcode = message.has_imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  request.immediate_be = message.immediate_be = static_cast<uint32_t>(random_.next());
  const bool must_signal = last || remaining_ == 1 || sends_.size() + 1 >= plan_.sq_depth;
  if (must_signal || random_.percent(plan_.signaled_percent)) request.flags |= IBV_SEND_SIGNALED;
  if (random_.percent(20)) request.flags |= IBV_SEND_SOLICITED;
  request.wr_id = next_wr_id_++;
  const bool signaled = plan_.sq_sig_all || (request.flags & IBV_SEND_SIGNALED) != 0;
  sends_.add({request.wr_id, request.opcode, signaled, message.bad});
  sent_.push_back(std::move(message));
  require(post_send(device_, qp_, request), [] { return std::string("the send queue is full"); });
}

void UdSide::post_some(Instant now) {
  if (sends_.in_error()) {
    if (!sends_.empty()) return;
    require(change_state(device_, qp_, IBV_QPS_RTS, now) == 0,
            [] { return std::string("modify_qp from SQE to RTS failed"); });
    sends_.recovered();
  }
  if (!stopped_ && random_.percent(5)) change_membership();
  uint64_t burst = random_.range(1, 8);
  while (burst-- > 0 && remaining_ > 0 && sends_.size() < plan_.sq_depth &&
         (stopped_ || pace_.may_send(now))) {
    post_one(draw_destination(), false);
    --remaining_;
    pace_.sent(sent_.back().data.size(), now);
  }
}

void UdSide::stop() {
  stopped_ = true;
  // One last signaled request, so that unsignaled ones before it are told of.
  if (remaining_ > 1) remaining_ = 1;
}

void UdSide::post_last() {
  last_from_ = sent_.size();
  for (UdSide* other : net_->sides) post_last_to(*other);
  for (size_t group = 0; group < net_->groups.size(); ++group) post_last_to_group(group);
}

void UdSide::post_last_to(UdSide& other) {
  if (sends_.size() >= plan_.sq_depth || !reaches(other.qkey()) || !other.pool_.promise()) return;
  Message message;
  message.destination = &other;
  message.qkey = other.qkey();
  message.due = {&other};
  post_one(std::move(message), true);
}

/// Only where each member that takes it has a receive for it.
void UdSide::post_last_to_group(size_t group) {
  Message message;
  message.group = group;
  message.qkey = qkey();
  for (UdSide* side : net_->sides) {
    if (!side->memberships_[group].now || side->qkey() != qkey()) continue;
    if (!side->pool_.promise()) return;
    message.due.push_back(side);
  }
  if (sends_.size() < plan_.sq_depth) post_one(std::move(message), true);
}

}  // namespace urxe::sim
