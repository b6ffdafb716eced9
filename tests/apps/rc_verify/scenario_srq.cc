// SPDX-License-Identifier: BSD-2-Clause
// All queue pairs receive from one shared receive queue: which receive a message gets is known only
// from its completion. The queue is shorter than what may be on its way, so it runs dry now and
// then.
#include <arpa/inet.h>

#include <cstdio>

#include "completions.h"
#include "failure.h"
#include "plan.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr uint64_t kSrqKey = 0x509;
constexpr uint64_t kGuardKey = 0x50a;
constexpr uint32_t kMessagesPerQp = 60;
constexpr uint32_t kWindow = 8;   // Requests outstanding per queue pair.
constexpr uint32_t kSlot = 5000;  // Bytes of a receive, and of the longest message.
constexpr uint32_t kBarrierPosted = 0x5091;
constexpr uint32_t kSrqDone = 0x5092;

struct Expected {
  Operation operation;
  uint32_t length;
  uint32_t immediate;
  PatternKey key;
};

class SharedReceiveQueue {
 public:
  explicit SharedReceiveQueue(Session& session);
  void run();

 private:
  Expected message(uint32_t qp, uint32_t number, bool by_server) const;
  void post_receive(uint64_t slot);
  void post_sends(uint32_t qp);
  void post_send(uint32_t qp, uint32_t number);
  void handle(const ibv_wc& completion, bool receive);
  void check_receive(const ibv_wc& completion, uint32_t qp);
  void check_bytes(const Expected& expected, uint64_t slot, uint32_t qp, uint32_t number) const;
  void expect_untouched(uint64_t slot, uint32_t from) const;
  uint32_t index_of(uint32_t qp_number) const;
  bool done() const;
  std::string outstanding() const;

  uint8_t* slot_at(uint64_t slot) { return slots_.data() + slot * kSlot; }
  const uint8_t* slot_at(uint64_t slot) const { return slots_.data() + slot * kSlot; }
  uint64_t place_of(uint32_t qp, uint32_t number) const {
    return (uint64_t{qp} * kMessagesPerQp + number) * kSlot;
  }
  static PatternKey guard(uint64_t slot) { return make_key({kGuardKey, slot}); }

  Session& session_;
  Completions completions_;
  uint32_t qps_;
  uint32_t to_send_;
  uint32_t to_receive_;
  std::vector<Operation> operations_;
  std::vector<uint8_t> slots_;    // The receives.
  std::vector<uint8_t> written_;  // Where the peer's RDMA WRITEs go: a place for each message.
  std::vector<uint8_t> outgoing_;
  std::vector<uint32_t> posted_;
  std::vector<uint32_t> completed_;
  std::vector<uint32_t> received_;
  MrPtr slots_mr_;
  MrPtr written_mr_;
  MrPtr outgoing_mr_;
  Region peer_{};
};

MrPtr register_bytes(ibv_pd* pd, std::vector<uint8_t>& bytes, int access) {
  MrPtr mr(ibv_reg_mr(pd, bytes.data(), bytes.size(), access));
  if (!mr) system_failed("ibv_reg_mr");
  return mr;
}

std::vector<Operation> wanted_operations(const TestOptions& test) {
  PlanLimits limits;
  limits.operations = test.operations;
  std::vector<Operation> found;
  for (Operation operation : kAllOperations)
    if (takes_receive(operation) && contains(limits, operation)) found.push_back(operation);
  if (found.empty()) setup_failed("srq: none of the operations takes a receive");
  return found;
}

SharedReceiveQueue::SharedReceiveQueue(Session& session)
    : session_(session),
      completions_(session.endpoint, session.control, session.test),
      qps_(session.endpoint.queue_pairs()),
      to_send_(session.is_server && session.test.one_way != 0 ? 0 : kMessagesPerQp),
      to_receive_(!session.is_server && session.test.one_way != 0 ? 0 : kMessagesPerQp),
      operations_(wanted_operations(session.test)),
      slots_(size_t{session.test.messages} * kSlot),
      written_(size_t{qps_} * kMessagesPerQp * kSlot),
      outgoing_(size_t{qps_} * kWindow * kSlot),
      posted_(qps_, 0),
      completed_(qps_, 0),
      received_(qps_, 0) {
  ibv_pd* pd = session.endpoint.pd();
  slots_mr_ = register_bytes(pd, slots_, IBV_ACCESS_LOCAL_WRITE);
  written_mr_ = register_bytes(pd, written_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  outgoing_mr_ = register_bytes(pd, outgoing_, 0);
}

void SharedReceiveQueue::run() {
  for (uint64_t slot = 0; slot < session_.test.messages; ++slot) post_receive(slot);
  const std::vector<Region> ours = {
      {reinterpret_cast<uint64_t>(written_.data()), written_mr_->rkey}};
  peer_ = session_.control.exchange(ours)[0];
  session_.control.barrier(kBarrierPosted);
  for (uint32_t qp = 0; qp < qps_; ++qp) post_sends(qp);
  while (!done())
    completions_.wait([this](const ibv_wc& wc, bool receive) { handle(wc, receive); },
                      [this] { return outstanding(); });
  session_.control.barrier(kSrqDone);
  if (completions_.take([](const ibv_wc&, bool) {}))
    mismatch("srq: more completions than requests");
}

bool SharedReceiveQueue::done() const {
  for (uint32_t qp = 0; qp < qps_; ++qp)
    if (completed_[qp] < to_send_ || received_[qp] < to_receive_) return false;
  return true;
}

std::string SharedReceiveQueue::outstanding() const {
  std::string text = "srq: completions are missing:";
  for (uint32_t qp = 0; qp < qps_; ++qp)
    text += format(" QP %u: %u requests, %u receives;", qp, to_send_ - completed_[qp],
                   to_receive_ - received_[qp]);
  return text;
}

Expected SharedReceiveQueue::message(uint32_t qp, uint32_t number, bool by_server) const {
  const PatternKey key =
      make_key({session_.test.seed, kSrqKey, qp, number, by_server ? 1ULL : 0ULL});
  Choice choice(key);
  const Operation operation = operations_[choice.below(operations_.size())];
  const auto length =
      static_cast<uint32_t>(choice.one_in(3) ? choice.below(10) : choice.below(kSlot + 1));
  return {operation, length, static_cast<uint32_t>(choice.bits()), key};
}

void SharedReceiveQueue::post_receive(uint64_t slot) {
  fill_pattern(guard(slot), 0, {slot_at(slot), kSlot});
  ibv_sge place{reinterpret_cast<uint64_t>(slot_at(slot)), kSlot, slots_mr_->lkey};
  ibv_recv_wr request{slot, nullptr, &place, 1};
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_srq_recv(session_.endpoint.srq(), &request, &bad);
  if (error != 0) mismatch(format("srq: ibv_post_srq_recv: error %d", error));
}

void SharedReceiveQueue::post_sends(uint32_t qp) {
  while (posted_[qp] < to_send_ && posted_[qp] - completed_[qp] < kWindow)
    post_send(qp, posted_[qp]++);
}

void SharedReceiveQueue::post_send(uint32_t qp, uint32_t number) {
  const Expected wanted = message(qp, number, session_.is_server);
  uint8_t* bytes = &outgoing_[(size_t{qp} * kWindow + number % kWindow) * kSlot];
  fill_pattern(wanted.key, 0, {bytes, wanted.length});
  ibv_sge place{reinterpret_cast<uint64_t>(bytes), wanted.length, outgoing_mr_->lkey};
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &place;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  request.opcode = IBV_WR_SEND;
  if (wanted.operation == Operation::kSendImm) request.opcode = IBV_WR_SEND_WITH_IMM;
  if (wanted.operation == Operation::kWriteImm) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.wr.rdma = {peer_.address + place_of(qp, number), peer_.rkey};
  }
  request.imm_data = htonl(wanted.immediate);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(session_.endpoint.queue_pair(qp).qp.get(), &request, &bad);
  if (error != 0) mismatch(format("srq: ibv_post_send: error %d", error));
}

uint32_t SharedReceiveQueue::index_of(uint32_t qp_number) const {
  for (uint32_t i = 0; i < qps_; ++i)
    if (session_.endpoint.queue_pair(i).qp->qp_num == qp_number) return i;
  mismatch(format("srq: completion of an unknown QP number 0x%x", qp_number));
}

void SharedReceiveQueue::handle(const ibv_wc& completion, bool receive) {
  const uint32_t qp = index_of(completion.qp_num);
  if (completion.status != IBV_WC_SUCCESS) {
    const std::string status = ibv_wc_status_str(completion.status);
    if (session_.control.peer_gone(2000)) peer_lost("srq: " + status);
    mismatch(format("srq: QP %u: %s", qp, status.c_str()));
  }
  if (receive) {
    check_receive(completion, qp);
    post_receive(completion.wr_id);
    return;
  }
  if (completion.wr_id != completed_[qp]) mismatch("srq: a send completion out of order");
  ++completed_[qp];
  post_sends(qp);
}

void SharedReceiveQueue::check_receive(const ibv_wc& completion, uint32_t qp) {
  const uint32_t number = received_[qp]++;
  if (number >= to_receive_) mismatch("srq: more messages than were sent");
  if (completion.wr_id >= session_.test.messages) mismatch("srq: an unknown wr_id");
  const Expected expected = message(qp, number, !session_.is_server);
  const std::string where = format("srq: QP %u, message %u (%s, %u bytes)", qp, number,
                                   name_of(expected.operation), expected.length);
  const bool write = is_write(expected.operation);
  if (completion.opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
    mismatch(format("%s: opcode %d", where.c_str(), completion.opcode));
  if (completion.byte_len != expected.length)
    mismatch(format("%s: byte_len %u", where.c_str(), completion.byte_len));
  if (has_immediate(expected.operation) != ((completion.wc_flags & IBV_WC_WITH_IMM) != 0))
    mismatch(format("%s: wc_flags 0x%x", where.c_str(), completion.wc_flags));
  if (has_immediate(expected.operation) && ntohl(completion.imm_data) != expected.immediate)
    mismatch(format("%s: imm_data 0x%x", where.c_str(), ntohl(completion.imm_data)));
  check_bytes(expected, completion.wr_id, qp, number);
}

void SharedReceiveQueue::check_bytes(const Expected& expected, uint64_t slot, uint32_t qp,
                                     uint32_t number) const {
  const bool write = is_write(expected.operation);
  const uint8_t* bytes = write ? written_.data() + place_of(qp, number) : slot_at(slot);
  if (const auto at = first_difference(expected.key, 0, {bytes, expected.length}))
    mismatch(format("srq: QP %u, message %u: its byte %zu is wrong", qp, number, *at));
  expect_untouched(slot, write ? 0 : expected.length);
}

void SharedReceiveQueue::expect_untouched(uint64_t slot, uint32_t from) const {
  if (const auto at = first_difference(guard(slot), from, {slot_at(slot) + from, kSlot - from}))
    mismatch(format("srq: receive %llu: its byte %zu, which is no message's, was written",
                    static_cast<unsigned long long>(slot), from + *at));
}

}  // namespace

void run_shared_receive_queue(Session& session) {
  SharedReceiveQueue(session).run();
  if (!session.quiet)
    std::printf("srq: %u messages on each of %u queue pairs verified\n", kMessagesPerQp,
                session.endpoint.queue_pairs());
}

}  // namespace rc_verify
