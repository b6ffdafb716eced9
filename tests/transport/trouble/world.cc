// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/trouble/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace urxe::test {
namespace {

constexpr uint32_t kSlotBytes = 8192;
/// One place a request: side 1's writable places, side 1's constants, receives at side 1.
constexpr size_t kBytes = size_t{kSlotBytes} * TroubledWorld::kSlots * 2 + 65536;
constexpr size_t kConstants = size_t{kSlotBytes} * TroubledWorld::kSlots;
constexpr size_t kReceives = 2 * kConstants;
constexpr uint32_t kReceiveBytes = 16384;
constexpr uint32_t kReceiveDepth = 256;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                        IBV_ACCESS_REMOTE_ATOMIC;

Gid address(int side) {
  const uint8_t bytes[4] = {192, 0, 2, static_cast<uint8_t>(1 + side)};
  return Gid::from_ipv4(bytes);
}

DeviceConfig config(int side) {
  DeviceConfig config;
  config.gids = {address(side)};
  return config;
}

sim::NetworkPlan faults() {
  sim::NetworkPlan plan;
  plan.latency = microseconds(10);
  plan.jitter = microseconds(5);
  plan.picoseconds_per_byte = 100;
  plan.loss = 10000;
  plan.duplicate = 20000;
  plan.reorder = 20000;
  plan.reorder_delay = microseconds(100);
  plan.corrupt = 5000;
  return plan;
}

uint8_t byte_of(uint64_t wr_id, size_t at) {
  return static_cast<uint8_t>(Random::mix(wr_id * 1000003 + at));
}

}  // namespace

TroubledWorld::Host::Host(int side, ibv_qp_type type, std::vector<uint8_t>& memory)
    : device(config(side)) {
  pd = device.alloc_pd().value();
  cq = device.create_cq(kDepth + kReceiveDepth, nullptr).value();
  region = device.register_memory(pd, memory.data(), memory.size(), 0x10000, kAccess).value();
  QpInit init;
  init.qpn = Qpn{side == 0 ? 0x100U : 0x8100U};
  init.type = type;
  init.pd = pd;
  init.send_cq = init.recv_cq = cq;
  init.cap = {kDepth, kReceiveDepth, 2, 2, 0};
  init.sq_sig_all = true;
  qp = device.create_qp(init).value();
}

TroubledWorld::TroubledWorld(uint64_t seed, ibv_qp_type type)
    : random(seed), type_(type), network_(faults(), 2, random.fork()) {
  for (int side = 0; side < 2; ++side) {
    memory_[side].assign(kBytes, 0);
    hosts_[side] = std::make_unique<Host>(side, type, memory_[side]);
  }
  for (size_t i = 0; i < kConstants; ++i) memory_[1][kConstants + i] = byte_of(77, i);
  connect();
}

void TroubledWorld::connect() {
  const uint32_t psn[2] = {random.range32(0, 0xffffff), random.range32(0, 0xffffff)};
  for (int side = 0; side < 2; ++side) {
    EXPECT_EQ(move(side, IBV_QPS_RESET), 0);
    sim::ConnectOptions options;
    options.destination = address(1 - side);
    options.dest_qpn = hosts_[1 - side]->qp->qpn;
    options.sq_psn = psn[side];
    options.rq_psn = psn[1 - side];
    EXPECT_TRUE(sim::connect(hosts_[side]->device, *hosts_[side]->qp, options, now_));
    events[side].clear();
  }
  completions.clear();
  next_wr_id_ = (next_wr_id_ / kSlots + 1) * kSlots;
  post_receives(kReceiveDepth);
}

int TroubledWorld::move(int side, ibv_qp_state state) {
  return sim::change_state(hosts_[side]->device, *hosts_[side]->qp, state, now_);
}

void TroubledWorld::post_receives(int count) {
  Host& host = *hosts_[1];
  const Sge into{host.region->iova + kReceives, kReceiveBytes, host.region->lkey};
  for (int i = 0; i < count; ++i) {
    sim::post_receive(host.device, *host.qp, UINT64_MAX, std::span(&into, 1));
  }
}

sim::SendRequest TroubledWorld::draw() {
  const uint64_t kinds = type_ == IBV_QPT_RC ? 3 : 2;
  constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ};
  sim::SendRequest request;
  request.wr_id = next_wr_id_++;
  request.opcode = kOpcodes[random.below(kinds)];
  const size_t place = request.wr_id % kSlots * kSlotBytes;
  const uint32_t length = random.range32(1, kMost);
  request.sges = {{hosts_[0]->region->iova + place, length, hosts_[0]->region->lkey}};
  const bool reads = request.opcode == IBV_WR_RDMA_READ;
  request.remote_addr = hosts_[1]->region->iova + place + (reads ? kConstants : 0);
  request.rkey = hosts_[1]->region->rkey;
  for (size_t i = 0; i < length; ++i) {
    memory_[0][place + i] = reads ? 0 : byte_of(request.wr_id, i);
  }
  return request;
}

void TroubledWorld::post(const sim::SendRequest& request) {
  EXPECT_TRUE(sim::post_send(hosts_[0]->device, *hosts_[0]->qp, request));
}

void TroubledWorld::deregister_remote() {
  EXPECT_TRUE(hosts_[1]->device.deregister_memory(hosts_[1]->region));
  hosts_[1]->region = nullptr;
}

void TroubledWorld::register_remote() {
  Host& host = *hosts_[1];
  host.region =
      host.device.register_memory(host.pd, memory_[1].data(), kBytes, 0x10000, kAccess).value();
}

bool TroubledWorld::is_executed(const sim::SendRequest& request) const {
  const size_t place = request.wr_id % kSlots * kSlotBytes;
  const size_t there = place + (request.opcode == IBV_WR_RDMA_READ ? kConstants : 0);
  const auto here = memory_[0].begin() + static_cast<ptrdiff_t>(place);
  return std::equal(here, here + request.sges[0].length,
                    memory_[1].begin() + static_cast<ptrdiff_t>(there));
}

std::optional<Instant> TroubledWorld::next_event() const {
  std::optional<Instant> next = network_.next_arrival();
  for (const auto& host : hosts_) {
    auto deadline = host->device.next_deadline();
    if (host->device.doorbell_pending()) deadline = now_;
    if (deadline && (!next || *deadline < *next)) next = deadline;
  }
  return next;
}

bool TroubledWorld::step(Instant until) {
  const auto next = next_event();
  if (!next || *next > until) {
    now_ = until;
    return false;
  }
  now_ = std::max(now_, *next);
  while (network_.next_arrival() && *network_.next_arrival() <= now_) {
    sim::Network::Arrival arrival = network_.take();
    hosts_[arrival.host]->inbox.push_back(std::move(arrival.packet));
  }
  drive(0);
  drive(1);
  return true;
}

void TroubledWorld::drive(int side) {
  Host& host = *hosts_[side];
  for (const sim::Packet& packet : host.inbox) host.device.receive(packet.view(), now_);
  host.inbox.clear();
  host.device.advance(now_);
  for (bool more = true; more;) {
    more = host.device.transmit(host.batch, now_, AckPolicy::kAll);
    for (const TxBatch::Message& message : host.batch.messages()) {
      const auto bytes = host.batch.bytes(message);
      network_.send(static_cast<size_t>(side), static_cast<size_t>(1 - side),
                    {{bytes.begin(), bytes.end()}, message.flow, 0, false}, now_);
    }
    host.batch.clear();
  }
  ibv_wc wc[32];
  while (const int count = host.cq->poll(32, wc)) {
    if (side == 0) completions.insert(completions.end(), wc, wc + count);
    if (side == 1 && host.qp->state() == IBV_QPS_RTS) post_receives(count);
  }
  while (const auto event = host.device.take_event()) events[side].push_back(event->type);
}

bool TroubledWorld::run_until(const std::function<bool()>& done) {
  const Instant end = now_ + seconds(60);
  while (!done()) {
    if (!step(end)) return done();
  }
  return true;
}

void TroubledWorld::run_for(Duration duration) {
  const Instant end = now_ + duration;
  while (step(end)) {
  }
}

}  // namespace urxe::test
