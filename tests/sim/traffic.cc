// SPDX-License-Identifier: BSD-2-Clause
// The requests a side makes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/failure.h"
#include "tests/sim/side.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kWriteSlots = 4;
constexpr uint32_t kReadBuffers = 3;
constexpr uint32_t kWords = 4;

}  // namespace

Side::Side(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, QueuePair& responder,
           PdId pd, std::vector<ReceivePool*> pools, Random random)
    : plan_(plan),
      device_(device),
      memory_(memory),
      qp_(qp),
      responder_(responder),
      random_(random),
      pools_(std::move(pools)),
      source_(plan, device, memory, pd, std::max(plan.max_send, plan.max_rdma)),
      remaining_(plan.requests) {
  result_count_ = plan.sq_depth;
  const size_t local_size = (plan.max_rdma + 64) * kReadBuffers + result_count_ * 8;
  const size_t local = memory.reserve(local_size);
  local_ = must_register_local(device, memory, pd, local, local_size);
  result_offset_ = local;
  size_t next = local + result_count_ * 8;
  for (uint32_t i = 0; i < kReadBuffers; ++i, next += plan.max_rdma + 40) {
    read_buffers_.push_back({next, 0});
  }
  create_area(pd);
  if (pools_[0]->srq() != nullptr) return;
  pools_[0]->set_next_length([this](size_t ahead) -> std::optional<uint32_t> {
    if (ahead >= incoming_.size()) return std::nullopt;
    const Message& message = incoming_[ahead];
    return message.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 0 : message.length;
  });
}

void Side::create_area(PdId pd) {
  area_.constant_size = plan_.max_rdma + 2048;
  area_.constant_offset = memory_.reserve(area_.constant_size);
  area_.constant_va = random_.next() >> 2;
  area_.constant = must_register(device_, memory_, pd, area_.constant_offset, area_.constant_size,
                                 area_.constant_va, IBV_ACCESS_REMOTE_READ);
  const uint32_t slot_size = plan_.max_rdma + 64;
  const size_t writable = memory_.reserve(size_t{slot_size} * kWriteSlots);
  const uint64_t writable_va = random_.percent(20) ? 0 : random_.next() >> 2;
  area_.writable =
      must_register(device_, memory_, pd, writable, size_t{slot_size} * kWriteSlots, writable_va,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_MW_BIND | kAccessFlushGlobal);
  const auto window = device_.alloc_window(pd, IBV_MW_TYPE_2);
  require(window.has_value(), [] { return std::string("alloc_window failed"); });
  area_.window.window = *window;
  area_.window.key = (*window)->rkey;
  for (uint32_t i = 0; i < kWriteSlots; ++i) {
    RemoteArea::Slot slot;
    slot.offset = writable + size_t{i} * slot_size;
    slot.va = writable_va + uint64_t{i} * slot_size;
    slot.future = memory_.expected(slot.offset, slot_size);
    area_.slots.push_back(std::move(slot));
  }
  area_.atomic_offset = memory_.reserve(kWords * 8);
  area_.atomic_va = (random_.next() >> 2) & ~uint64_t{7};
  area_.atomic = must_register(device_, memory_, pd, area_.atomic_offset, kWords * 8,
                               area_.atomic_va, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  memory_.begin_flux(area_.atomic_offset, kWords * 8);
  for (uint32_t i = 0; i < kWords; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, memory_.at(area_.atomic_offset + i * 8), 8);
    area_.words.push_back(value);
  }
}

void Side::connect_model(Side& peer, SharedCounter* peer_counter) {
  peer_ = &peer;
  peer_counter_ = peer_counter;
}

void Side::draw_source(Operation& op, SendRequest& request) {
  if (draw_forward(op, request)) return;
  op.data = source_.draw(random_, op.length, qp_.sq.inline_bytes(), request);
}

/// Sends on what an outstanding READ will have fetched: right only if the fence holds.
bool Side::draw_forward(Operation& op, SendRequest& request) {
  if (!random_.percent(15)) return false;
  for (auto it = sends_.rbegin(); it != sends_.rend(); ++it) {
    if (it->kind != Kind::kRead || it->pieces.size() != 1 || it->length < op.length) continue;
    op.read_slot = it->read_slot;
    op.data.assign(it->data.begin(), it->data.begin() + op.length);
    ++read_buffers_[static_cast<size_t>(op.read_slot)].users;
    request.flags |= IBV_SEND_FENCE;
    request.sges = sges_of(memory_, {{it->pieces[0].offset, op.length}}, local_->lkey);
    return true;
  }
  return false;
}

void Side::draw_send(Operation& op, SendRequest& request) {
  op.kind = Kind::kSend;
  request.opcode = random_.percent(40) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  if (draw_invalidate(request)) request.opcode = IBV_WR_SEND_WITH_INV;
  op.length = draw_length(random_, qp_.mtu, plan_.max_send);
  draw_source(op, request);
}

bool Side::draw_write(Operation& op, SendRequest& request) {
  op.kind = Kind::kWrite;
  const auto index = static_cast<size_t>(random_.below(kWriteSlots));
  RemoteArea::Slot& slot = peer_->area_.slots[index];
  op.length = draw_length(random_, qp_.mtu, plan_.max_rdma);
  if (slot.reads > 0) request.flags |= IBV_SEND_FENCE;
  draw_source(op, request);
  request.opcode = random_.percent(30) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  op.slot = static_cast<int>(index);
  op.slot_offset = static_cast<uint32_t>(random_.below(65));
  request.remote_addr = slot.va + op.slot_offset;
  request.rkey = peer_->area_.writable->rkey;
  draw_window(op, request);
  if (op.length == 0 && random_.percent(50)) request.rkey = RKey{0xdeadbeef};
  peer_->memory_.begin_flux(slot.offset + op.slot_offset, op.length);
  std::copy(op.data.begin(), op.data.end(), slot.future.begin() + op.slot_offset);
  slot.last_write = next_wr_id_;
  ++slot.operations;
  ++slot.writes;
  return true;
}

/// Of one of the slots, or of the whole region.
void Side::draw_flush(Operation& op, SendRequest& request) {
  op.kind = Kind::kFlush;
  const RemoteArea::Slot& slot = peer_->area_.slots[random_.below(kWriteSlots)];
  request.opcode = kWrFlush;
  request.remote_addr = slot.va;
  request.rkey = peer_->area_.writable->rkey;
  request.flush = {Feth::kGlobal, random_.percent(50) ? Feth::kRange : Feth::kRegion};
  request.flush_length = static_cast<uint32_t>(random_.below(slot.future.size() + 1));
}

int Side::free_read_buffer() const {
  for (size_t i = 0; i < read_buffers_.size(); ++i) {
    if (read_buffers_[i].users == 0) return static_cast<int>(i);
  }
  return -1;
}

bool Side::draw_read(Operation& op, SendRequest& request) {
  const int buffer = free_read_buffer();
  if (buffer < 0) return false;
  op.kind = Kind::kRead;
  op.length = draw_length(random_, qp_.mtu, plan_.max_rdma);
  op.read_slot = buffer;
  request.opcode = IBV_WR_RDMA_READ;
  RemoteArea& area = peer_->area_;
  const auto index = static_cast<size_t>(random_.below(kWriteSlots));
  if (random_.percent(40) && !area.slots[index].lost) {
    RemoteArea::Slot& slot = area.slots[index];
    op.slot = static_cast<int>(index);
    op.slot_offset = static_cast<uint32_t>(random_.below(65));
    request.remote_addr = slot.va + op.slot_offset;
    request.rkey = area.writable->rkey;
    draw_window(op, request);
    const auto begin = slot.future.begin() + op.slot_offset;
    op.data.assign(begin, begin + op.length);
    ++slot.operations;
    ++slot.reads;
  } else {
    const auto at = static_cast<uint32_t>(random_.below(area.constant_size - op.length + 1));
    request.remote_addr = area.constant_va + at;
    request.rkey = area.constant->rkey;
    op.data = peer_->memory_.expected(area.constant_offset + at, op.length);
  }
  op.pieces =
      split(random_, read_buffers_[static_cast<size_t>(buffer)].offset, op.length, plan_.max_sge);
  for (const Piece& piece : op.pieces) memory_.begin_flux(piece.offset, piece.length);
  ++read_buffers_[static_cast<size_t>(buffer)].users;
  request.sges = sges_of(memory_, op.pieces, local_->lkey);
  return true;
}

void Side::draw_atomic(Operation& op, SendRequest& request) {
  op.kind = Kind::kAtomic;
  op.length = 8;
  const size_t result = result_offset_ + size_t{results_used_++ % result_count_} * 8;
  op.pieces = {{result, 8}};
  memory_.begin_flux(result, 8);
  request.sges = sges_of(memory_, op.pieces, local_->lkey);
  if (peer_counter_ != nullptr && random_.percent(30)) {
    draw_shared_add(op, request);
    return;
  }
  const auto index = static_cast<size_t>(random_.below(kWords));
  uint64_t& word = peer_->area_.words[index];
  op.original = word;
  request.remote_addr = peer_->area_.atomic_va + index * 8;
  request.rkey = peer_->area_.atomic->rkey;
  if (random_.percent(50)) {
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.compare_add = random_.next();
    word += request.compare_add;
  } else {
    request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    request.compare_add = random_.percent(60) ? word : random_.next();
    request.swap = random_.next();
    if (request.compare_add == word) word = request.swap;
  }
}

void Side::draw_shared_add(Operation& op, SendRequest& request) {
  op.shared = true;
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.compare_add = 1;
  request.remote_addr = peer_counter_->region->iova;
  request.rkey = peer_counter_->region->rkey;
  ++peer_counter_->posted;
}

void Side::draw_operation(Operation& op, SendRequest& request) {
  if (random_.percent(10) && draw_local(op, request)) return;
  if (random_.percent(5)) return draw_flush(op, request);
  // The plan's kind of traffic comes up more often than the others.
  uint64_t kind = random_.below(6);
  if (random_.percent(50)) kind = plan_.operations;
  if (kind == 1 && draw_read(op, request)) return;
  if (kind == 2) return draw_atomic(op, request);
  if (kind == 3 || kind == 4) {
    draw_write(op, request);
    return;
  }
  draw_send(op, request);
}

void Side::post_some(Instant now) {
  migrate_some(now);
  uint64_t burst = random_.range(1, 8);
  while (burst-- > 0 && remaining_ > 0 && !failed_ && sends_.size() < plan_.sq_depth) {
    Operation op;
    SendRequest request;
    op.wr_id = next_wr_id_;
    draw_operation(op, request);
    // The last request and the one that fills the queue tell of those before them.
    const bool must_signal = remaining_ == 1 || sends_.size() + 1 >= plan_.sq_depth;
    if (must_signal || random_.percent(plan_.signaled_percent)) request.flags |= IBV_SEND_SIGNALED;
    if (random_.percent(20)) request.flags |= IBV_SEND_SOLICITED;
    if (random_.percent(10)) request.flags |= IBV_SEND_FENCE;
    submit(std::move(op), std::move(request));
  }
}

/// Asks an armed queue pair to migrate now and then, if the one at the other end can follow.
void Side::migrate_some(Instant now) {
  if (!plan_.alternate_paths || stopped_ || !random_.percent(1)) return;
  const bool sender = random_.percent(50);
  QueuePair& qp = sender ? qp_ : responder_;
  const QueuePair& other = sender ? peer_->responder_ : peer_->qp_;
  if (qp.state() != IBV_QPS_RTS || qp.migration.state != IBV_MIG_ARMED ||
      other.migration.state == IBV_MIG_REARM) {
    return;
  }
  ibv_qp_attr attr{};
  attr.path_mig_state = IBV_MIG_MIGRATED;
  require(device_.modify_qp(qp, attr, IBV_QP_PATH_MIG_STATE, now).has_value(),
          [] { return std::string("an armed queue pair does not migrate"); });
}

void Side::stop() {
  stopped_ = true;
  // One last signaled request, so that unsignaled ones before it are told of.
  if (remaining_ > 1) remaining_ = 1;
}

/// Tells the peer of a message, and XRC of where it goes.
void Side::announce(const Operation& op, SendRequest& request) {
  ReceivePool* pool = peer_->pools_[random_.below(peer_->pools_.size())];
  if (is_xrc()) request.remote_srqn = pool->srq()->number;
  if (op.kind != Kind::kSend && request.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) return;
  Message message{op.wr_id, request.opcode,     op.length, request.immediate_be,
                  {},       request.invalidate, pool};
  if (op.kind == Kind::kSend) message.data = op.data;
  peer_->incoming_.push_back(std::move(message));
}

void Side::submit(Operation op, SendRequest request) {
  request.wr_id = next_wr_id_++;
  op.opcode = request.opcode;
  op.signaled = plan_.sq_sig_all || (request.flags & IBV_SEND_SIGNALED) != 0;
  if (request.opcode == IBV_WR_SEND_WITH_IMM || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    request.immediate_be = static_cast<uint32_t>(random_.next());
  }
  announce(op, request);
  sends_.push_back(std::move(op));
  --remaining_;
  require(post_send(device_, qp_, request), [] { return std::string("the send queue is full"); });
}

}  // namespace urxe::sim
