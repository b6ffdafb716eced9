// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <utility>

#include "packet/engine/engine.h"

namespace urxe {

/// Wraps an engine and hands every control call on to it. Its lanes are the engine's own. A
/// decorator (fault, capture, ...) derives from it, overrides the calls that it changes, and may
/// have lanes of its own around the engine's (ForwardingLane).
class ForwardingEngine : public PacketEngine {
 public:
  [[nodiscard]] size_t lanes() const override { return inner_->lanes(); }
  [[nodiscard]] EngineLane& lane(size_t index) override { return inner_->lane(index); }
  Expected<void, EngineError> open_address(const Gid& local) override {
    return inner_->open_address(local);
  }
  void close_address(const Gid& local) override { inner_->close_address(local); }
  [[nodiscard]] bool is_joining() const override { return inner_->is_joining(); }
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) override {
    return inner_->claim_source_port(local, wanted);
  }
  void release_source_port(const Gid& local, uint16_t port) override {
    inner_->release_source_port(local, port);
  }
  [[nodiscard]] bool find_hop(const Gid& destination) override {
    return inner_->find_hop(destination);
  }
  Expected<void, EngineError> join_group(const Gid& group) override {
    return inner_->join_group(group);
  }
  void leave_group(const Gid& group) override { inner_->leave_group(group); }
  void leave() override { inner_->leave(); }
  void abandon() override { inner_->abandon(); }
  [[nodiscard]] EnginePromises promises() const override { return inner_->promises(); }
  [[nodiscard]] EngineCounters totals() const override { return inner_->totals(); }

 protected:
  explicit ForwardingEngine(std::unique_ptr<PacketEngine> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] PacketEngine& inner() { return *inner_; }
  [[nodiscard]] const PacketEngine& inner() const { return *inner_; }
  /// For one that must destroy the engine before something of its own.
  void set_inner(std::unique_ptr<PacketEngine> inner) { inner_ = std::move(inner); }

 private:
  std::unique_ptr<PacketEngine> inner_;
};

/// Wraps a lane of another engine, which outlives this, and hands every call on to it.
class ForwardingLane : public EngineLane {
 public:
  std::span<const RxPacket> receive() override { return inner_lane_.receive(); }
  size_t transmit(TxBatch& batch) override { return inner_lane_.transmit(batch); }
  [[nodiscard]] LaneLimits limits() const override { return inner_lane_.limits(); }
  [[nodiscard]] bool has_unsent() const override { return inner_lane_.has_unsent(); }
  [[nodiscard]] bool reads_memory() const override { return inner_lane_.reads_memory(); }
  [[nodiscard]] bool begin_wait() override { return inner_lane_.begin_wait(); }
  void end_wait() override { inner_lane_.end_wait(); }
  [[nodiscard]] int wait_fd() const override { return inner_lane_.wait_fd(); }

 protected:
  explicit ForwardingLane(EngineLane& inner) : inner_lane_(inner) {}
  [[nodiscard]] EngineLane& inner_lane() { return inner_lane_; }
  [[nodiscard]] const EngineLane& inner_lane() const { return inner_lane_; }

 private:
  EngineLane& inner_lane_;
};

}  // namespace urxe
