// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/ud_side.h"

#include <algorithm>
#include <utility>

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kGrh = 40;

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

void UdSide::on_completion(const ibv_wc& wc) {
  if ((wc.wr_id & ReceivePool::kReceiveBit) != 0) {
    on_receive(wc);
  } else {
    sends_.on_completion(wc);
  }
}

bool UdSide::is_for_this(const Message& message) const {
  if (message.group != kNoGroup) return memberships_[message.group].ever;
  return message.destination == this;
}

bool UdSide::matches(const Message& message, const UdSide& sender, const ibv_wc& wc,
                     const Receive& receive) const {
  if (!is_for_this(message) || message.bad || message.qkey != qkey() ||
      wc.byte_len != kGrh + message.data.size() ||
      wc.wc_flags != (IBV_WC_GRH | (message.has_imm ? unsigned{IBV_WC_WITH_IMM} : 0U)) ||
      (message.has_imm && wc.imm_data != message.immediate_be)) {
    return false;
  }
  // Without duplicates on the wire each comes once.
  const bool once = plan_.network.duplicate == 0 || sender.last_from_ != SIZE_MAX;
  if (once && std::ranges::find(message.receivers, this) != message.receivers.end()) return false;
  const std::vector<uint8_t> contents = pool_.contents(receive, wc.byte_len);
  return contents.size() == wc.byte_len && grh_is_right(message, sender, contents) &&
         std::equal(message.data.begin(), message.data.end(), contents.begin() + kGrh);
}

void UdSide::on_receive(const ibv_wc& wc) {
  const Receive receive = pool_.take(wc.wr_id);
  if (wc.status != IBV_WC_SUCCESS) {
    require(wc.status == IBV_WC_WR_FLUSH_ERR && flushing_,
            [&] { return text("qp 0x%x: a receive failed (%d)", qp_.qpn.value(), wc.status); });
    return pool_.abandon(receive);
  }
  const auto sender = std::find_if(net_->sides.begin(), net_->sides.end(), [&](const UdSide* side) {
    return side->qp_.qpn.value() == wc.src_qp;
  });
  require(sender != net_->sides.end() && wc.opcode == IBV_WC_RECV && wc.pkey_index == 0,
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
  it->receivers.push_back(this);
  std::vector<uint8_t> whole = pool_.contents(receive, kGrh);
  whole.insert(whole.end(), it->data.begin(), it->data.end());
  pool_.finish(receive, whole);
}

/// IBTA annex A17.4.5.1.
bool UdSide::grh_is_right(const Message& message, const UdSide& sender,
                          const std::vector<uint8_t>& grh) const {
  constexpr uint32_t kHeaders = 8 + 12 + 8;  // UDP, BTH, DETH
  const auto padded = static_cast<uint32_t>((message.data.size() + 3) & ~size_t{3});
  const uint32_t udp = kHeaders + (message.has_imm ? 4 : 0) + padded + 4;
  const Gid from = sender.gid();
  const Gid& to = message.to;
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

void UdSide::check_end() const {
  for (const Message& message : sent_) {
    for (const UdSide* receiver : message.due) {
      require(std::ranges::find(message.receivers, receiver) != message.receivers.end(), [&] {
        return text("qp 0x%x: a datagram to 0x%x was lost without a fault", qp_.qpn.value(),
                    receiver->qp_.qpn.value());
      });
    }
  }
}

void UdSide::flush(Instant now) {
  flushing_ = true;
  pool_.leave();
  require(change_state(device_, qp_, IBV_QPS_ERR, now) == 0,
          [] { return std::string("modify_qp to ERR failed"); });
}

std::string UdSide::describe() const {
  return text("qp 0x%x (UD) state %d idle %d: %zu sends outstanding\n", qp_.qpn.value(),
              qp_.state(), idle(), sends_.size());
}

}  // namespace urxe::sim
