// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/uc_side.h"

#include <algorithm>
#include <utility>

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"

namespace urxe::sim {

UcSide::UcSide(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, PdId pd,
               ReceivePool& pool, Random random)
    : plan_(plan),
      device_(device),
      memory_(memory),
      qp_(qp),
      pool_(pool),
      source_(plan, device, memory, pd, std::max(plan.max_send, plan.max_rdma)),
      random_(random),
      pace_(plan),
      remaining_(plan.requests),
      area_size_(plan.max_rdma * 2 + 16),
      area_offset_(memory.reserve(area_size_)),
      area_va_(random_.next() >> 2),
      area_(must_register(device, memory, pd, area_offset_, area_size_, area_va_,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
      area_before_(memory.expected(area_offset_, area_size_)),
      sends_(qp) {
  memory.begin_flux(area_offset_, area_size_);
}

void UcSide::draw_data(Message& message, SendRequest& request, uint32_t most, bool bad) {
  const uint32_t length = draw_length(random_, qp_.mtu, most);
  if (bad) {
    message.data = source_.draw_bad(random_, std::max(1U, length), request);
  } else {
    message.data = source_.draw(random_, length, qp_.sq.inline_bytes(), request);
  }
}

void UcSide::draw_send(Message& message, SendRequest& request, bool bad) {
  request.opcode = random_.percent(60) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  draw_data(message, request, plan_.max_send, bad);
}

void UcSide::draw_write(Message& message, SendRequest& request, bool bad) {
  message.is_write = true;
  request.opcode = random_.percent(50) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  draw_data(message, request, plan_.max_rdma, bad);
  message.at = static_cast<uint32_t>(random_.below(plan_.max_rdma + 1));
  message.may_write = true;
  request.remote_addr = peer_->area_va_ + message.at;
  request.rkey = peer_->area_->rkey;
  const bool longer = bad || !message.data.empty();
  if (last_from_ == SIZE_MAX && random_.percent(longer ? 4 : 50)) {
    request.rkey = RKey{0xdeadbeef};
    message.may_write = false;
    message.may_arrive = !longer;
  }
}

void UcSide::post_one(bool last) {
  SendRequest request;
  Message message;
  const bool bad = !last && random_.percent(3);
  if (random_.percent(50)) {
    draw_send(message, request, bad);
  } else {
    draw_write(message, request, bad);
  }
  if (bad) message.may_arrive = false;
  const bool must_signal = last || remaining_ == 1 || sends_.size() + 1 >= plan_.sq_depth;
  if (must_signal || random_.percent(plan_.signaled_percent)) request.flags |= IBV_SEND_SIGNALED;
  if (random_.percent(20)) request.flags |= IBV_SEND_SOLICITED;
  request.wr_id = next_wr_id_++;
  request.immediate_be = static_cast<uint32_t>(random_.next());
  message.opcode = request.opcode;
  message.immediate_be = request.immediate_be;
  const bool signaled = plan_.sq_sig_all || (request.flags & IBV_SEND_SIGNALED) != 0;
  sends_.add({request.wr_id, request.opcode, signaled, bad});
  sent_.push_back(std::move(message));
  require(post_send(device_, qp_, request), [] { return std::string("the send queue is full"); });
}

void UcSide::post_some(Instant now) {
  if (sends_.in_error()) {
    if (!sends_.empty()) return;
    require(change_state(device_, qp_, IBV_QPS_RTS, now) == 0,
            [] { return std::string("modify_qp from SQE to RTS failed"); });
    sends_.recovered();
  }
  uint64_t burst = random_.range(1, 8);
  while (burst-- > 0 && remaining_ > 0 && sends_.size() < plan_.sq_depth &&
         (stopped_ || pace_.may_send(now))) {
    post_one(false);
    --remaining_;
    pace_.sent(sent_.back().data.size(), now);
  }
}

void UcSide::stop() {
  stopped_ = true;
  // One last signaled request, so that unsignaled ones before it are told of.
  if (remaining_ > 1) remaining_ = 1;
}

void UcSide::post_last() {
  last_from_ = sent_.size();
  while (sends_.size() < plan_.sq_depth && peer_->pool_.promise()) post_one(true);
}

void UcSide::on_completion(const ibv_wc& wc) {
  if ((wc.wr_id & ReceivePool::kReceiveBit) != 0) {
    on_receive(wc);
  } else {
    sends_.on_completion(wc);
  }
}

bool UcSide::matches(const Message& message, const ibv_wc& wc,
                     const std::vector<uint8_t>& contents) const {
  const bool has_imm =
      message.opcode == IBV_WR_SEND_WITH_IMM || message.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  return message.may_arrive && message.takes_receive() && wc.byte_len == message.data.size() &&
         wc.opcode == (message.is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) &&
         wc.wc_flags == (has_imm ? unsigned{IBV_WC_WITH_IMM} : 0U) &&
         (!has_imm || wc.imm_data == message.immediate_be) &&
         (message.is_write || contents == message.data);
}

void UcSide::on_receive(const ibv_wc& wc) {
  const Receive receive = pool_.take(wc.wr_id);
  if (wc.status != IBV_WC_SUCCESS) {
    require(wc.status == IBV_WC_WR_FLUSH_ERR && flushing_,
            [&] { return text("qp 0x%x: a receive failed (%d)", qp_.qpn.value(), wc.status); });
    return pool_.abandon(receive);
  }
  std::vector<uint8_t> contents;
  if (wc.opcode == IBV_WC_RECV) contents = pool_.contents(receive, wc.byte_len);
  std::vector<Message>& sent = peer_->sent_;
  const bool faults_are_over = peer_->last_from_ != SIZE_MAX;
  size_t i = plan_.network.keeps_order() || faults_are_over ? next_received_ : 0;
  if (faults_are_over) i = std::max(i, peer_->last_from_);
  while (i < sent.size() && !matches(sent[i], wc, contents)) ++i;
  require(i < sent.size(), [&] {
    return text("qp 0x%x received what was not sent, or not behind the message before: %u bytes",
                qp_.qpn.value(), wc.byte_len);
  });
  next_received_ = i + 1;
  sent[i].received = true;
  pool_.finish_used(receive, contents);
  if (sent[i].is_write) check_written(i);
}

/// A received WRITE with immediate data is there, but for what others have written since.
void UcSide::check_written(size_t index) const {
  const std::vector<Message>& sent = peer_->sent_;
  const Message& message = sent[index];
  const uint8_t* actual = memory_.at(area_offset_ + message.at);
  for (uint32_t i = 0; i < message.data.size(); ++i) {
    if (actual[i] == message.data[i]) continue;
    const auto wrote = [&](const Message& other) {
      const uint32_t byte = message.at + i;
      return other.may_write && byte >= other.at && byte - other.at < other.data.size() &&
             other.data[byte - other.at] == actual[i];
    };
    const auto from = plan_.network.keeps_order() ? static_cast<ptrdiff_t>(index) : 0;
    require(std::any_of(sent.begin() + from, sent.end(), wrote), [&] {
      return text("qp 0x%x: byte %u of a received WRITE is not there", qp_.qpn.value(), i);
    });
  }
}

/// Every byte of the area is one that was there before or that some WRITE put there.
void UcSide::check_area() const {
  const uint8_t* actual = memory_.at(area_offset_);
  std::vector<bool> explained(area_size_);
  for (uint32_t i = 0; i < area_size_; ++i) explained[i] = actual[i] == area_before_[i];
  for (const Message& message : peer_->sent_) {
    if (!message.may_write) continue;
    for (uint32_t i = 0; i < message.data.size(); ++i) {
      if (actual[message.at + i] == message.data[i]) explained[message.at + i] = true;
    }
  }
  const auto wrong = std::find(explained.begin(), explained.end(), false);
  require(wrong == explained.end(), [&] {
    return text("qp 0x%x: nobody wrote what is at byte %zd of its area", qp_.qpn.value(),
                wrong - explained.begin());
  });
}

/// What was sent to the peer without faults has arrived, later WRITEs over earlier ones.
void UcSide::check_last_writes() const {
  std::vector<int> expected(peer_->area_size_, -1);
  for (size_t i = last_from_; i < sent_.size(); ++i) {
    const Message& message = sent_[i];
    require(message.received || !message.takes_receive(),
            [&] { return text("qp 0x%x: a message was lost without a fault", qp_.qpn.value()); });
    if (message.is_write)
      std::copy(message.data.begin(), message.data.end(), expected.begin() + message.at);
  }
  const uint8_t* actual = peer_->memory_.at(peer_->area_offset_);
  for (uint32_t i = 0; i < peer_->area_size_; ++i) {
    require(expected[i] < 0 || expected[i] == actual[i],
            [&] { return text("qp 0x%x: a WRITE was lost without a fault", qp_.qpn.value()); });
  }
}

void UcSide::check_end() const {
  check_area();
  if (last_from_ != SIZE_MAX) check_last_writes();
}

void UcSide::flush(Instant now) {
  flushing_ = true;
  pool_.leave();
  require(change_state(device_, qp_, IBV_QPS_ERR, now) == 0,
          [] { return std::string("modify_qp to ERR failed"); });
}

std::string UcSide::describe() const {
  return text("qp 0x%x (UC) state %d idle %d: %zu sends outstanding\n", qp_.qpn.value(),
              qp_.state(), idle(), sends_.size());
}

}  // namespace urxe::sim
