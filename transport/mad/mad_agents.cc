// SPDX-License-Identifier: BSD-2-Clause
#include "transport/mad/mad_agents.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr size_t kTransactionIdAt = 8;
constexpr uint32_t kIndexMask = (1U << kCommIdIndexBits) - 1;
constexpr uint64_t kLowerHalf = 0xffffffff;

bool has_method(const MadMethods& methods, uint8_t method) {
  return (methods[method >> 6 & 1] >> (method & 0x3f) & 1) != 0;
}

bool overlap(const MadMethods& a, const MadMethods& b) {
  return (a[0] & b[0]) != 0 || (a[1] & b[1]) != 0;
}

bool is_same_source(const Gid& a, const Gid& b) {
  return source_network(a) == source_network(b);
}

}  // namespace

MadAgentId MadAgents::next_id() {
  for (;;) {
    std::array<uint8_t, 8> number{};
    store_be64(number.data(), ++ids_given_);
    const auto index = static_cast<uint32_t>(siphash(config_.id_secret, number)) & kIndexMask;
    const uint32_t id = config_.id_prefix << kCommIdIndexBits | index;
    if (!agents_.contains(id)) return MadAgentId(id);
  }
}

Expected<MadAgentId, Errno> MadAgents::add(const MadAgentInit& init) {
  if (agents_.size() >= kMaxAgents) return error(ENOMEM);
  for (const auto& [id, agent] : agents_) {
    if (agent.init.key == init.key && overlap(agent.init.methods, init.methods)) {
      return error(EINVAL);
    }
  }
  const MadAgentId id = next_id();
  try {
    agents_[id.value()].init = init;
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
  return id;
}

void MadAgents::remove(MadAgentId id) {
  agents_.erase(id.value());
  std::erase_if(deadlines_,
                [&](const auto& entry) { return transaction_owner(entry.second) == id.value(); });
  std::erase_if(requests_,
                [&](const auto& entry) { return transaction_owner(entry.first) == id.value(); });
}

Expected<void, Errno> MadAgents::send(MadAgentId id, const OutgoingMad& mad,
                                      const MadPatience& patience, Instant now) {
  const auto agent = agents_.find(id.value());
  if (agent == agents_.end()) return error(EINVAL);
  if (outgoing_.size() >= kMaxOutgoing) return error(ENOMEM);
  try {
    if (!is_response(read_mad_header(mad.mad))) {
      return send_request(id, agent->second, mad, patience, now);
    }
    outgoing_.push_back(mad);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
  return {};
}

Expected<void, Errno> MadAgents::send_request(MadAgentId id, Agent& agent, OutgoingMad mad,
                                              const MadPatience& patience, Instant now) {
  uint8_t* const at = mad.mad.data() + kTransactionIdAt;
  const uint64_t transaction = uint64_t{id.value()} << 32 | (load_be64(at) & kLowerHalf);
  store_be64(at, transaction);
  if (patience.timeout <= Duration{}) {
    outgoing_.push_back(mad);
    return {};
  }
  if (requests_.contains(transaction)) return error(EINVAL);
  if (agent.own >= kMaxOwn) return error(ENOMEM);
  const Instant deadline = now + patience.timeout;
  outgoing_.push_back(mad);
  try {
    deadlines_.emplace(deadline, transaction);
    requests_.emplace(transaction, Request{mad, patience, deadline});
  } catch (const std::bad_alloc&) {
    deadlines_.erase({deadline, transaction});
    outgoing_.pop_back();
    throw;
  }
  ++agent.own;
  return {};
}

std::optional<MadEvent> MadAgents::take_event(MadAgentId id) {
  const auto agent = agents_.find(id.value());
  if (agent == agents_.end() || agent->second.events.empty()) return std::nullopt;
  MadEvent event = agent->second.events.front();
  agent->second.events.pop_front();
  const bool is_outcome = event.timed_out || is_response(read_mad_header(event.mad));
  if (is_outcome) --agent->second.own;
  return event;
}

bool MadAgents::wants(MadView mad) const {
  const MadHeader header = read_mad_header(mad);
  return !agents_.empty() && header.base_version == kMadBaseVersion &&
         header.management_class != kCmClass;
}

void MadAgents::receive(MadView mad, const Flow& flow, Qpn remote_qpn) {
  const MadHeader header = read_mad_header(mad);
  if (is_response(header)) {
    receive_response(header, mad, flow, remote_qpn);
  } else {
    receive_request(mad, flow, remote_qpn);
  }
}

void MadAgents::receive_response(const MadHeader& header, MadView mad, const Flow& flow,
                                 Qpn remote_qpn) {
  const auto request = requests_.find(header.transaction_id);
  if (request == requests_.end()) return drop(MadDropReason::kUnknownId);
  const OutgoingMad& sent = request->second.mad;
  if (!(sent.flow.destination == flow.source)) return drop(MadDropReason::kWrongPeer);
  if (read_mad_header(sent.mad).management_class != header.management_class) {
    return drop(MadDropReason::kClass);
  }
  MadEvent event{.flow = flow, .remote_qpn = remote_qpn};
  std::ranges::copy(mad, event.mad.begin());
  end(request, event);
}

/// Takes the request out, and tells its agent how it has ended.
void MadAgents::end(Requests::iterator request, MadEvent event) {
  Agent& agent = agents_.at(transaction_owner(request->first));
  deadlines_.erase({request->second.deadline, request->first});
  requests_.erase(request);
  try {
    agent.events.push_back(event);
    has_news_ = true;
  } catch (const std::bad_alloc&) {
    --agent.own;
    drop(MadDropReason::kNoRoom);
  }
}

MadAgents::Agent* MadAgents::find_agent(const MadHeader& header, MadView mad) {
  const MadAgentKey key = agent_key_of(mad);
  bool has_class = false;
  for (auto& [id, agent] : agents_) {
    if (agent.init.key != key) continue;
    if (has_method(agent.init.methods, header.method)) return &agent;
    has_class = has_class || agent.init.methods != MadMethods{};
  }
  drop(has_class ? MadDropReason::kMethod : MadDropReason::kClass);
  return nullptr;
}

std::optional<MadDropReason> MadAgents::reason_to_drop(const Agent& agent, const Flow& flow) const {
  size_t all = 0;
  size_t of_this = 0;
  for (const MadEvent& event : agent.events) {
    if (event.timed_out || is_response(read_mad_header(event.mad))) continue;
    ++all;
    if (is_same_source(event.flow.source, flow.source)) ++of_this;
  }
  if (of_this >= kMaxWaitingOfOne) return MadDropReason::kOverQuota;
  if (all >= kMaxWaiting) return MadDropReason::kNoRoom;
  return std::nullopt;
}

void MadAgents::receive_request(MadView mad, const Flow& flow, Qpn remote_qpn) {
  Agent* const agent = find_agent(read_mad_header(mad), mad);
  if (agent == nullptr) return;
  if (const auto reason = reason_to_drop(*agent, flow)) return drop(*reason);
  MadEvent event{.flow = flow, .remote_qpn = remote_qpn};
  std::ranges::copy(mad, event.mad.begin());
  try {
    agent->events.push_back(event);
    has_news_ = true;
  } catch (const std::bad_alloc&) {
    drop(MadDropReason::kNoRoom);
  }
}

void MadAgents::advance(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expire(requests_.find(deadlines_.begin()->second), now);
  }
}

/// Sends the request again, or gives up.
void MadAgents::expire(Requests::iterator request, Instant now) {
  Request& waiting = request->second;
  if (waiting.patience.retries == 0) {
    end(request, {.flow = waiting.mad.flow,
                  .remote_qpn = waiting.mad.qpn,
                  .mad = waiting.mad.mad,
                  .timed_out = true,
                  .note = waiting.patience.note});
    return;
  }
  --waiting.patience.retries;
  auto entry = deadlines_.extract({waiting.deadline, request->first});
  waiting.deadline = now + waiting.patience.timeout;
  entry.value().first = waiting.deadline;
  deadlines_.insert(std::move(entry));
  if (outgoing_.size() >= kMaxOutgoing) return;  // as if it had been lost
  try {
    outgoing_.push_back(waiting.mad);
  } catch (const std::bad_alloc&) {
    return;
  }
}

std::optional<Instant> MadAgents::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

const OutgoingMad* MadAgents::take_outgoing() {
  if (outgoing_.empty()) return nullptr;
  taken_ = outgoing_.front();
  outgoing_.pop_front();
  return &taken_;
}

}  // namespace urxe
