// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <deque>
#include <set>

#include "packet/wire/roce_packet.h"
#include "tests/fuzz/input.h"
#include "transport/device/device.h"

namespace urxe::fuzz {

/// Aborts, as fuzzers want it, unless `holds`.
void require(bool holds, const char* what);

inline constexpr uint32_t kBytes = 16384;  ///< of each piece of memory
inline constexpr uint64_t kTargetVa = 0x10000;
inline constexpr uint32_t kQueueDepth = 16;

/// Memory with guard bytes around it.
struct Guarded {
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kGuardByte = 0xee;

  alignas(8) std::array<uint8_t, kBytes + 2 * kGuard> bytes;
  Guarded() { bytes.fill(kGuardByte); }
  uint8_t* data() { return bytes.data() + kGuard; }
  /// The bytes around it are as they were.
  void check() const;
  /// So are those in it.
  void check_untouched() const;
};

/// That the device listens for.
inline constexpr ServiceId kHarnessService{0x01061234};

/// Of the device's management agent, which takes all methods.
inline constexpr MadAgentKey kHarnessAgent{0x0a, 1, 0};

/// A queue pair and what is posted to it.
struct Connection {
  QueuePair* qp = nullptr;
  std::deque<uint64_t> sends;  ///< wr_ids posted and not completed
  std::deque<uint64_t> receives;
};

/// A shared receive queue and what is posted to it; completes in any order.
struct Shared {
  SharedReceiveQueue* srq = nullptr;
  std::set<uint64_t> receives;
};

/// A device with a queue pair of each kind, told what an input says: hostile packets whose ICRC is
/// right and whose numbers are near those expected, requests and receives, time, changes of states
/// and objects, raw bytes. Checks that memory without a right stays as it is, that all that is sent
/// is valid, and that what completes was posted.
class DeviceHarness {
 public:
  explicit DeviceHarness(uint8_t options);
  void run(Input& input);

 private:
  // Kinds of queue pairs, by index; the first are RC so that old inputs keep their meaning.
  static constexpr size_t kQps = 9;
  static constexpr size_t kSrqs = 3;  ///< a basic one and two of XRC

  // device_harness.cc
  void register_memory();
  void create_qp(size_t index);
  void create_srq(size_t index);
  void connect(Connection& connection);
  void transmit();
  void poll();
  void take_completion(const ibv_wc& wc);
  void forget(Connection& connection);
  [[nodiscard]] uint32_t mtu() const { return 128U << mtu_; }

  // device_commands.cc
  void command(Input& input);
  Connection& pick(Input& input) { return connections_[input.byte() % kQps]; }
  void post_send(Input& input);
  void post_receive(Input& input);
  void post_shared_receive(Input& input);
  void modify(Input& input);
  void modify_anything(Input& input);
  void change_shared_queue(Input& input);
  void change_memory(Input& input);
  void change_group(Input& input);
  void limit_rate(Input& input);

  // device_packets.cc
  void packet(Input& input);
  void any_packet(Input& input);
  void raw(Input& input);
  void mad(Input& input);
  Headers headers(Input& input, const Connection& connection);
  Psn psn(Input& input, const Connection& connection) const;
  void take_communication();
  void address_agent(uint8_t options, MadBytes& mad) const;
  void take_agent_events();
  void deliver(const Flow& flow, const Headers& headers, size_t payload, uint8_t fill);

  Flow from_peer_;
  Device device_;
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  XrcDomain* domain_ = nullptr;
  Guarded local_;
  Guarded target_;
  Guarded read_only_;
  MemoryRegion* local_region_ = nullptr;
  MemoryRegion* target_region_ = nullptr;
  MemoryRegion* read_only_region_ = nullptr;
  MemoryWindow* window_ = nullptr;
  std::array<Connection, kQps> connections_;
  std::array<Shared, kSrqs> shared_;
  CommId communication_;  ///< the last that the connection manager has told of
  MadAgentId agent_;
  uint64_t transaction_ = 0;  ///< the agent's last
  Instant now_{1};
  uint64_t next_wr_id_ = 1;
  ibv_mtu mtu_ = IBV_MTU_256;
  uint8_t rd_atomic_ = 1;
};

/// The address of the device, of its peer, ...
Gid harness_gid(uint8_t last);
/// A multicast group.
Gid harness_group(uint8_t last);

}  // namespace urxe::fuzz
