// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/sim/posting.h"

namespace urxe::test {
namespace {

constexpr size_t kBytes = 1 << 20;
constexpr size_t kBurst = 16;  ///< packets that a host takes before it answers
constexpr uint32_t kFirstQpn[2] = {0x100, 0x8100};

Gid address(int side) {
  const uint8_t bytes[4] = {192, 0, 2, static_cast<uint8_t>(1 + side)};
  return Gid::from_ipv4(bytes);
}

DeviceConfig config(int side) {
  DeviceConfig config;
  config.gids = {address(side)};
  return config;
}

TxBatch::Limits limits(uint32_t segments) {
  TxBatch::Limits limits;
  limits.segments_per_message = segments;
  limits.identification = segments > 1 ? Identification::kBySegment : Identification::kZero;
  return limits;
}

}  // namespace

/// As measured on Linux: a single packet takes up to twice its size.
size_t Pair::Datagram::room() const {
  return segments == 1 ? 2 * bytes.size() + 256 + (bytes.size() < 200 ? 512 : 0)
                       : bytes.size() + segments * 55 + 256;
}

Pair::Host::Host(const PairOptions& options, int side, std::vector<uint8_t>& memory)
    : batch(limits(options.segments)) {
  lanes.push_back(std::make_unique<Device>(config(side)));
  Device& device = *lanes[0];
  while (lanes.size() < options.lanes) lanes.push_back(std::make_unique<Device>(device));
  if (options.receive_buffer != 0) {
    for (const auto& lane : lanes) lane->set_receive_buffer(options.receive_buffer);
  }
  pd = device.alloc_pd().value();
  const uint32_t entries = options.connections * options.sq_depth;
  cq = device.create_cq(entries, nullptr).value();
  region = device
               .register_memory(pd, memory.data(), memory.size(),
                                reinterpret_cast<uint64_t>(memory.data()),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
               .value();
  for (uint32_t i = 0; i < options.connections; ++i) {
    QpInit init;
    init.qpn = Qpn{kFirstQpn[side] + i};
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.cap = {options.sq_depth, options.sq_depth, 1, 1, 0};
    init.sq_sig_all = true;
    qps.push_back(lanes[i % options.lanes]->create_qp(init).value());
  }
}

/// The first lane ends last.
Pair::Host::~Host() {
  while (!lanes.empty()) lanes.pop_back();
}

Device& Pair::Host::lane_for(const uint8_t* packet) const {
  constexpr size_t kDestQpAt = 5;  // in the BTH
  const Qpn qpn(static_cast<uint32_t>(packet[kDestQpAt] << 16 | packet[kDestQpAt + 1] << 8 |
                                      packet[kDestQpAt + 2]));
  for (const auto& lane : lanes) {
    if (lane->find_qp(qpn) != nullptr) return *lane;
  }
  return *lanes[0];
}

bool Pair::Host::doorbell_pending() const {
  return std::ranges::any_of(lanes, [](const auto& lane) { return lane->doorbell_pending(); });
}

Instant Pair::Host::next_deadline() const {
  Instant earliest = kNever;
  for (const auto& lane : lanes) {
    earliest = std::min(earliest, lane->next_deadline().value_or(kNever));
  }
  return earliest;
}

Pair::Pair(const PairOptions& options)
    : local(kBytes, 1),
      remote(kBytes, 2),
      options_(options),
      random_(options.seed),
      by_connection_(options.connections) {
  for (int side = 0; side < 2; ++side) {
    hosts_[side] = std::make_unique<Host>(options, side, side == 0 ? local : remote);
  }
  for (uint32_t i = 0; i < options.connections; ++i) connect(i);
}

void Pair::connect(uint32_t index) {
  for (int side = 0; side < 2; ++side) {
    sim::ConnectOptions connect = options_.connect;
    connect.destination = address(1 - side);
    connect.dest_qpn = Qpn{kFirstQpn[1 - side] + index};
    EXPECT_TRUE(sim::connect(lane(side, index), qp(side, index), connect, now_));
  }
}

bool Pair::post(uint32_t index, ibv_wr_opcode opcode, uint32_t length) {
  if (opcode == IBV_WR_SEND) {
    const Sge into{reinterpret_cast<uint64_t>(remote.data()), length, hosts_[1]->region->lkey};
    const std::span<const Sge> list(&into, length == 0 ? 0 : 1);
    if (!sim::post_receive(lane(1, index), qp(1, index), index, list)) return false;
  }
  sim::SendRequest request;
  request.wr_id = index;
  request.opcode = opcode;
  request.sges = {{reinterpret_cast<uint64_t>(local.data()), length, hosts_[0]->region->lkey}};
  request.remote_addr = reinterpret_cast<uint64_t>(remote.data());
  request.rkey = hosts_[1]->region->rkey;
  request.compare_add = 1;
  return sim::post_send(lane(0, index), qp(0, index), request);
}

void Pair::arrive(int side, Datagram datagram) {
  Host& host = *hosts_[side];
  const size_t limit = options_.receive_buffer;
  if (limit != 0 && host.buffered + datagram.room() > limit) {
    overflowed_ += datagram.segments;
    return;
  }
  host.buffered += datagram.room();
  host.socket.push_back(std::move(datagram));
}

/// The network has taken the datagram; what it does not lose arrives.
void Pair::carry(int side, Datagram datagram) {
  const auto arrives = [&](Datagram part) {
    network_.emplace(now_ + options_.latency, std::pair(1 - side, std::move(part)));
  };
  if (options_.loss == 0) return arrives(std::move(datagram));
  for (size_t i = 0; i < datagram.segments; ++i) {
    if (std::bernoulli_distribution(options_.loss)(random_)) continue;
    const auto begin = datagram.bytes.begin() + static_cast<ptrdiff_t>(i * datagram.segment_size);
    const auto left = static_cast<size_t>(datagram.bytes.end() - begin);
    const size_t size = datagram.segments == 1 ? left : std::min(datagram.segment_size, left);
    Datagram part{{begin, begin + static_cast<ptrdiff_t>(size)}, datagram.flow, size, 1, i};
    arrives(std::move(part));
  }
}

void Pair::send(int side) {
  std::vector<Device*> order;
  for (const auto& lane : hosts_[side]->lanes) order.push_back(lane.get());
  if (order.size() > 1) std::ranges::shuffle(order, random_);
  for (Device* lane : order) send(side, *lane);
}

void Pair::send(int side, Device& lane) {
  Host& host = *hosts_[side];
  for (bool more = true; more;) {
    more = lane.transmit(host.batch, now_, AckPolicy::kAll);
    for (const TxBatch::Message& message : host.batch.messages()) {
      const auto bytes = host.batch.bytes(message);
      Datagram datagram{
          {bytes.begin(), bytes.end()}, message.flow, message.segment_size, message.segments, 0};
      carry(side, std::move(datagram));
    }
    host.batch.clear();
  }
}

void Pair::poll(int side) {
  ibv_wc wc[32];
  while (const int count = hosts_[side]->cq->poll(32, wc)) {
    if (side == 1) continue;
    for (int i = 0; i < count; ++i) {
      if (wc[i].status != IBV_WC_SUCCESS) {
        ++failed_;
        continue;
      }
      ++succeeded_;
      ++by_connection_[wc[i].wr_id];
      if (on_completion) on_completion(static_cast<uint32_t>(wc[i].wr_id));
    }
  }
}

void Pair::drive(int side) {
  Host& host = *hosts_[side];
  size_t packets = 0;
  while (packets < kBurst && !host.socket.empty()) {
    const Datagram datagram = std::move(host.socket.front());
    host.socket.pop_front();
    host.buffered -= datagram.room();
    for (size_t i = 0; i < datagram.segments; ++i, ++packets) {
      const size_t offset = i * datagram.segment_size;
      const size_t size = std::min(datagram.segment_size, datagram.bytes.size() - offset);
      const auto identification =
          static_cast<uint16_t>(datagram.first + (datagram.segments > 1 ? i : 0));
      const uint8_t* const packet = datagram.bytes.data() + offset;
      host.lane_for(packet).receive({{packet, size}, datagram.flow, identification}, now_);
    }
  }
  if (host.socket.empty()) {
    for (const auto& lane : host.lanes) lane->advance(now_);
  }
  send(side);
  poll(side);
  if (host.doorbell_pending()) send(side);
  host.busy_until = now_ + options_.service[side] * static_cast<int64_t>(packets);
}

/// When the host runs next.
Instant Pair::next_turn(int side) const {
  const Host& host = *hosts_[side];
  Instant when = host.next_deadline();
  if (!host.socket.empty() || host.doorbell_pending()) when = now_;
  return std::max(when, host.busy_until);
}

bool Pair::step(Instant until) {
  const Instant arrival = network_.empty() ? kNever : network_.begin()->first;
  const Instant turns[2] = {next_turn(0), next_turn(1)};
  const Instant next = std::min({arrival, turns[0], turns[1]});
  if (next > until) {
    now_ = until;
    return false;
  }
  now_ = std::max(now_, next);
  if (arrival == next) {
    auto first = network_.extract(network_.begin());
    arrive(first.mapped().first, std::move(first.mapped().second));
    return true;
  }
  drive(turns[0] == next ? 0 : 1);
  return true;
}

bool Pair::run_until(const std::function<bool()>& done) {
  const Instant end = now_ + seconds(3600);
  while (!done()) {
    if (!step(end)) return false;
  }
  return true;
}

void Pair::run_for(Duration duration) {
  const Instant end = now_ + duration;
  while (step(end)) {
  }
}

}  // namespace urxe::test
