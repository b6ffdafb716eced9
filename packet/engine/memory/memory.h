// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "packet/engine/engine.h"

namespace urxe {

class MemoryEngine;

/// Connects MemoryEngines by their GIDs. Delivers packets in order and at once, as far as the
/// queues have room. A queue that has room for one packet takes a whole message.
class MemoryNetwork {
 public:
  [[nodiscard]] uint64_t delivered() const { return delivered_; }
  /// Packets to a GID or group that no engine has opened.
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  friend class MemoryEngine;
  struct Port {
    Gid gid;
    MemoryEngine* engine;
  };
  MemoryEngine* find(const Gid& gid) const;
  [[nodiscard]] bool has_room(const Gid& destination) const;
  void deliver(const RxPacket& packet);
  void deliver_to(MemoryEngine* to, const RxPacket& packet);

  std::vector<Port> ports_;
  std::vector<Port> members_;  ///< of multicast groups
  uint64_t delivered_ = 0;
  uint64_t lost_ = 0;
};

/// An engine without a kernel, for tests. It is deterministic, and knows the identification of the
/// packets that it receives, so that every bit of the ICRC is checked. It loses nothing: what finds
/// a full queue waits with the sender. Packets of a batch that is
/// not sealed arrive without ICRCs. All engines of a network
/// belong to one thread.
class MemoryEngine final : public OneLaneEngine {
 public:
  static constexpr size_t kDefaultQueue = 4096;  ///< packets

  explicit MemoryEngine(std::shared_ptr<MemoryNetwork> network, const TxBatch::Limits& limits = {},
                        size_t queue_packets = kDefaultQueue);
  ~MemoryEngine() override;
  MemoryEngine(const MemoryEngine&) = delete;
  MemoryEngine& operator=(const MemoryEngine&) = delete;

  [[nodiscard]] EnginePromises promises() const override;
  Expected<void, EngineError> open_address(const Gid& local) override;
  void close_address(const Gid& local) override;
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) override;
  void release_source_port(const Gid& local, uint16_t port) override;
  Expected<void, EngineError> join_group(const Gid& group) override;
  void leave_group(const Gid& group) override;
  std::span<const RxPacket> receive() override;
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] LaneLimits limits() const override { return {limits_.bytes, limits_.packets}; }
  [[nodiscard]] bool has_unsent() const override { return unsent_; }
  [[nodiscard]] int wait_fd() const override { return -1; }

 private:
  friend class MemoryNetwork;
  void send(const TxBatch& batch, const TxBatch::Message& message);

  struct Packet {
    std::vector<uint8_t> bytes;
    Flow flow;
    std::optional<uint16_t> identification;
    bool has_icrc = true;
  };

  std::shared_ptr<MemoryNetwork> network_;
  TxBatch::Limits limits_;
  size_t queue_packets_;
  bool unsent_ = false;  ///< the last batch found a full queue
  std::deque<Packet> waiting_;
  std::deque<Packet> handed_out_;
  std::vector<RxPacket> packets_;
};

}  // namespace urxe
