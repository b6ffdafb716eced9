// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/virtual_stage.h"

#include <algorithm>

#include "tools/drill/qp_attributes.h"
#include "transport/queue_pair/qp_state.h"

namespace urxe::drill {
namespace {

constexpr uint8_t kAddress[4] = {192, 0, 2, 1};
constexpr uint8_t kPeerAddress[4] = {192, 0, 2, 2};
/// What scripts count on that name none.
constexpr uint8_t kTimeout = 8;

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {Gid::from_ipv4(kAddress)};
  // As adapters commonly do; a script sees the same on any of them.
  config.keeps_requests = false;
  return config;
}

Peer peer() {
  return {Gid::from_ipv4(kPeerAddress)};
}

Flow flow_from_peer() {
  Flow flow;
  flow.source = Gid::from_ipv4(kPeerAddress);
  flow.destination = Gid::from_ipv4(kAddress);
  return flow;
}

}  // namespace

VirtualStage::VirtualStage() : device_(std::make_unique<Device>(config())) {
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

bool VirtualStage::make_qp(const Statement& statement) {
  QpInit init;
  init.qpn = Qpn{kScriptQpn};
  init.type = type_of(statement);
  init.pd = pd_;
  init.cap = {256, 256, 4, 4, 256};
  init.send_cq = init.recv_cq = cq_;
  init.sq_sig_all = true;
  if (statement.number("srq") != 0) {
    srq_ = device_->create_srq({pd_, 256, 4}).value();
    init.srq = srq_;
  }
  const auto made = device_->create_qp(init);
  if (!made) return false;
  qp_ = *made;
  ibv_qp_attr attr = attributes(statement, peer(), kTimeout);
  qkey_ = attr.qkey;
  ibv_qp_state from = IBV_QPS_RESET;
  for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = to;
    const int mask = transition_masks(init.type, from, to).required |
                     migration_mask(statement, to) | IBV_QP_STATE;
    if (!device_->modify_qp(*qp_, attr, mask, now_)) return false;
    from = to;
  }
  return true;
}

bool VirtualStage::add_region(const Statement& statement) {
  Region& region = regions_[statement.subject];
  region.bytes.resize(std::max<uint64_t>(statement.number("length", 4096), 1));
  const auto made = device_->register_memory(
      pd_, region.bytes.data(), region.bytes.size(), statement.number("va", 0x100000),
      static_cast<int>(statement.number("access", kAllRights)));
  if (made) region.region = *made;
  return made.has_value();
}

Sge VirtualStage::local(uint64_t offset, uint64_t length) const {
  const Region& local = regions_.at("local");
  return {reinterpret_cast<uint64_t>(local.bytes.data()) + offset, static_cast<uint32_t>(length),
          local.region->lkey};
}

bool VirtualStage::post(const Statement& statement) {
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
  wqe.datagram.qpn = Qpn{kScriptPeerQpn};
  wqe.datagram.qkey = QKey(static_cast<uint32_t>(statement.number("qkey", qkey_)));
  *qp_->sq.sge_space(position) = local(0, wqe.length);
  qp_->sq.publish();
  device_->ring_doorbell(*qp_);
  return true;
}

bool VirtualStage::receive(const Statement& statement) {
  ReceiveQueue& queue = srq_ == nullptr ? qp_->rq : srq_->queue();
  if (queue.full()) return false;
  const uint32_t position = queue.next_position();
  RecvWqe& wqe = queue.at(position);
  wqe = RecvWqe{};
  wqe.wr_id = statement.number("id");
  wqe.num_sge = 1;
  wqe.length = statement.number("len", 4096);
  *queue.sge_space(position) = local(kReceiveOffset, wqe.length);
  queue.publish();
  if (qp_->state() == IBV_QPS_ERR) device_->ring_doorbell(*qp_);
  return true;
}

bool VirtualStage::set_limit(const Statement& statement) {
  if (srq_ == nullptr) return false;
  ibv_srq_attr attr{};
  attr.srq_limit = static_cast<uint32_t>(statement.number("limit"));
  return device_->modify_srq(*srq_, attr, IBV_SRQ_LIMIT).has_value();
}

bool VirtualStage::modify(const Statement& statement) {
  ibv_qp_attr attr{};
  attr.qp_state = static_cast<ibv_qp_state>(statement.subject_id);
  return device_->modify_qp(*qp_, attr, IBV_QP_STATE, now_).has_value();
}

void VirtualStage::packet_in(const Statement& statement) {
  Headers defaults;
  defaults.bth.dest_qp = Qpn{kScriptQpn};
  defaults.aeth.syndrome = 0x1f;  // no credits
  defaults.deth = {QKey(qkey_), Qpn{kScriptPeerQpn}};
  const Flow flow = flow_from_peer();
  const auto bytes = build_packet(statement, flow, defaults, names());
  device_->receive({bytes, flow, uint16_t{0}}, now_);
}

void VirtualStage::settle() {
  device_->advance(now_);
  TxBatch batch(TxBatch::Limits{});
  for (bool more = true; more;) {
    batch.clear();
    more = device_->transmit(batch, now_, AckPolicy::kAll);
    batch.for_each_packet([&](const auto& message, size_t, std::span<const uint8_t> bytes) {
      sent.push_back({now_, {bytes.begin(), bytes.end()}, message.flow, uint16_t{0}, false});
    });
  }
  ibv_wc wc;
  while (cq_->poll(1, &wc) == 1) completions.push_back(wc);
  while (const auto event = device_->take_event()) events.push_back(event->type);
}

void VirtualStage::pass_until(Instant end, bool until_sent) {
  settle();
  while (!until_sent || sent.empty()) {
    const auto deadline = device_->next_deadline();
    if (!deadline || *deadline > end) break;
    now_ = std::max(now_, *deadline);
    settle();
  }
  if (until_sent && !sent.empty()) return;
  now_ = std::max(now_, end);
  settle();
}

uint32_t VirtualStage::key_of(const Word& word) const {
  const auto region = regions_.find(word.text);
  if (region == regions_.end() || region->second.region == nullptr) {
    return static_cast<uint32_t>(word.number);
  }
  return region->second.region->rkey.value();
}

std::optional<std::vector<uint8_t>> VirtualStage::memory(const std::string& region, size_t offset,
                                                         size_t length) {
  const std::vector<uint8_t>& bytes = regions_.at(region).bytes;
  if (offset > bytes.size() || length > bytes.size() - offset) return std::nullopt;
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(offset);
  return std::vector<uint8_t>(begin, begin + static_cast<ptrdiff_t>(length));
}

Names VirtualStage::names() const {
  return {[this](const Word& word) { return key_of(word); }, kScriptQpn, kScriptPeerQpn};
}

Outcome VirtualStage::act(const Statement& statement) {
  bool done = true;
  switch (statement.verb) {
    case Verb::kQp:
      done = make_qp(statement);
      break;
    case Verb::kRegion:
      done = add_region(statement);
      break;
    case Verb::kPost:
      done = post(statement);
      break;
    case Verb::kReceive:
      done = receive(statement);
      break;
    case Verb::kSrq:
      done = set_limit(statement);
      break;
    case Verb::kModify:
      done = modify(statement);
      break;
    default:
      packet_in(statement);
  }
  if (done) return {};
  return {Outcome::Kind::kRefused, "refused"};
}

Window VirtualStage::window(const std::optional<When>& when, Instant base) {
  if (!when) return {base, base};
  return {base + when->earliest, base + when->latest};
}

}  // namespace urxe::drill
