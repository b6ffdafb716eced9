// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/datagram_side.h"

#include <algorithm>
#include <utility>

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kGrh = 40;
constexpr uint32_t kLongest = 4096;  ///< the port's MTU
constexpr uint32_t kControlled = 0x80000000;

uint32_t big_endian_16(const uint8_t* at) {
  return static_cast<uint32_t>(at[0] << 8 | at[1]);
}

/// The ones' complement sum over a right header, its checksum included, is all ones.
bool checksum_is_right(const uint8_t* header) {
  uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += big_endian_16(header + i);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

}  // namespace

DatagramSide::DatagramSide(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, PdId pd,
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

uint32_t DatagramSide::max_length(const Plan& plan) {
  return std::min(plan.max_send, kLongest);
}

/// A few, so that some queue pairs share one; with the top bit and without.
uint32_t DatagramSide::draw_qkey(Random& random) {
  constexpr uint32_t kKeys[] = {0x11111111, 0x11111111, 0x22222222, 0x80010000, 0x80020000};
  return kKeys[random.below(std::size(kKeys))];
}

/// Whether there is a Q_Key for a work request that gets to `other`: a controlled one, with the top
/// bit, is replaced by the sender's own.
bool DatagramSide::reaches(const DatagramSide& other) const {
  return (other.qkey() & kControlled) == 0 || other.qkey() == qkey();
}

void DatagramSide::address(Message& message, SendRequest& request, bool last) {
  DatagramSide& destination = *message.destination;
  ibv_ah_attr ah{};
  ah.is_global = 1;
  ah.port_num = 1;
  ah.grh.hop_limit = message.hop_limit = static_cast<uint8_t>(random_.range(1, 255));
  ah.grh.traffic_class = message.traffic_class = static_cast<uint8_t>(random_.below(64) << 2);
  ah.grh.flow_label = static_cast<uint32_t>(random_.below(1 << 20));
  const Gid to = destination.gid();
  std::copy(to.bytes.begin(), to.bytes.end(), ah.grh.dgid.raw);
  const auto flow = device_.resolve(ah);
  require(flow.has_value(), [] { return std::string("an address was refused"); });
  uint32_t given = destination.qkey();
  if (!last && random_.percent(5)) given ^= 0x5;
  if (random_.percent(5)) given = qkey();
  message.qkey = (given & kControlled) != 0 ? qkey() : given;
  request.datagram = {*flow, destination.qp_.qpn, QKey{given}};
  if (!last && random_.percent(2)) {
    request.datagram.qpn = Qpn{destination.qp_.qpn.value() ^ 0x800000};
    message.destination = nullptr;
  }
}

void DatagramSide::post_one(DatagramSide& destination, bool last) {
  SendRequest request;
  Message message;
  message.destination = &destination;
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

void DatagramSide::post_some(Instant now) {
  if (sends_.in_error()) {
    if (!sends_.empty()) return;
    require(change_state(device_, qp_, IBV_QPS_RTS, now) == 0,
            [] { return std::string("modify_qp from SQE to RTS failed"); });
    sends_.recovered();
  }
  uint64_t burst = random_.range(1, 8);
  while (burst-- > 0 && remaining_ > 0 && sends_.size() < plan_.sq_depth &&
         (stopped_ || pace_.may_send(now))) {
    post_one(*(*all_)[random_.below(all_->size())], false);
    --remaining_;
    pace_.sent(sent_.back().data.size(), now);
  }
}

void DatagramSide::stop() {
  stopped_ = true;
  // One last signaled request, so that unsignaled ones before it are told of.
  if (remaining_ > 1) remaining_ = 1;
}

void DatagramSide::post_last() {
  last_from_ = sent_.size();
  for (DatagramSide* other : *all_) {
    if (sends_.size() >= plan_.sq_depth) return;
    if (reaches(*other) && other->pool_.promise()) post_one(*other, true);
  }
}

void DatagramSide::on_completion(const ibv_wc& wc) {
  if ((wc.wr_id & ReceivePool::kReceiveBit) != 0) {
    on_receive(wc);
  } else {
    sends_.on_completion(wc);
  }
}

bool DatagramSide::matches(const Message& message, const DatagramSide& sender, const ibv_wc& wc,
                           const Receive& receive) const {
  if (message.destination != this || message.bad || message.qkey != qkey() ||
      wc.byte_len != kGrh + message.data.size() ||
      wc.wc_flags != (IBV_WC_GRH | (message.has_imm ? unsigned{IBV_WC_WITH_IMM} : 0U)) ||
      (message.has_imm && wc.imm_data != message.immediate_be)) {
    return false;
  }
  // Without duplicates on the wire each comes once.
  const bool once = plan_.network.duplicate == 0 || sender.last_from_ != SIZE_MAX;
  if (message.received != 0 && once) return false;
  const std::vector<uint8_t> contents = pool_.contents(receive, wc.byte_len);
  return contents.size() == wc.byte_len && grh_is_right(message, sender, contents) &&
         std::equal(message.data.begin(), message.data.end(), contents.begin() + kGrh);
}

void DatagramSide::on_receive(const ibv_wc& wc) {
  const Receive receive = pool_.take(wc.wr_id);
  if (wc.status != IBV_WC_SUCCESS) {
    require(wc.status == IBV_WC_WR_FLUSH_ERR && flushing_,
            [&] { return text("qp 0x%x: a receive failed (%d)", qp_.qpn.value(), wc.status); });
    return pool_.abandon(receive);
  }
  const auto sender = std::find_if(all_->begin(), all_->end(), [&](const DatagramSide* side) {
    return side->qp_.qpn.value() == wc.src_qp;
  });
  require(sender != all_->end() && wc.opcode == IBV_WC_RECV && wc.pkey_index == 0,
          [&] { return text("qp 0x%x: a datagram from nobody", qp_.qpn.value()); });
  std::vector<Message>& sent = (*sender)->sent_;
  const auto from = (*sender)->last_from_ == SIZE_MAX ? 0 : (*sender)->last_from_;
  const auto it =
      std::find_if(sent.begin() + static_cast<ptrdiff_t>(from), sent.end(),
                   [&](const Message& message) { return matches(message, **sender, wc, receive); });
  require(it != sent.end(), [&] {
    return text("qp 0x%x received from 0x%x what was not sent to it, or with a wrong GRH: %u bytes",
                qp_.qpn.value(), wc.src_qp, wc.byte_len);
  });
  ++it->received;
  std::vector<uint8_t> whole = pool_.contents(receive, kGrh);
  whole.insert(whole.end(), it->data.begin(), it->data.end());
  pool_.finish(receive, whole);
}

/// IBTA annex A17.4.5.1.
bool DatagramSide::grh_is_right(const Message& message, const DatagramSide& sender,
                                const std::vector<uint8_t>& grh) const {
  constexpr uint32_t kHeaders = 8 + 12 + 8;  // UDP, BTH, DETH
  const auto padded = static_cast<uint32_t>((message.data.size() + 3) & ~size_t{3});
  const uint32_t udp = kHeaders + (message.has_imm ? 4 : 0) + padded + 4;
  const Gid from = sender.gid();
  const Gid to = gid();
  const auto holds = [&](const Gid& address, size_t of, size_t at, size_t count) {
    return std::equal(address.bytes.begin() + static_cast<ptrdiff_t>(of),
                      address.bytes.begin() + static_cast<ptrdiff_t>(of + count),
                      grh.begin() + static_cast<ptrdiff_t>(at));
  };
  if (plan_.ipv6) {
    return grh[0] == (0x60 | message.traffic_class >> 4) &&
           (grh[1] & 0xf0) == ((message.traffic_class << 4) & 0xf0) &&
           big_endian_16(&grh[4]) == udp && grh[6] == 17 && grh[7] == message.hop_limit &&
           holds(from, 0, 8, 16) && holds(to, 0, 24, 16);
  }
  return std::all_of(grh.begin(), grh.begin() + 20, [](uint8_t byte) { return byte == 0; }) &&
         grh[20] == 0x45 && grh[21] == message.traffic_class &&
         big_endian_16(&grh[22]) == udp + 20 && big_endian_16(&grh[26]) == 0x4000 &&
         grh[28] == message.hop_limit && grh[29] == 17 && checksum_is_right(&grh[20]) &&
         holds(from, 12, 32, 4) && holds(to, 12, 36, 4);
}

void DatagramSide::check_end() const {
  for (size_t i = last_from_; i < sent_.size(); ++i) {
    require(sent_[i].received != 0 || sent_[i].qkey != sent_[i].destination->qkey(),
            [&] { return text("qp 0x%x: a datagram was lost without a fault", qp_.qpn.value()); });
  }
}

void DatagramSide::flush(Instant now) {
  flushing_ = true;
  pool_.leave();
  require(change_state(device_, qp_, IBV_QPS_ERR, now) == 0,
          [] { return std::string("modify_qp to ERR failed"); });
}

std::string DatagramSide::describe() const {
  return text("qp 0x%x (UD) state %d idle %d: %zu sends outstanding\n", qp_.qpn.value(),
              qp_.state(), idle(), sends_.size());
}

}  // namespace urxe::sim
