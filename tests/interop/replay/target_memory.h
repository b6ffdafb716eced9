// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/interop/replay/adapter.h"
#include "tests/interop/replay/side_plan.h"

namespace urxe::replay {

/// The memory of the device under test that its peers access, at the recorded addresses, and beside
/// it what must come of it. The keys are the device's own, so those in recorded requests are
/// translated.
class TargetMemory {
 public:
  TargetMemory(Adapter& adapter, const Story& story, const SidePlan& side);

  /// Binds the windows through the queue pair that is accessed by them.
  void bind_windows(QueuePair& qp);
  /// The device's key for a recorded one; one that stood for nothing stays what it is.
  [[nodiscard]] RKey key_for(RKey recorded) const;

  /// Before a request is received for the first time: what a READ must find there, and the value
  /// that the first atomic of an address must.
  void prepare(const Talk& talk, const Message& message, const Frame& request);
  /// What a request that was carried out must have done.
  void expect(const Talk& talk, const Message& message);
  /// What is wrong in the memory; empty: nothing.
  [[nodiscard]] std::string find_damage() const;

 private:
  struct Region {
    RegionRow row;
    bool is_window = false;  ///< of type 2, bound by the queue pair that is accessed
    std::vector<uint8_t> actual;
    std::vector<uint8_t> expected;
    MemoryRegion* registered = nullptr;
    RKey key;
  };

  void add(const RegionRow& row);
  void learn(const Talk& talk);
  Region* find(RKey rkey, uint64_t va, uint64_t length);
  void prepare_read(const Talk& talk, const Message& message, const Frame& request);
  void prepare_atomic(const Talk& talk, const Message& message);
  void store(RKey rkey, uint64_t va, std::span<const uint8_t> bytes);

  Adapter& adapter_;
  std::vector<RegionRow> accessed_;
  std::set<uint32_t> windows_;  ///< keys that a peer takes back
  std::deque<Region> regions_;
  bool sets_atomics_;
  std::set<uint64_t> atomics_;  ///< addresses whose value is known
};

}  // namespace urxe::replay
