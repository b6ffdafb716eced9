// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/stage.h"

#include <algorithm>
#include <bit>

#include "packet/base/bytes.h"
#include "tools/drill/packet_fields.h"
#include "transport/queue_pair/qp_state.h"

namespace urxe::drill {
namespace {

constexpr uint8_t kAddress[4] = {192, 0, 2, 1};
constexpr uint8_t kPeerAddress[4] = {192, 0, 2, 2};
constexpr uint32_t kQpn = 0x11;
constexpr uint32_t kPeerQpn = 0x22;
constexpr size_t kLocalBytes = 131072;
constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {Gid::from_ipv4(kAddress)};
  // As adapters commonly do; a script sees the same on any of them.
  config.keeps_requests = false;
  return config;
}

ibv_qp_type type_of(uint64_t service) {
  switch (static_cast<Service>(service)) {
    case Service::kUc:
      return IBV_QPT_UC;
    case Service::kUd:
      return IBV_QPT_UD;
    default:
      return IBV_QPT_RC;
  }
}

/// 256 is 1, ... 4096 is 5; 0 for what is no MTU.
ibv_mtu mtu_of(uint64_t bytes) {
  const bool valid = std::has_single_bit(bytes) && bytes >= 256;
  return static_cast<ibv_mtu>(valid ? std::countr_zero(bytes) - 7 : 0);
}

ibv_qp_attr attributes(const Statement& s) {
  const auto byte = [&](std::string_view key, uint64_t otherwise) {
    return static_cast<uint8_t>(s.number(key, otherwise));
  };
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = static_cast<unsigned>(s.number("access", kAllRights));
  attr.qkey = static_cast<uint32_t>(s.number("qkey", 0x11111111));
  attr.path_mtu = mtu_of(s.number("mtu", 1024));
  attr.dest_qp_num = kPeerQpn;
  attr.rq_psn = static_cast<uint32_t>(s.number("rq_psn", 200));
  attr.sq_psn = static_cast<uint32_t>(s.number("sq_psn", 100));
  attr.max_dest_rd_atomic = byte("dest_rd_atomic", 4);
  attr.max_rd_atomic = byte("rd_atomic", 4);
  attr.min_rnr_timer = byte("min_rnr_timer", 12);
  attr.timeout = byte("timeout", 8);
  attr.retry_cnt = byte("retry", 7);
  attr.rnr_retry = byte("rnr_retry", 7);
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.hop_limit = 64;
  const Gid peer = Gid::from_ipv4(kPeerAddress);
  std::copy(peer.bytes.begin(), peer.bytes.end(), attr.ah_attr.grh.dgid.raw);
  return attr;
}

Flow flow_from_peer() {
  Flow flow;
  flow.source = Gid::from_ipv4(kPeerAddress);
  flow.destination = Gid::from_ipv4(kAddress);
  return flow;
}

uint32_t big_endian(uint64_t value) {
  uint8_t bytes[4];
  store_be32(bytes, static_cast<uint32_t>(value));
  return std::bit_cast<uint32_t>(bytes);
}

}  // namespace

Stage::Stage() : device_(std::make_unique<Device>(config())) {
  pd_ = device_->alloc_pd().value();
  cq_ = device_->create_cq(4096, nullptr).value();
  Region& local = regions_["local"];
  local.bytes = pattern("count", kLocalBytes);
  local.region =
      device_
          ->register_memory(pd_, local.bytes.data(), kLocalBytes,
                            reinterpret_cast<uint64_t>(local.bytes.data()), IBV_ACCESS_LOCAL_WRITE)
          .value();
}

bool Stage::make_qp(const Statement& statement) {
  QpInit init;
  init.qpn = Qpn{kQpn};
  init.type = type_of(statement.subject_id);
  init.pd = pd_;
  init.cap = {256, 256, 4, 4, 256};
  init.send_cq = init.recv_cq = cq_;
  init.sq_sig_all = true;
  const auto made = device_->create_qp(init);
  if (!made) return false;
  qp_ = *made;
  ibv_qp_attr attr = attributes(statement);
  qkey_ = attr.qkey;
  ibv_qp_state from = IBV_QPS_RESET;
  for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = to;
    const int mask = transition_masks(init.type, from, to).required | IBV_QP_STATE;
    if (!device_->modify_qp(*qp_, attr, mask, now)) return false;
    from = to;
  }
  return true;
}

bool Stage::add_region(const Statement& statement) {
  Region& region = regions_[statement.subject];
  region.bytes.resize(std::max<uint64_t>(statement.number("length", 4096), 1));
  const auto made = device_->register_memory(
      pd_, region.bytes.data(), region.bytes.size(), statement.number("va", 0x100000),
      static_cast<int>(statement.number("access", kAllRights)));
  if (made) region.region = *made;
  return made.has_value();
}

Sge Stage::local(uint64_t offset, uint64_t length) const {
  const Region& local = regions_.at("local");
  return {reinterpret_cast<uint64_t>(local.bytes.data()) + offset, static_cast<uint32_t>(length),
          local.region->lkey};
}

bool Stage::post(const Statement& statement) {
  if (qp_->sq.full()) return false;
  const uint32_t position = qp_->sq.next_position();
  SendWqe& wqe = qp_->sq.at(position);
  wqe = SendWqe{};
  wqe.wr_id = statement.number("id");
  wqe.opcode = static_cast<ibv_wr_opcode>(statement.subject_id);
  wqe.send_flags = statement.find("fence") != nullptr ? unsigned{IBV_SEND_FENCE} : 0U;
  const bool atomic =
      wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  wqe.length = static_cast<uint32_t>(statement.number("len", atomic ? 8 : 0));
  wqe.num_sge = 1;
  wqe.immediate_be = big_endian(statement.number("imm"));
  wqe.invalidate = RKey(static_cast<uint32_t>(statement.number("invalidate")));
  wqe.remote_addr = statement.number("va", 0x5000);
  const Word* rkey = statement.find("rkey");
  wqe.rkey = RKey(rkey == nullptr ? 0x77 : key_of(*rkey));
  wqe.swap = statement.number("swap");
  const bool add = wqe.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  wqe.compare_add = statement.number(add ? "add" : "compare");
  wqe.datagram.flow = {flow_from_peer().destination, flow_from_peer().source};
  wqe.datagram.qpn = Qpn{kPeerQpn};
  wqe.datagram.qkey = QKey(static_cast<uint32_t>(statement.number("qkey", qkey_)));
  *qp_->sq.sge_space(position) = local(0, wqe.length);
  qp_->sq.publish();
  device_->ring_doorbell(*qp_);
  return true;
}

bool Stage::receive(const Statement& statement) {
  if (qp_->rq.full()) return false;
  const uint32_t position = qp_->rq.next_position();
  RecvWqe& wqe = qp_->rq.at(position);
  wqe = RecvWqe{};
  wqe.wr_id = statement.number("id");
  wqe.num_sge = 1;
  wqe.length = statement.number("len", 4096);
  *qp_->rq.sge_space(position) = local(kReceiveOffset, wqe.length);
  qp_->rq.publish();
  if (qp_->state() == IBV_QPS_ERR) device_->ring_doorbell(*qp_);
  return true;
}

bool Stage::modify(const Statement& statement) {
  ibv_qp_attr attr{};
  attr.qp_state = static_cast<ibv_qp_state>(statement.subject_id);
  return device_->modify_qp(*qp_, attr, IBV_QP_STATE, now).has_value();
}

void Stage::packet_in(const Statement& statement) {
  Headers defaults;
  defaults.bth.dest_qp = Qpn{kQpn};
  defaults.aeth.syndrome = 0x1f;  // no credits
  defaults.deth = {QKey(qkey_), Qpn{kPeerQpn}};
  const Flow flow = flow_from_peer();
  const auto bytes =
      build_packet(statement, flow, defaults, [&](const Word& word) { return key_of(word); });
  device_->receive({bytes, flow, uint16_t{0}}, now);
}

void Stage::settle() {
  device_->advance(now);
  TxBatch batch(TxBatch::Limits{});
  for (bool more = true; more;) {
    batch.clear();
    more = device_->transmit(batch, now, AckPolicy::kAll);
    batch.for_each_packet([&](const auto& message, size_t, std::span<const uint8_t> bytes) {
      sent.push_back({now, {bytes.begin(), bytes.end()}, message.flow});
    });
  }
  ibv_wc wc;
  while (cq_->poll(1, &wc) == 1) completions.push_back(wc);
  while (const auto event = device_->take_event()) events.push_back(event->type);
}

void Stage::pass_until(Instant end, bool until_sent) {
  settle();
  while (!until_sent || sent.empty()) {
    const auto deadline = device_->next_deadline();
    if (!deadline || *deadline > end) break;
    now = std::max(now, *deadline);
    settle();
  }
  if (until_sent && !sent.empty()) return;
  now = std::max(now, end);
  settle();
}

uint32_t Stage::key_of(const Word& word) const {
  const auto region = regions_.find(word.text);
  if (region == regions_.end() || region->second.region == nullptr) {
    return static_cast<uint32_t>(word.number);
  }
  return region->second.region->rkey.value();
}

const std::vector<uint8_t>& Stage::memory(const std::string& name) const {
  return regions_.at(name).bytes;
}

}  // namespace urxe::drill
