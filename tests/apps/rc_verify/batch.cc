// SPDX-License-Identifier: BSD-2-Clause
#include "batch.h"

#include <arpa/inet.h>

#include <algorithm>

#include "failure.h"

namespace rc_verify {
namespace {

constexpr uint32_t kBarrierDone = 0xd04e;
constexpr uint32_t kBarrierChecked = 0xc4ec;
constexpr uint32_t kLongestChain = 4;

PatternKey local_guard(const Plan& plan) {
  return make_key({plan.key.value, 0x6c});
}
PatternKey remote_guard(const Plan& plan) {
  return make_key({plan.key.value, 0x72});
}

MrPtr register_arena(ibv_pd* pd, const Arena& arena, int access) {
  MrPtr mr(ibv_reg_mr(pd, arena.data(), arena.size(), access));
  if (!mr) system_failed("ibv_reg_mr");
  return mr;
}

void append_list(std::vector<ibv_sge>& list, const Arena& arena, uint32_t lkey,
                 const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces)
    list.push_back({reinterpret_cast<uint64_t>(arena.data() + piece.arena_offset),
                    static_cast<uint32_t>(piece.length), lkey});
}

ibv_wr_opcode request_opcode(Operation operation) {
  switch (operation) {
    case Operation::kSend:
      return IBV_WR_SEND;
    case Operation::kSendImm:
      return IBV_WR_SEND_WITH_IMM;
    case Operation::kWrite:
      return IBV_WR_RDMA_WRITE;
    case Operation::kWriteImm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Operation::kRead:
      return IBV_WR_RDMA_READ;
    case Operation::kCompareSwap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Operation::kFetchAdd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
  }
  return IBV_WR_SEND;
}

uint32_t request_flags(const Message& message) {
  uint32_t flags = 0;
  if (message.signaled) flags |= IBV_SEND_SIGNALED;
  if (message.solicited) flags |= IBV_SEND_SOLICITED;
  if (message.fenced) flags |= IBV_SEND_FENCE;
  if (message.in_line) flags |= IBV_SEND_INLINE;
  return flags;
}

/// ThreadSanitizer does not see that the provider's thread has executed the peer's requests before
/// the peer's word comes by a socket. A call that takes the device's lock shows it.
void show_order_to_sanitizer([[maybe_unused]] ibv_qp* qp) {
#ifdef __SANITIZE_THREAD__
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init);
#endif
}

}  // namespace

Batch::Flow::Flow(Plan outgoing_plan, Plan incoming_plan)
    : outgoing(std::move(outgoing_plan)),
      incoming(std::move(incoming_plan)),
      local(outgoing.local_size, local_guard(outgoing)),
      remote(incoming.remote_size, remote_guard(incoming)) {}

Batch::Batch(Endpoint& endpoint, Control& control, const TestOptions& test, std::string name,
             std::vector<Plan> ours, std::vector<Plan> theirs)
    : endpoint_(endpoint),
      control_(control),
      name_(std::move(name)),
      completions_(endpoint, control, test),
      choice_(make_key({test.seed, ours.front().key.value})) {
  for (size_t i = 0; i < ours.size(); ++i)
    flows_.push_back(std::make_unique<Flow>(std::move(ours[i]), std::move(theirs[i])));
}

void Batch::run() {
  for (uint32_t i = 0; i < flows_.size(); ++i) prepare(i);
  exchange_regions();
  transfer();
  // Once the peer is here too, all that it asked of us has been done.
  control_.barrier(kBarrierDone);
  show_order_to_sanitizer(endpoint_.queue_pair(0).qp.get());
  for (uint32_t i = 0; i < flows_.size(); ++i) check_arenas(i);
  control_.barrier(kBarrierChecked);
  if (completions_.take([](const ibv_wc&, bool) {}))
    mismatch(name_ + ": more completions than work requests");
}

void Batch::prepare(uint32_t index) {
  Flow& flow = *flows_[index];
  flow.local.fill(flow.outgoing.local_before());
  flow.remote.fill(flow.incoming.remote_before());
  flow.local_mr = register_arena(endpoint_.pd(), flow.local, IBV_ACCESS_LOCAL_WRITE);
  flow.remote_mr = register_arena(endpoint_.pd(), flow.remote,
                                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  post_receives(index);
}

void Batch::post_receives(uint32_t index) {
  Flow& flow = *flows_[index];
  for (uint32_t i = 0; i < flow.incoming.messages.size(); ++i) {
    const Message& message = flow.incoming.messages[i];
    if (!takes_receive(message.operation)) continue;
    std::vector<ibv_sge> list;
    if (is_send(message.operation))
      append_list(list, flow.remote, flow.remote_mr->lkey, message.remote);
    ibv_recv_wr request{};
    request.wr_id = i;
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(endpoint_.queue_pair(index).qp.get(), &request, &bad);
    if (error != 0) mismatch(format("%s: ibv_post_recv: error %d", name_.c_str(), error));
    flow.expected_receives.push_back(i);
  }
}

void Batch::exchange_regions() {
  std::vector<Region> ours;
  for (const auto& flow : flows_)
    ours.push_back({reinterpret_cast<uint64_t>(flow->remote.data()), flow->remote_mr->rkey});
  const std::vector<Region> theirs = control_.exchange(ours);
  for (size_t i = 0; i < flows_.size(); ++i) {
    flows_[i]->peer_address = theirs[i].address;
    flows_[i]->peer_rkey = theirs[i].rkey;
  }
}

void Batch::fill_request(ibv_send_wr& request, std::vector<ibv_sge>& list, uint32_t index,
                         uint32_t message_index) const {
  const Flow& flow = *flows_[index];
  const Message& message = flow.outgoing.messages[message_index];
  // The memory of inline data need not be registered: a key that is none must not matter.
  append_list(list, flow.local, message.in_line ? 0xffffffff : flow.local_mr->lkey, message.local);
  request.wr_id = message_index;
  request.opcode = request_opcode(message.operation);
  request.send_flags = request_flags(message);
  request.imm_data = htonl(message.immediate);
  if (is_send(message.operation)) return;
  const uint64_t address = flow.peer_address + message.remote[0].arena_offset;
  if (is_atomic(message.operation)) {
    request.wr.atomic = {address, message.compare_add, message.swap, flow.peer_rkey};
  } else {
    request.wr.rdma = {address, flow.peer_rkey};
  }
}

void Batch::post_chain(uint32_t index, uint32_t first, uint32_t count) {
  std::vector<ibv_send_wr> requests(count);
  std::vector<std::vector<ibv_sge>> lists(count);
  for (uint32_t i = 0; i < count; ++i) {
    fill_request(requests[i], lists[i], index, first + i);
    requests[i].sg_list = lists[i].data();
    requests[i].num_sge = static_cast<int>(lists[i].size());
    requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(endpoint_.queue_pair(index).qp.get(), requests.data(), &bad);
  if (error != 0)
    mismatch(format("%s: QP %u: ibv_post_send of message %u on: error %d", name_.c_str(), index,
                    first, error));
}

void Batch::post_some(uint32_t index, uint32_t count) {
  Flow& flow = *flows_[index];
  const auto total = static_cast<uint32_t>(flow.outgoing.messages.size());
  const uint32_t first = flow.posted;
  const uint32_t end = std::min(total, first + count);
  if (first == end) return;
  for (uint32_t i = first; i < end; ++i) {
    if (flow.outgoing.messages[i].signaled || endpoint_.queue_pair(index).all_signaled)
      flow.expected_sends.push_back(i);
  }
  post_chain(index, first, end - first);
  flow.posted = end;
  // Inline data has been taken: the memory is ours again at once.
  for (uint32_t i = first; i < end; ++i) {
    const Message& message = flow.outgoing.messages[i];
    if (!message.in_line) continue;
    for (const Piece& piece : message.local)
      fill_pattern(flow.outgoing.scribble_key(i), piece.message_offset,
                   {flow.local.data() + piece.arena_offset, piece.length});
  }
}

void Batch::transfer() {
  const Completions::Handler handler = [this](const ibv_wc& completion, bool receive) {
    handle(completion, receive);
  };
  while (!all_posted()) {
    post_some(static_cast<uint32_t>(choice_.below(flows_.size())),
              1 + static_cast<uint32_t>(choice_.below(kLongestChain)));
    if (choice_.one_in(4)) completions_.take(handler);
  }
  while (!all_complete()) completions_.wait(handler, [this] { return outstanding(); });
}

bool Batch::all_posted() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) {
    return flow->posted == flow->outgoing.messages.size();
  });
}

bool Batch::all_complete() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) {
    return flow->expected_sends.empty() && flow->expected_receives.empty();
  });
}

std::string Batch::outstanding() const {
  std::string text = name_ + ": completions are missing:";
  for (size_t i = 0; i < flows_.size(); ++i) {
    const Flow& flow = *flows_[i];
    if (flow.expected_sends.empty() && flow.expected_receives.empty()) continue;
    text += format(" QP %zu: %zu requests, %zu receives;", i, flow.expected_sends.size(),
                   flow.expected_receives.size());
  }
  return text;
}

void Batch::check_arenas(uint32_t index) const {
  const Flow& flow = *flows_[index];
  flow.local.check(flow.outgoing.local_after(),
                   format("%s: QP %u, requester's memory", name_.c_str(), index));
  flow.remote.check(flow.incoming.remote_after(),
                    format("%s: QP %u, responder's memory", name_.c_str(), index));
}

}  // namespace rc_verify
