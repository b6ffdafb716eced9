// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tests/sim/memory.h"
#include "tests/sim/pieces.h"
#include "tests/sim/plan.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// A receive that is posted, and its buffer.
struct Receive {
  uint64_t wr_id = 0;
  size_t slot = 0;
  uint32_t length = 0;  ///< of all pieces
  std::vector<Piece> pieces;
};

/// The receives posted to one receive queue, and their buffers.
class ReceivePool {
 public:
  /// Of the wr_ids of receives.
  static constexpr uint64_t kReceiveBit = uint64_t{1} << 63;

  struct Setup {
    uint32_t number = 0;  ///< tells the pools of a host apart
    uint32_t depth = 0;   ///< receives posted at most
    uint32_t bytes = 0;   ///< of a receive at most
    /// The shared receive queue; nullptr: a queue pair's own, which completes in order.
    SharedReceiveQueue* srq = nullptr;
  };
  /// Puts a receive on the queue. False: full.
  using Post = std::function<bool(uint64_t wr_id, std::span<const Sge> sges)>;
  /// The length of the message that the receive after `ahead` others will hold, where it is known.
  using NextLength = std::function<std::optional<uint32_t>(size_t ahead)>;

  ReceivePool(const Plan& plan, Device& device, Memory& memory, PdId pd, const Setup& setup,
              Random random, Post post);

  /// The shared receive queue.
  [[nodiscard]] SharedReceiveQueue* srq() const { return setup_.srq; }
  [[nodiscard]] uint32_t depth() const { return setup_.depth; }

  void set_next_length(NextLength next_length) { next_length_ = std::move(next_length); }

  /// Posts as many as there is room for; fewer, or none, where they may be late.
  void post_some(bool may_be_late);
  /// A queue pair takes no more. Where it was the only one no more are posted.
  void leave() { closed_ = setup_.srq == nullptr; }
  [[nodiscard]] size_t outstanding() const { return posted_.size(); }
  /// All receives have been flushed, or wait on the shared queue.
  void check_flushed() const;
  /// Whether the receive was posted here.
  [[nodiscard]] bool posted(uint64_t wr_id) const;
  /// Sets a posted receive aside for a message that must not be lost. False: there is none left.
  bool promise();

  /// The receive that completed. Fails the run where none such was due.
  Receive take(uint64_t wr_id);

  // One of these follows for each receive taken; its buffer is free then.
  /// The buffer holds `data`, and behind it what it held before.
  void finish(const Receive& receive, std::span<const uint8_t> data);
  /// The buffer holds `data`, and behind it anything: parts of messages that broke off.
  void finish_used(const Receive& receive, std::span<const uint8_t> data);
  /// Nothing is known of what was received.
  void abandon(const Receive& receive);

  /// The first bytes of the buffer, at most `count`.
  [[nodiscard]] std::vector<uint8_t> contents(const Receive& receive, size_t count);

 private:
  void post_one();
  uint32_t draw_length();

  Memory& memory_;
  Random random_;
  uint32_t max_sge_;
  uint32_t late_percent_;
  Setup setup_;
  bool closed_ = false;
  size_t promised_ = 0;
  Post post_;
  NextLength next_length_;
  MemoryRegion* region_ = nullptr;
  std::deque<size_t> free_slots_;
  std::deque<Receive> posted_;
  uint64_t next_wr_id_ = 1;
};

}  // namespace urxe::sim
