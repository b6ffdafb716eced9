// SPDX-License-Identifier: BSD-2-Clause
// What must come of the requests: the model.
#include "tests/sim/side.h"

#include <algorithm>
#include <cstring>

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"
#include "transport/requester/requester.h"

namespace urxe::sim {
namespace {

ibv_wc_opcode send_wc_opcode(ibv_wr_opcode opcode) {
  if (opcode == kWrFlush) return kWcFlush;
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace

std::string Side::name(const ibv_wc& wc) const {
  return text("qp 0x%x wr_id %llu opcode %d status %d byte_len %u: ", qp_.qpn.value(),
              static_cast<unsigned long long>(wc.wr_id), wc.opcode, wc.status, wc.byte_len);
}

void Side::on_completion(const ibv_wc& wc) {
  // Not by wc.opcode, which means nothing in a failed completion.
  if ((wc.wr_id & ReceivePool::kReceiveBit) != 0) {
    on_receive_completion(wc);
  } else {
    on_send_completion(wc);
  }
}

void Side::on_send_completion(const ibv_wc& wc) {
  while (!sends_.empty() && sends_.front().wr_id != wc.wr_id) {
    const Operation& op = sends_.front();
    require(!op.signaled && !failed_, [&] {
      return name(wc) +
             text("but %llu must complete first", static_cast<unsigned long long>(op.wr_id));
    });
    succeed(op);
    sends_.pop_front();
  }
  require(!sends_.empty(), [&] { return name(wc) + "no such request is outstanding"; });
  const Operation op = std::move(sends_.front());
  sends_.pop_front();
  if (wc.status == IBV_WC_SUCCESS) {
    require(op.signaled, [&] { return name(wc) + "an unsignaled request has a completion"; });
    require(!failed_, [&] { return name(wc) + "success after a failure"; });
    require(wc.opcode == send_wc_opcode(op.opcode), [&] { return name(wc) + "wrong opcode"; });
    if (op.kind == Kind::kRead || op.kind == Kind::kAtomic) {
      require(wc.byte_len == op.length, [&] { return name(wc) + "wrong byte_len"; });
    }
    succeed(op);
    return;
  }
  const bool allowed = wc.status == IBV_WC_WR_FLUSH_ERR
                           ? failed_ || flushing_
                           : wc.status == IBV_WC_RETRY_EXC_ERR && !failed_ &&
                                 (plan_.retries_may_run_out || may_fail_ || peer_->may_fail_ ||
                                  peer_->failed_ || peer_->flushing_);
  require(allowed, [&] { return name(wc) + "unexpected status"; });
  failed_ = true;
  leave_pools();
  fail(op);
}

void Side::succeed(const Operation& op) {
  switch (op.kind) {
    case Kind::kSend:
    case Kind::kFlush:  // every WRITE before it has been looked at
      break;
    case Kind::kWrite:
      succeed_write(op);
      break;
    case Kind::kRead:
      succeed_read(op);
      break;
    case Kind::kAtomic:
      succeed_atomic(op);
      break;
    case Kind::kBind:
      area_.window.state = RemoteArea::Window::State::kBound;
      break;
    case Kind::kInvalidate:
      area_.window.state = RemoteArea::Window::State::kFree;
      break;
  }
  release(op);
}

void Side::succeed_write(const Operation& op) {
  RemoteArea::Slot& slot = peer_->area_.slots[static_cast<size_t>(op.slot)];
  const size_t offset = slot.offset + op.slot_offset;
  peer_->memory_.end_flux(offset, op.length);
  peer_->memory_.expect(offset, op.data);
  // A later WRITE to the same place may have arrived before this completion was polled.
  if (slot.last_write != op.wr_id) return;
  require(peer_->memory_.matches(offset, op.length), [&] {
    return text("qp 0x%x WRITE %llu completed and its bytes are not there", qp_.qpn.value(),
                static_cast<unsigned long long>(op.wr_id));
  });
}

void Side::succeed_atomic(const Operation& op) {
  uint64_t value = 0;
  std::memcpy(&value, memory_.at(op.pieces[0].offset), 8);
  if (op.shared) {
    SharedCounter& counter = *peer_counter_;
    ++counter.completed;
    require(value < counter.posted && (value >= counter.seen.size() || !counter.seen[value]), [&] {
      return text("FETCH_AND_ADD returned %llu again or too early",
                  static_cast<unsigned long long>(value));
    });
    if (counter.seen.size() <= value) counter.seen.resize(value + 1);
    counter.seen[value] = true;
  } else {
    require(value == op.original, [&] {
      return text("qp 0x%x atomic %llu returned 0x%llx, not 0x%llx", qp_.qpn.value(),
                  static_cast<unsigned long long>(op.wr_id), static_cast<unsigned long long>(value),
                  static_cast<unsigned long long>(op.original));
    });
  }
  uint8_t bytes[8];
  std::memcpy(bytes, &value, 8);
  memory_.end_flux(op.pieces[0].offset, 8);
  memory_.expect(op.pieces[0].offset, bytes);
}

/// A failed request: what it was to write stays in flux for ever, for it may or may not have been.
void Side::fail(const Operation& op) {
  if (op.kind == Kind::kWrite) peer_->area_.slots[static_cast<size_t>(op.slot)].lost = true;
  release(op);
}

void Side::release(const Operation& op) {
  if (op.read_slot >= 0) --read_buffers_[static_cast<size_t>(op.read_slot)].users;
  if (op.by_window) --peer_->area_.window.users;
  if (op.slot < 0) return;
  RemoteArea::Slot& slot = peer_->area_.slots[static_cast<size_t>(op.slot)];
  --slot.operations;
  if (op.kind == Kind::kRead) --slot.reads;
  if (op.kind == Kind::kWrite) --slot.writes;
}

void Side::succeed_read(const Operation& op) {
  size_t done = 0;
  for (const Piece& piece : op.pieces) {
    memory_.end_flux(piece.offset, piece.length);
    memory_.expect(piece.offset, {op.data.data() + done, piece.length});
    done += piece.length;
    require(memory_.matches(piece.offset, piece.length), [&] {
      return text("qp 0x%x READ %llu: wrong bytes", qp_.qpn.value(),
                  static_cast<unsigned long long>(op.wr_id));
    });
  }
}

void Side::check_writes_before(uint64_t wr_id) {
  for (const Operation& op : sends_) {
    if (op.wr_id > wr_id) return;
    if (op.kind != Kind::kWrite) continue;
    const RemoteArea::Slot& slot = peer_->area_.slots[static_cast<size_t>(op.slot)];
    if (slot.last_write != op.wr_id) continue;
    const uint8_t* actual = peer_->memory_.at(slot.offset + op.slot_offset);
    require(std::equal(op.data.begin(), op.data.end(), actual), [&] {
      return text("qp 0x%x WRITE %llu is not visible though a later message was received",
                  qp_.qpn.value(), static_cast<unsigned long long>(op.wr_id));
    });
  }
}

void Side::on_receive_completion(const ibv_wc& wc) {
  const auto found = std::find_if(pools_.begin(), pools_.end(),
                                  [&](ReceivePool* pool) { return pool->posted(wc.wr_id); });
  require(found != pools_.end(), [&] { return name(wc) + "a receive of another queue"; });
  ReceivePool& pool = **found;
  const Receive receive = pool.take(wc.wr_id);
  if (wc.status != IBV_WC_SUCCESS) {
    require(wc.status == IBV_WC_WR_FLUSH_ERR && (flushing_ || responder_.state() == IBV_QPS_ERR),
            [&] { return name(wc) + "unexpected status of a receive"; });
    failed_ = failed_ || flushing_;
    leave_pools();
    return pool.abandon(receive);
  }
  // The queues of XRC have completion queues of their own: each is in order.
  const auto next = std::find_if(incoming_.begin(), incoming_.end(),
                                 [&](const Message& m) { return m.pool == &pool; });
  require(next != incoming_.end(), [&] { return name(wc) + "nothing was sent"; });
  const Message message = std::move(*next);
  incoming_.erase(next);
  const bool is_write = message.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  const bool has_imm = is_write || message.opcode == IBV_WR_SEND_WITH_IMM;
  require(wc.opcode == (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
          [&] { return name(wc) + "wrong opcode"; });
  require(wc.byte_len == message.length, [&] { return name(wc) + "wrong byte_len"; });
  require(((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == has_imm,
          [&] { return name(wc) + "wrong flags"; });
  require(!has_imm || wc.imm_data == message.immediate_be,
          [&] { return name(wc) + "wrong immediate data"; });
  note_invalidated(message, wc);
  pool.finish(receive, message.data);
  peer_->check_writes_before(message.wr_id);
}

void Side::flush(Instant now) {
  flushing_ = true;
  leave_pools();
  for (QueuePair* qp : {&qp_, &responder_}) {
    require(change_state(device_, *qp, IBV_QPS_ERR, now) == 0,
            [] { return std::string("modify_qp to ERR failed"); });
  }
}

void Side::on_cut() {
  for (const QueuePair* qp : {&qp_, &responder_}) {
    may_fail_ = may_fail_ || qp->migration.state == IBV_MIG_REARM;
  }
}

void Side::leave_pools() {
  for (ReceivePool* pool : pools_) pool->leave();
}

std::string Side::describe() const {
  return text("qp 0x%x state %d idle %d: %u outstanding, %u in flight, window %u of %u used\n",
              qp_.qpn.value(), qp_.state(), idle(), packets_outstanding(qp_),
              packets_in_flight(qp_), qp_.path != nullptr ? qp_.path->window() : 0,
              qp_.path != nullptr ? qp_.path->in_flight() : 0);
}

void Side::check_end() const {
  check_window();
  for (size_t i = 0; i < area_.words.size() && !peer_->failed_; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, memory_.at(area_.atomic_offset + i * 8), 8);
    require(value == area_.words[i], [&] {
      return text("qp 0x%x: atomic word %zu is 0x%llx and must be 0x%llx", qp_.qpn.value(), i,
                  static_cast<unsigned long long>(value),
                  static_cast<unsigned long long>(area_.words[i]));
    });
  }
  require(incoming_.empty() || failed_ || peer_->failed_, [&] {
    return text("qp 0x%x: %zu messages were never received", qp_.qpn.value(), incoming_.size());
  });
}

}  // namespace urxe::sim
