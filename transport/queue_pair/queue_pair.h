// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "packet/base/deadline_heap.h"
#include "packet/base/intrusive_list.h"
#include "packet/wire/opcode.h"
#include "packet/wire/roce_packet.h"
#include "transport/device/channel_adapter.h"
#include "transport/later_verbs.h"
#include "transport/observation/error_cause.h"
#include "transport/observation/qp_counters.h"
#include "transport/path/congestion.h"
#include "transport/path/pacing.h"
#include "transport/queue_pair/peer_ports.h"
#include "transport/queues/completion_counter.h"
#include "transport/queues/completion_queue.h"
#include "transport/queues/shared_receive_queue.h"
#include "transport/queues/work_queue.h"
#include "transport/requester/requester_state.h"
#include "transport/responder/responder_state.h"

namespace urxe {

/// The transport service of a type of queue pair; RC for types that are not supported.
constexpr Service service_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return Service::kUc;
    case IBV_QPT_UD:
    case IBV_QPT_RAW_PACKET:  // datagrams, too, though not RoCE's
      return Service::kUd;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return Service::kXrc;
    default:
      return Service::kRc;
  }
}

/// Whether a queue pair of this type takes such work requests (IBTA vol. 1, table 100).
constexpr bool takes_opcode(ibv_qp_type type, ibv_wr_opcode opcode) {
  if (type == IBV_QPT_XRC_RECV) return false;
  if (type == IBV_QPT_RAW_PACKET) return opcode == IBV_WR_SEND;
  if (opcode == kWrFlush) return type != IBV_QPT_UD && type != IBV_QPT_UC;
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_BIND_MW:
    case IBV_WR_LOCAL_INV:
      return type != IBV_QPT_UD;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_WRITE:
      return type != IBV_QPT_UD && type != IBV_QPT_UC;
    default:
      return false;
  }
}

/// Whether sends of the service are not acknowledged.
constexpr bool is_unreliable(Service service) {
  return service == Service::kUc || service == Service::kUd;
}

/// The parameters of a new queue pair.
struct QpInit {
  Qpn qpn;  ///< chosen by the caller; not 0, 1 or 0xffffff
  PdId pd;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;  ///< XRC queue pairs have none, targets no send_cq either
  SharedReceiveQueue* srq = nullptr;   ///< a basic one; nullptr: the queue pair has a receive queue
  XrcDomain* domain = nullptr;         ///< of an XRC target
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap{};  ///< the queue pair has at least these
  bool sq_sig_all = false;
  void* user = nullptr;           ///< comes back with events
  const void* context = nullptr;  ///< tells the queue pairs of different contexts apart
};

/// The alternate path of a connected queue pair, and the state of its migration.
struct PathMigration {
  ibv_mig_state state = IBV_MIG_MIGRATED;
  Flow alternate;
  PeerHost peer_host = PeerHost::kOther;  ///< of the peer's address there
  Path* path = nullptr;       ///< shared with others that send there; null: none is loaded
  bool on_alternate = false;  ///< has migrated to `alternate`, which is the primary path since
  bool error_told = false;    ///< PATH_MIG_ERR was raised since the queue pair was armed
};

/// How a turn at transmitting ended.
enum class Turn : uint8_t {
  kIdle,        ///< nothing more can go out now
  kMore,        ///< the turn's budget is used up
  kAfterOther,  ///< another active queue pair must have its turn first
  kBatchFull,
};

/// A queue pair (IBTA vol. 1, 10.2.4). The functions that work on it are in qp_state.h (attributes
/// and transitions), qp_error.h, path_migration.h, and in the folders requester/ and responder/.
struct QueuePair : ListHook<struct ActiveTag>,
                   ListHook<struct DeferredTag>,
                   ListHook<struct WaitingTag>,
                   ListHook<struct ReadingTag>,
                   ListHook<struct FramesTag>,
                   ListHook<struct HoldingTag>,
                   DeadlineHook<struct TimerTag>,
                   DeadlineHook<struct PacingTag> {
  explicit QueuePair(const QpInit& init);

  [[nodiscard]] ibv_qp_state state() const { return state_.load(std::memory_order_seq_cst); }
  void set_state(ibv_qp_state state) { state_.store(state, std::memory_order_seq_cst); }
  [[nodiscard]] const Flow& flow() const { return flow_; }
  [[nodiscard]] bool takes_shared_receives() const { return srq != nullptr || domain != nullptr; }

  const Qpn qpn;
  const PdId pd;
  const ibv_qp_type type;
  const Service service;
  CompletionQueue* const send_cq;
  CompletionQueue* const recv_cq;
  SharedReceiveQueue* const srq;
  XrcDomain* const domain;
  const bool sq_sig_all;
  void* user;
  const void* const context;

  // These fill space that the alignment of `sq` would leave unused.
  uint32_t mtu = 0;         ///< path MTU in bytes
  uint32_t read_piece = 1;  ///< read_piece_packets()
  Path* path = nullptr;     ///< from RTR on
  Qpn dest_qpn;
  PKey pkey = kDefaultPKey;
  std::unique_ptr<Sge[]> taken_list;  ///< copy of a shared queue's element
  uint32_t place = 0;                 ///< in the device's reports

  SendQueue sq;
  ReceiveQueue rq;

  ibv_qp_attr attr{};  ///< as modify() has set them
  Flow flow_{};
  PathMigration migration;
  PeerPorts peer_ports;
  Pacer pacer;

  QpCounters counters;
  ErrorCause error_cause;  ///< of the state ERR or SQE
  ErrorCause last_error;   ///< the last failure that it has recovered from
  ErrorCause trouble;      ///< the last thing that it went on after

  CompletionCounters completion_counters;

  RequesterState requester;
  ResponderState responder;

  PeerHost peer_host = PeerHost::kOther;  ///< of the peer's address
  bool blocks_own_multicast = false;      ///< UD: does not want its own packets to groups back
  bool sq_drained_pending = false;        ///< SQD: raise an event when nothing is outstanding
  bool cq_failed = false;                 ///< a completion could not be delivered
  bool answers_go_first = false;  ///< requests filled the last batch, and answers had no room
  bool notification_due = false;  ///< a congestion notification is owed to the peer
  MaybeInstant notified_at;       ///< when the last one was

  /// The peer was told that no receive is posted: the doorbell is to be rung when one is. Any
  /// thread reads it.
  std::atomic<bool> wants_receives{false};

  // Used by DoorbellList, on any thread.
  std::atomic<bool> doorbell{false};
  QueuePair* next_doorbell = nullptr;

 private:
  std::atomic<ibv_qp_state> state_{IBV_QPS_RESET};
};

}  // namespace urxe
