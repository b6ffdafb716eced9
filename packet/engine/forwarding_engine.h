// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <utility>

#include "packet/engine/engine.h"

namespace urxe {

/// Wraps an engine and hands every call on to it. A decorator (fault, capture, ...) derives from it
/// and overrides the calls that it changes.
class ForwardingEngine : public PacketEngine {
 public:
  Expected<void, EngineError> open_address(const Gid& local) override {
    return inner_->open_address(local);
  }
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
  std::span<const RxPacket> receive() override { return inner_->receive(); }
  void transmit(TxBatch& batch) override { inner_->transmit(batch); }
  [[nodiscard]] TxBatch::Limits batch_limits() const override { return inner_->batch_limits(); }
  [[nodiscard]] size_t receive_buffer() const override { return inner_->receive_buffer(); }
  [[nodiscard]] bool has_unsent() const override { return inner_->has_unsent(); }
  [[nodiscard]] bool reads_memory() const override { return inner_->reads_memory(); }
  [[nodiscard]] bool begin_wait() override { return inner_->begin_wait(); }
  void end_wait() override { inner_->end_wait(); }
  [[nodiscard]] EngineCounters totals() const override { return inner_->totals(); }
  [[nodiscard]] int wait_fd() const override { return inner_->wait_fd(); }

 protected:
  explicit ForwardingEngine(std::unique_ptr<PacketEngine> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] PacketEngine& inner() { return *inner_; }
  [[nodiscard]] const PacketEngine& inner() const { return *inner_; }
  /// For one that must destroy the engine before something of its own.
  void set_inner(std::unique_ptr<PacketEngine> inner) { inner_ = std::move(inner); }

 private:
  std::unique_ptr<PacketEngine> inner_;
};

}  // namespace urxe
