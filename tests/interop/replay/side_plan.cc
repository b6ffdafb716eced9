// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/side_plan.h"

#include <algorithm>

namespace urxe::replay {
namespace {

constexpr uint8_t kMemberAddress[4] = {192, 168, 77, 200};
constexpr Qpn kMemberQpn{0x7f00};

/// A group's member stays unnamed in a capture.
Endpoint member_of(const Gid& group) {
  const Gid six = Gid::from_ipv6(
      std::to_array<uint8_t>({0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200}).data());
  return {group.is_ipv4() ? Gid::from_ipv4(kMemberAddress) : six, kMemberQpn};
}

QueuePairPlan& queue_pair_of(std::vector<SidePlan>& sides, const Endpoint& self, Service service) {
  auto side = std::find_if(sides.begin(), sides.end(),
                           [&](const SidePlan& plan) { return plan.gid == self.gid; });
  if (side == sides.end()) side = sides.insert(side, {self.gid, {}});
  auto& plans = side->queue_pairs;
  auto plan = std::find_if(plans.begin(), plans.end(),
                           [&](const QueuePairPlan& other) { return other.self == self; });
  if (plan == plans.end()) {
    plan = plans.insert(plan, QueuePairPlan{});
    plan->service = service;
    plan->self = self;
  }
  return *plan;
}

/// A queue pair that is there answers something.
bool nobody_answers(const Talk& talk) {
  return talk.conversation.service == Service::kRc && talk.conversation.responses.empty();
}

void add(std::vector<SidePlan>& sides, const Talk& talk) {
  const Conversation& conversation = talk.conversation;
  const bool to_group = conversation.responder.gid.is_multicast();
  const Endpoint responder =
      to_group ? member_of(conversation.responder.gid) : conversation.responder;
  QueuePairPlan& sender = queue_pair_of(sides, conversation.requester, conversation.service);
  sender.peer = responder;
  sender.mtu = std::max(sender.mtu, conversation.mtu);
  sender.sends.push_back(&talk);
  QueuePairPlan& receiver = queue_pair_of(sides, responder, conversation.service);
  receiver.peer = conversation.requester;
  receiver.mtu = std::max(receiver.mtu, conversation.mtu);
  receiver.receives.push_back(&talk);
  receiver.is_gone = nobody_answers(talk);
  if (to_group) receiver.group = conversation.responder.gid;
}

}  // namespace

std::vector<SidePlan> plan_sides(const Story& story) {
  std::vector<SidePlan> sides;
  for (const Talk& talk : story.talks()) add(sides, talk);
  return sides;
}

}  // namespace urxe::replay
