// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/memory/memory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace urxe {
namespace {
constexpr size_t kBurst = 64;
}

MemoryEngine* MemoryNetwork::find(const Gid& gid) const {
  for (const Port& port : ports_) {
    if (port.gid == gid) return port.engine;
  }
  return nullptr;
}

bool MemoryNetwork::has_room(const Gid& destination) const {
  const auto has = [](const MemoryEngine* to) { return to->waiting_.size() < to->queue_packets_; };
  if (!destination.is_multicast()) {
    const MemoryEngine* const to = find(destination);
    return to == nullptr || has(to);
  }
  return std::ranges::all_of(members_,
                             [&](const Port& p) { return p.gid != destination || has(p.engine); });
}

void MemoryNetwork::deliver(const RxPacket& packet) {
  const Gid& destination = packet.flow.destination;
  if (!destination.is_multicast()) return deliver_to(find(destination), packet);
  bool any = false;
  for (const Port& member : members_) {
    if (member.gid != destination) continue;
    deliver_to(member.engine, packet);
    any = true;
  }
  if (!any) ++lost_;
}

void MemoryNetwork::deliver_to(MemoryEngine* to, const RxPacket& packet) {
  if (to == nullptr) {
    ++lost_;
    return;
  }
  ++delivered_;
  to->waiting_.push_back({{packet.bytes.begin(), packet.bytes.end()},
                          packet.flow,
                          packet.ipv4_identification,
                          packet.has_icrc});
}

MemoryEngine::MemoryEngine(std::shared_ptr<MemoryNetwork> network, const TxBatch::Limits& limits,
                           size_t queue_packets)
    : network_(std::move(network)), limits_(limits), queue_packets_(queue_packets) {}

MemoryEngine::~MemoryEngine() {
  auto is_ours = [this](const MemoryNetwork::Port& p) { return p.engine == this; };
  std::erase_if(network_->ports_, is_ours);
  std::erase_if(network_->members_, is_ours);
}

EnginePromises MemoryEngine::promises() const {
  EnginePromises promises;
  promises.integrity = !limits_.seals;
  promises.segments_per_message = limits_.segments_per_message;
  promises.message_bytes = limits_.message_bytes;
  promises.identification = limits_.identification;
  promises.elsewhere_from = limits_.elsewhere_from;
  promises.lossless = true;
  return promises;
}

Expected<void, EngineError> MemoryEngine::open_address(const Gid& local) {
  const MemoryEngine* const owner = network_->find(local);
  if (owner == this) return {};
  if (owner != nullptr) {
    return Unexpected<EngineError>({EADDRINUSE, local.to_string() + " has an engine already"});
  }
  network_->ports_.push_back({local, this});
  return {};
}

void MemoryEngine::close_address(const Gid& local) {
  std::erase_if(network_->ports_,
                [&](const MemoryNetwork::Port& p) { return p.engine == this && p.gid == local; });
}

Expected<uint16_t, EngineError> MemoryEngine::claim_source_port(const Gid& /*local*/,
                                                                uint16_t wanted) {
  return wanted;
}

void MemoryEngine::release_source_port(const Gid& /*local*/, uint16_t /*port*/) {}

Expected<void, EngineError> MemoryEngine::join_group(const Gid& group) {
  leave_group(group);
  network_->members_.push_back({group, this});
  return {};
}

void MemoryEngine::leave_group(const Gid& group) {
  std::erase_if(network_->members_,
                [&](const MemoryNetwork::Port& p) { return p.engine == this && p.gid == group; });
}

std::span<const RxPacket> MemoryEngine::receive() {
  packets_.clear();
  handed_out_.clear();
  while (!waiting_.empty() && handed_out_.size() < kBurst) {
    handed_out_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    const Packet& packet = handed_out_.back();
    packets_.push_back({packet.bytes, packet.flow, packet.identification, packet.has_icrc});
  }
  return packets_;
}

size_t MemoryEngine::transmit(TxBatch& batch) {
  const size_t packets = batch.packets();
  batch.gather();
  batch.remove_if([&](const TxBatch::Message& message) {
    if (!network_->has_room(message.flow.destination)) return false;
    send(batch, message);
    return true;
  });
  unsent_ = !batch.empty();
  return packets - batch.packets();
}

void MemoryEngine::send(const TxBatch& batch, const TxBatch::Message& message) {
  const auto bytes = batch.bytes(message);
  for (size_t i = 0; i < message.segments; ++i) {
    const size_t at = i * message.segment_size;
    const size_t size = std::min(message.segment_size, bytes.size() - at);
    std::optional<uint16_t> identification;
    if (message.flow.destination.is_ipv4()) identification = batch.identification(i);
    network_->deliver({bytes.subspan(at, size), message.flow, identification, message.sealed});
  }
}

}  // namespace urxe
