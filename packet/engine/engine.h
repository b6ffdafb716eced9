// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// What was done to packets on purpose, one direction.
struct FaultCounters {
  uint64_t passed = 0;
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
};

/// Packets that an engine knows of and the device does not.
struct EngineCounters {
  uint64_t send_lost = 0;     ///< could not be sent
  uint64_t receive_lost = 0;  ///< arrived and could not be handed on
  uint64_t forwarded = 0;     ///< passed on to the process that they were for
  uint64_t not_owner = 0;     ///< for a process that is gone
  uint64_t not_copied = 0;    ///< to QP1, for every process, and kept here: too many of them
  FaultCounters outgoing_faults{};
  FaultCounters incoming_faults{};
};

/// Carries RoCEv2 packets. Not thread-safe: one thread at a time, but for wait_fd(), which any
/// thread may wait on.
class PacketEngine {
 public:
  virtual ~PacketEngine() = default;

  /// Begins to receive on a local address (a GID of the device) and makes it usable as a source.
  /// Does nothing where that has been done.
  virtual Expected<void, EngineError> open_address(const Gid& local) = 0;

  /// A UDP source port for a queue pair: `wanted` (0xC000..0xFFFF) where it is to be had, else
  /// another one of that range. Engines that write their own headers return `wanted`.
  virtual Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) = 0;
  /// Gives back what claim_source_port() returned.
  virtual void release_source_port(const Gid& local, uint16_t port) = 0;

  /// Begins to receive what is sent to a multicast group (IPv4 as ::ffff:a.b.c.d, or IPv6) on this
  /// interface; the host becomes a member of the group, as its switches and routers see it. What
  /// this host itself sends to the group comes too, from this engine as well. Does nothing where
  /// that has been done.
  virtual Expected<void, EngineError> join_group(const Gid& group) = 0;
  /// Ends what join_group() began, if it did.
  virtual void leave_group(const Gid& group) = 0;

  /// Ends all receiving, for good: what has arrived for this process is lost, what has for others
  /// that share its addresses is passed on to them. May take some milliseconds.
  virtual void leave() {}

  /// In a forked child, before the engine is destroyed: what its sockets hold is the parent's, and
  /// stays.
  virtual void abandon() {}

  /// Takes what has arrived, up to the engine's burst. Never blocks. The packets are valid until
  /// the next call. Empty: nothing is waiting.
  virtual std::span<const RxPacket> receive() = 0;

  /// Sends the batch and clears it. What cannot be sent is lost, as on a network, and counted.
  virtual void transmit(TxBatch& batch) = 0;

  /// Limits for batches to be handed to transmit().
  [[nodiscard]] virtual TxBatch::Limits batch_limits() const = 0;

  /// How much may wait at an engine of this host before it is lost, in bytes as the kernel counts;
  /// 0: unknown.
  [[nodiscard]] virtual size_t receive_buffer() const { return 0; }

  [[nodiscard]] virtual EngineCounters totals() const { return {}; }

  /// Readable while receive() would return something; -1 where the engine has none.
  [[nodiscard]] virtual int wait_fd() const = 0;
};

}  // namespace urxe
