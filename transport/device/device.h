// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/wire/ethernet/frame_batch.h"
#include "packet/wire/ethernet/rx_frame.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"
#include "transport/cm/connection_manager.h"
#include "transport/device/channel_adapter.h"
#include "transport/device/counters.h"
#include "transport/limits.h"
#include "transport/memory/memory_region.h"
#include "transport/observation/object_report.h"
#include "transport/observation/qp_report.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/queues/completion_queue.h"
#include "transport/queues/shared_receive_queue.h"

namespace urxe {

/// Which acknowledgements transmit() sends.
enum class AckPolicy : uint8_t {
  /// All that are due.
  kAll,
  /// Those that cannot wait (NAKs, many unacknowledged packets) and those of queue pairs that send
  /// requests anyway; the others wait for a later call. Lets an answer and an ACK share a datagram.
  kUrgentOnly,
};

/// The channel adapter (IBTA vol. 1, chapter 9): protocol only. It does no I/O, reads no clock and
/// starts no thread. The caller gives it packets, doorbells and the time, and takes packets,
/// completions and events from it.
///
/// The caller does this, in this order, whenever something has happened:
///   1. receive() each packet that has arrived;
///   2. advance() to the present time, once no more packets wait: a retry timer must not overtake
///      an ACK that has arrived;
///   3. transmit() into a batch and send the batch; repeat while transmit() returns true;
///   4. take_notified() and take_event() until they return nothing; handle cm().has_event() and
///      mads().take_news();
///   5. start again when a packet arrives, when a doorbell is rung, or at next_deadline().
///
/// A device has one lane or more. Each lane is a Device, driven by itself: it has queue pairs,
/// timers and a QP1. All other objects are made by calls of the first lane, and serve all: domains,
/// regions, windows, completion queues, shared receive queues. Several lanes may complete to one
/// completion queue. The queue pairs that take from one shared receive queue are of one lane, and
/// those of XRC of the first.
///
/// Thread-safety: driving a lane needs a lock of the lane, and calls that make, change, query or
/// destroy objects those of all lanes. The locks are the caller's. Without one: the poster's side
/// of a queue pair's work queues and ring_doorbell(); the poller's side of a completion queue and
/// its arm(); QueuePair::state(). Call ring_doorbell() after a post to the send queue. After a post
/// to the receive queue, call it only if the state is then IBV_QPS_ERR: the post must be flushed.
class Device {
 public:
  explicit Device(const DeviceConfig& config);
  /// A further lane of the device whose first lane is `first`, which outlives it. Begins with the
  /// first lane's configuration. Made and destroyed with the locks of all lanes held. May throw
  /// std::bad_alloc.
  explicit Device(Device& first);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // --- Objects. Errors are errno values. Pointers stay valid until the object is destroyed.

  /// The GID table; a queue pair keeps the address it resolved at RTR.
  void set_gids(std::span<const Gid> gids);
  /// The largest path MTU that a queue pair may ask for from now on.
  void set_active_mtu(ibv_mtu mtu);
  /// The largest payload of an Ethernet frame, for raw packets.
  void set_interface_mtu(uint32_t mtu);
  [[nodiscard]] const DeviceConfig& config() const;
  /// The size of the receive buffer of a process of this host, in bytes, as the kernel counts: what
  /// is in flight to a peer is less (Path, Backpressure). Other hosts are taken to have the same.
  void set_receive_buffer(size_t bytes);

  // Calls of the first lane, for all:

  /// ENOMEM. `owner` is only told to observers.
  Expected<PdId, Errno> alloc_pd(uint32_t owner = 0);
  /// EBUSY: regions, windows, queue pairs or shared receive queues use it. EINVAL: it is not there.
  Expected<void, Errno> dealloc_pd(PdId pd);
  /// The same, but one that is in use goes with the last object that uses it.
  void release_pd(PdId pd);

  /// EINVAL: access flags; ENOMEM: too many. See MemoryTable::add. The caller checks that the
  /// memory is mapped.
  Expected<MemoryRegion*, Errno> register_memory(PdId pd, uint8_t* host, uint64_t length,
                                                 uint64_t iova, int access,
                                                 Backing backing = Backing::kPinned);
  Expected<void, Errno> deregister_memory(
      MemoryRegion* region);  ///< EBUSY: windows are bound to it
  /// Gives the region new values. Its keys stay. On error nothing changes.
  Expected<void, Errno> reregister_memory(MemoryRegion& region, PdId pd, uint8_t* host,
                                          uint64_t length, uint64_t iova, int access,
                                          Backing backing = Backing::kPinned);

  /// The region that has the key, or nullptr.
  [[nodiscard]] const MemoryRegion* find_memory(LKey lkey) const;
  [[nodiscard]] bool is_window(RKey rkey) const;

  Expected<MemoryWindow*, Errno> alloc_window(PdId pd, ibv_mw_type type);  ///< ENOMEM
  void dealloc_window(MemoryWindow* window);

  /// `entries` 1..kMaxCqEntries, else EINVAL; ENOMEM.
  Expected<CompletionQueue*, Errno> create_cq(uint32_t entries, void* user, CqOptions options = {});
  void moderate_cq(CompletionQueue& cq, CqModeration moderation);
  Expected<void, Errno> resize_cq(CompletionQueue& cq, uint32_t entries);  ///< EINVAL
  Expected<void, Errno> destroy_cq(CompletionQueue* cq);                   ///< EBUSY

  Expected<XrcDomain*, Errno> alloc_domain();               ///< ENOMEM
  Expected<void, Errno> dealloc_domain(XrcDomain* domain);  ///< EBUSY

  /// EINVAL: sizes of 0 or beyond the limits, an XRC one without a completion queue; ENOMEM.
  Expected<SharedReceiveQueue*, Errno> create_srq(const SrqInit& init);
  /// Sets the attributes that `mask` (ibv_srq_attr_mask) names. EINVAL, and nothing changes: the
  /// size is less than the elements that wait, or than the limit. If the limit is passed already,
  /// the event comes at once (10.2.9.3). No poster may be active.
  Expected<void, Errno> modify_srq(SharedReceiveQueue& srq, const ibv_srq_attr& attr, int mask);
  /// EBUSY: queue pairs were made with it. Elements that XRC targets have taken from it are lost.
  Expected<void, Errno> destroy_srq(SharedReceiveQueue* srq);

  // Calls of the lane:

  /// EINVAL: capabilities beyond the limits, queues that the type needs are missing, or queues that
  /// do not go together; EOPNOTSUPP: type; EEXIST: init.qpn is taken; ENOMEM.
  Expected<QueuePair*, Errno> create_qp(const QpInit& init);
  /// Drops its completions that were not polled. No poller of its completion queues may be active.
  void destroy_qp(QueuePair* qp);
  /// Sets the attributes that `mask` (ibv_qp_attr_mask) names (ibv_modify_qp(3)). EINVAL, and
  /// nothing changes: they do not fit the transition. Reaching RTR resolves the address
  /// vector: qp.flow() then has the addresses, and the source port that the flow label or the queue
  /// pair numbers ask for.
  Expected<void, Errno> modify_qp(QueuePair& qp, const ibv_qp_attr& attr, int mask, Instant now);
  /// The device has lost its port for good: moves all queue pairs to ERR but those in RESET.
  void fail_queue_pairs(Instant now);
  /// ibv_modify_qp_rate_limit(3). EINVAL: a rate beyond the limits, or a queue pair that does not
  /// send (RTS and SQD only; XRC targets never).
  Expected<void, Errno> set_rate_limit(QueuePair& qp, const RateLimit& limit, Instant now);
  void query_qp(const QueuePair& qp, ibv_qp_attr& attr, ibv_qp_init_attr& init) const;
  /// The flow of datagrams to an address vector, with the source port that its flow label asks for.
  /// EINVAL: it is not one that an address handle may have.
  [[nodiscard]] Expected<Flow, Errno> resolve(const ibv_ah_attr& address) const;
  /// Attaches a UD queue pair to a group, or detaches it: see MulticastTable. The engine joins the
  /// group.
  Expected<void, Errno> attach_multicast(QueuePair& qp, const Gid& group);
  Expected<void, Errno> detach_multicast(QueuePair& qp, const Gid& group);
  [[nodiscard]] const MulticastTable& multicast() const;
  /// The UDP source port that the engine granted, and where the peer's address is.
  void set_source_port(QueuePair& qp, uint16_t port, PeerHost peer);
  /// The same for the alternate path (qp.migration), once one was loaded.
  void set_alternate_source_port(QueuePair& qp, uint16_t port, PeerHost peer);
  /// Forgets the alternate path; nothing is armed then.
  void unload_alternate_path(QueuePair& qp);

  /// Adds a flow steering rule that leads to a queue pair for raw packets, or removes it. EINVAL,
  /// EOPNOTSUPP: another type of queue pair, and SteeringTable::add().
  Expected<FlowId, Errno> add_flow(QueuePair& qp, const FlowRule& rule);
  void remove_flow(FlowId flow);
  /// The frames that receive_frame() has a use for.
  [[nodiscard]] FrameInterest frame_interest() const;

  /// The communication manager, which owns QP1. receive(), advance() and transmit() serve it too;
  /// the caller takes its events.
  [[nodiscard]] ConnectionManager& cm();
  [[nodiscard]] const ConnectionManager& cm() const;
  /// The agents of other management classes, which QP1 serves, too. The same three serve them.
  [[nodiscard]] MadAgents& mads();
  [[nodiscard]] const MadAgents& mads() const;
  /// The UDP source port that the engine granted for what QP1 sends from `local`.
  void set_gsi_source_port(const Gid& local, uint16_t port);
  void forget_gsi_source_port(const Gid& local);
  [[nodiscard]] std::optional<uint16_t> gsi_source_port(const Gid& local) const;

  // --- Driving.

  /// Tells the device that `qp` has something posted. Any thread, no lock. False: a doorbell of the
  /// queue pair is pending already.
  bool ring_doorbell(QueuePair& qp);
  /// As ring_doorbell(), but for the thread that drives the device: transmit() serves the queue
  /// pair without a doorbell.
  void take_posted(QueuePair& qp);
  /// Whether a doorbell is pending. Any thread.
  [[nodiscard]] bool doorbell_pending() const;

  void receive(const RxPacket& packet, Instant now);
  void advance(Instant now);
  /// Whether threads of this host wait long for a processor. ACK timeouts then cost no retry, up to
  /// 32 in a row and for four seconds, because the peer may be on this host.
  void set_host_is_crowded(bool crowded);
  [[nodiscard]] bool host_is_crowded() const;
  /// Fills `batch`. True: the batch is full, and there is more to send now.
  bool transmit(TxBatch& batch, Instant now, AckPolicy policy);
  // Raw packets: whole Ethernet frames, beside those of receive() and transmit(). transmit_frames()
  // comes after transmit(), which takes the doorbells.
  void receive_frame(const RxFrame& frame, Instant now);
  /// Fills `batch`. True: the batch is full, and there is more to send now.
  bool transmit_frames(FrameBatch& batch, Instant now);

  /// Whether there are ACKs that kUrgentOnly has held back.
  [[nodiscard]] bool has_deferred_acks() const;
  /// Whether requests of a reliable service are in flight, that peers owe answers to.
  [[nodiscard]] bool awaits_answers() const;
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Whether there may be something to take: a notified completion queue, an event, or news of the
  /// managers of QP1.
  [[nodiscard]] bool has_news() const;
  /// An armed completion queue that has an event now; each once, then nullptr.
  CompletionQueue* take_notified();
  /// An asynchronous event, oldest first.
  std::optional<AsyncEvent> take_event();

  [[nodiscard]] const Counters& counters() const;
  [[nodiscard]] QueuePair* find_qp(Qpn qpn) const;
  [[nodiscard]] size_t qp_count() const;

  /// Each queue pair has a place, which it keeps: 0 to report_places() - 1.
  [[nodiscard]] size_t report_places() const;
  /// What there is to say of the queue pair in the place; nullopt: there is none.
  [[nodiscard]] std::optional<QpReport> report(size_t place) const;
  /// Another number whenever something has changed of what the following tell.
  [[nodiscard]] uint64_t object_changes() const;
  [[nodiscard]] ObjectCounts object_counts() const;
  /// Call `visit` for each, in no order.
  void report_domains(const std::function<void(const DomainReport&)>& visit) const;
  void report_regions(const std::function<void(const RegionReport&)>& visit) const;
  void report_completion_queues(
      const std::function<void(const CompletionQueueReport&)>& visit) const;
  void report_shared_receive_queues(
      const std::function<void(const SharedReceiveQueueReport&)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe
