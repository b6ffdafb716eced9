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

/// Packets per receive() that an engine reserves memory for when it is made.
inline constexpr size_t kUsualPacketsAtOnce = 1024;

// An engine has two halves. PacketEngine is the control: addresses, groups, source ports, and the
// engine's life. EngineLane carries packets; an engine has one or more lanes.
//
// How a packet travels between the device and the wire:
//
//     device ── FaultyLane ── CapturedLane ── ShmEngine ── UdpEngine ── kernel
//                                                 └── memory of another process
//
// The outermost lane is the one that the device's driver calls. Decorators (ForwardingEngine,
// ForwardingLane) hand each call on to what they wrap and change or record the packets on the way;
// an engine proper (udp, memory) carries them. ShmEngine carries some and hands on the others.
//
// Out: the caller owns a TxBatch and fills it within batch_limits() of the lane. transmit() reads
// it, copies what it must keep, and removes what it has taken before it returns. If the batch is
// empty then, the caller fills it again. Otherwise the lane has no room for the rest: the caller
// leaves the batch as it is, except that it may gather() it, and offers it again before any other.
// A decorator may hand on a batch of its own instead, by the same rule.
//
// In: receive() returns packets whose bytes belong to the lane. They are valid until the next call
// of the lane's receive(), or of a control function that reads sockets (close_address(), leave()).
// The caller reads or copies them until then, and frees nothing.
//
// Threads: one thread at a time uses a lane; several lanes may be in use at once. No control
// function runs beside another, or while a lane is in use. Any thread may wait on wait_fd() at any
// time. So a caller with one lane needs one lock; one with more needs a lock for each, and takes
// all of them for the control.

/// Packets that a FaultEngine has passed or changed, one direction.
struct FaultCounters {
  uint64_t passed = 0;
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
};

/// Packets that an engine has seen and the device has not.
struct EngineCounters {
  uint64_t send_lost = 0;     ///< could not be sent
  uint64_t receive_lost = 0;  ///< arrived, but could not be handed on
  uint64_t forwarded = 0;     ///< forwarded to the process that they were for
  uint64_t not_owner = 0;     ///< for a process that has ended
  uint64_t not_copied = 0;    ///< for every process, but too many to copy to each
  // carried through memory between processes of this host
  uint64_t memory_sent_packets = 0;
  uint64_t memory_sent_bytes = 0;
  uint64_t memory_received_packets = 0;
  uint64_t memory_received_bytes = 0;
  // carried as frames, by a packet socket
  uint64_t frame_sent_packets = 0;
  uint64_t frame_received_packets = 0;
  FaultCounters outgoing_faults{};
  FaultCounters incoming_faults{};
};

/// What an engine promises of the packets that all its lanes carry.
struct EnginePromises {
  /// Whether nobody needs to compute an ICRC for the engine: it computes that of each packet which
  /// may be damaged on its way, and what it hands out without one (RxPacket::has_icrc) is intact.
  /// False: packets must come with an ICRC, and the receiver checks it.
  bool integrity = false;

  // Segmentation: what a message of a batch may be (TxBatch).
  size_t segments_per_message = 1;  ///< 1: single packets
  size_t message_bytes = 65000;     ///< UDP payload
  Identification identification = Identification::kZero;
  /// Payloads of so many bytes may lie elsewhere than in the batch, which saves copying them.
  size_t elsewhere_from = SIZE_MAX;

  /// The largest packet, in bytes with the IP and UDP headers: larger ones are lost. UINT32_MAX:
  /// whatever the MTU of the interface allows.
  uint32_t largest_packet = UINT32_MAX;

  /// Whether no packet is lost for want of room at its receiver.
  bool lossless = false;
  /// Otherwise: bytes, as the kernel counts them, that can wait at an engine of this host before
  /// packets are lost; 0 if unknown.
  size_t receive_buffer = 0;
};

/// What one transmit() takes at most.
struct LaneLimits {
  /// Four turns of a queue pair. A larger batch would keep the receiver waiting while it is filled,
  /// and would not stay in the processor's cache until it is sent.
  size_t bytes = size_t{256} << 10;
  size_t packets = TxBatch::Limits{}.packets;
};

/// A part of an engine that carries packets, which one thread drives at a time. It belongs to its
/// engine, and lives as long.
class EngineLane {
 public:
  virtual ~EngineLane() = default;

  /// Takes packets that have arrived, as many as one burst of the engine. Never blocks. They are
  /// valid until the next call. Empty if nothing is waiting.
  virtual std::span<const RxPacket> receive() = 0;

  /// Takes packets from the batch, and returns how many. Taken are those that were sent; those that
  /// the lane keeps until there is room for them; and those that cannot be sent, which are lost, as
  /// on a network, and counted. The others stay in the batch, because a queue is full; wait_fd()
  /// becomes readable when there may be room. Packets of one flow stay in order. If a full queue
  /// gives nothing away for long, the lane takes what finds no room in it, and loses it: the batch
  /// must not wait forever for one receiver.
  virtual size_t transmit(TxBatch& batch) = 0;

  [[nodiscard]] virtual LaneLimits limits() const { return {}; }

  /// Whether packets of earlier transmit()s wait in the lane until there is room for them.
  [[nodiscard]] virtual bool has_unsent() const { return false; }

  /// Whether the last receive() took packets from memory, where looking again costs little.
  [[nodiscard]] virtual bool reads_memory() const { return false; }

  /// The caller is about to wait on wait_fd(). True: it must not, because there is something to
  /// receive or to send, perhaps. Otherwise the lane makes wait_fd() readable for all that arrives
  /// until end_wait(); before that call, or after it, wait_fd() does not tell of packets that come
  /// through memory. Other threads may receive() and transmit() meanwhile, as ever one at a time.
  [[nodiscard]] virtual bool begin_wait() { return false; }
  virtual void end_wait() {}

  /// A descriptor that is readable while receive() would return something, see begin_wait(), or
  /// may have room for what waits; -1 if the lane has none. A lane whose driver does not tell of
  /// room (dpdk) is to be asked again after a while.
  [[nodiscard]] virtual int wait_fd() const = 0;
};

/// The control of an engine that carries RoCEv2 packets.
class PacketEngine {
 public:
  virtual ~PacketEngine() = default;

  /// How many lanes the engine has: at least one, and always the same number.
  [[nodiscard]] virtual size_t lanes() const = 0;
  [[nodiscard]] virtual EngineLane& lane(size_t index) = 0;

  /// Begins to receive on a local address (a GID of the device) and makes it usable as a source.
  /// Does nothing if the address is open already.
  virtual Expected<void, EngineError> open_address(const Gid& local) = 0;

  /// Undoes open_address(). For an address that the interface has lost, whose source ports have
  /// been released: what has arrived there for this process is lost, what has arrived for others is
  /// forwarded. Does nothing if the address is not open, or if it could not be opened again.
  virtual void close_address(const Gid& local) = 0;

  /// Whether packets for an address that was opened may still come by way of other processes, and
  /// so late. It ends by itself, as the lanes receive(), mostly within some milliseconds.
  [[nodiscard]] virtual bool is_joining() const { return false; }

  /// Reserves a UDP source port for a queue pair and returns it: `wanted` (0xC000..0xFFFF) if it is
  /// free, else another one of that range. An engine that writes its own headers returns `wanted`.
  virtual Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) = 0;
  /// Gives back a port that claim_source_port() returned.
  virtual void release_source_port(const Gid& local, uint16_t port) = 0;

  /// Whether packets to a destination can go at once. False: the engine has asked for the link
  /// address of the first hop; receive() takes the answer, and until then most packets may be lost.
  [[nodiscard]] virtual bool find_hop(const Gid& /*destination*/) { return true; }

  /// Makes this interface a member of a multicast group (IPv4 as ::ffff:a.b.c.d, or IPv6), for
  /// switches and routers too, and begins to receive packets to the group. They include those that
  /// this host, and this engine, sends. Does nothing if the engine has joined the group already.
  virtual Expected<void, EngineError> join_group(const Gid& group) = 0;
  /// Undoes join_group(). Does nothing if the engine has not joined.
  virtual void leave_group(const Gid& group) = 0;

  /// Stops receiving, for good. Packets that have arrived for this process are lost; those for
  /// other processes that share its addresses are forwarded to them. May take some milliseconds.
  virtual void leave() {}

  /// For a forked child, before it destroys the engine: makes the destructor close descriptors
  /// only, because the packets in the sockets belong to the parent.
  virtual void abandon() {}

  /// What is promised later may be less: an engine may find that the kernel cannot segment. It then
  /// still takes batches by what it has promised before.
  [[nodiscard]] virtual EnginePromises promises() const = 0;
  /// The limits of the batches that a lane takes, by the promises and its own limits.
  [[nodiscard]] TxBatch::Limits batch_limits(size_t index = 0);

  /// What all lanes have counted.
  [[nodiscard]] virtual EngineCounters totals() const { return {}; }
};

/// An engine that is its own only lane.
class OneLaneEngine : public PacketEngine, public EngineLane {
 public:
  [[nodiscard]] size_t lanes() const final { return 1; }
  [[nodiscard]] EngineLane& lane(size_t /*index*/) final { return *this; }
};

}  // namespace urxe
