// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "transport/device/device.h"

namespace urxe::test {

using Lines = std::vector<std::string>;
/// wr_id and ibv_wc_status of completions.
using Statuses = std::vector<std::pair<uint64_t, int>>;

inline constexpr uint32_t kSqPsn = 100;  ///< of the queue pair under test
inline constexpr uint32_t kRqPsn = 200;
inline constexpr uint32_t kMtu = 1024;
inline constexpr uint8_t kAck = kAckNoCredits;
inline constexpr uint32_t kQKey = 0x11111111;  ///< of a UD queue pair under test
/// 4.096 us * 2^8, short enough that the early loss probe (4 ms at least) never comes before it.
inline constexpr uint8_t kTimeout = 8;
inline constexpr Duration kAckTimeout = nanoseconds(4096 << kTimeout);

/// How the device and the queue pair under test are made.
struct BenchOptions {
  sim::ConnectOptions connect;
  ibv_qp_cap cap{64, 16, 4, 4, 256};
  bool sq_sig_all = true;
  uint32_t cq_entries = 256;
  CqOptions cq_options;
  ibv_qp_state state = IBV_QPS_RTS;  ///< RTR stops there
  ibv_qp_type type = IBV_QPT_RC;
  bool shared_receives = false;  ///< the queue pair takes from a shared queue; always with XRC
  uint32_t srq_wrs = 16;         ///< and its size
  GuardedAccess guarded_access;
  bool keeps_requests = false;  ///< those that come behind a gap
  uint32_t socket_window = UINT32_MAX;

  BenchOptions() {
    connect.sq_psn = kSqPsn;
    connect.rq_psn = kRqPsn;
    connect.timeout = kTimeout;
    connect.min_rnr_timer = 12;
    connect.max_rd_atomic = 4;
    connect.max_dest_rd_atomic = 4;
  }
};

/// A UD queue pair.
inline BenchOptions datagram_options() {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  return options;
}

/// One device with one queue pair (0x11); its peer (0x22) is the test, which reads every packet and
/// makes the answers by hand.
class Bench {
 public:
  explicit Bench(const BenchOptions& options = {});

  // --- What goes out.

  /// Drives the device until it has nothing to send. The answer is one line a packet, as format()
  /// has it less the service and the peer's queue pair number: all that was sent, nothing else. Up
  /// to `segments` packets share a datagram.
  Lines sent(AckPolicy policy = AckPolicy::kAll, size_t segments = 1);
  /// How many datagrams that took.
  [[nodiscard]] size_t datagrams() const { return datagrams_; }
  /// The next batch, instead of sent(): for each packet, which is a message, "elsewhere" if its
  /// payload is, or "in the batch". Payloads of kMtu may be elsewhere.
  Lines places_of_payloads(TxBatch::Limits limits = {});
  /// Payloads of the packets that sent() last told of.
  [[nodiscard]] const std::vector<std::vector<uint8_t>>& payloads() const { return payloads_; }
  /// And their headers.
  [[nodiscard]] const std::vector<Headers>& headers() const { return headers_; }

  // --- What comes in.

  /// A packet of the peer with a right ICRC.
  void receive(Operation operation, uint32_t psn, const Headers& rest = {},
               const std::vector<uint8_t>& payload = {});
  void receive_ack(uint32_t psn, uint8_t syndrome = kAck, uint32_t msn = 0);
  void receive_nak(uint32_t psn, NakCode code) { receive_ack(psn, nak_syndrome(code)); }
  /// Whether received packets come through memory.
  bool through_memory = false;
  /// Bytes with a right ICRC for `flow`.
  void receive_raw(const Headers& headers, const Flow& flow, const std::vector<uint8_t>& payload);
  [[nodiscard]] Flow flow_from_peer() const;

  // --- Verbs.

  void post(ibv_wr_opcode opcode, uint32_t length, unsigned flags = 0);
  void post(sim::SendRequest request);
  /// A SEND to the peer with its Q_Key; the data is at the start of the local memory.
  void post_datagram(uint32_t length, uint32_t qkey = kQKey, unsigned flags = 0);
  /// A receive of `length` bytes at the start of the receive buffer.
  void post_receive(uint32_t length = 4096);
  /// The same to a shared receive queue.
  void post_shared(SharedReceiveQueue& queue, uint32_t length = 4096);
  void post_shared(uint32_t length = 4096) { post_shared(*srq, length); }
  Statuses send_statuses();
  Statuses receive_statuses();
  std::vector<ibv_wc> poll(CompletionQueue& cq);
  std::vector<ibv_event_type> events();
  [[nodiscard]] Sge local(uint32_t length, uint32_t offset = 0) const;
  int move_to(ibv_qp_state state) { return sim::change_state(device, *qp, state, now); }
  [[nodiscard]] uint64_t dropped(DropReason reason) const {
    return device.counters().drops[static_cast<size_t>(reason)];
  }
  /// Headers with a DETH of the peer.
  [[nodiscard]] static Headers deth(uint32_t qkey = kQKey);
  /// Headers with a RETH for `target`.
  [[nodiscard]] Headers reth(uint64_t va, RKey rkey, uint32_t length) const;
  void pass(Duration duration) { now = now + duration; }

  static constexpr uint32_t kQpn = 0x11;
  static constexpr uint32_t kPeerQpn = 0x22;
  static constexpr size_t kBytes = 65536;
  static constexpr size_t kReceiveOffset = 32768;  ///< of receive buffers
  static constexpr uint64_t kRemoteVa = 0x5000;    ///< what posted requests name
  static constexpr uint64_t kTargetVa = 0x100000;  ///< where the target region is

  Instant now = Instant{1000000000};
  Device device;
  PdId pd;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  XrcDomain* domain = nullptr;        ///< of an XRC target
  SharedReceiveQueue* srq = nullptr;  ///< an XRC one completes to recv_cq
  QueuePair* qp = nullptr;
  std::vector<uint8_t> memory;        ///< behind the local region
  alignas(8) uint8_t target[8192]{};  ///< behind the region that the peer may access
  MemoryRegion* local_region = nullptr;
  MemoryRegion* target_region = nullptr;

 private:
  uint64_t next_wr_id_ = 1;
  uint64_t next_receive_id_ = 1;
  std::vector<std::vector<uint8_t>> payloads_;
  std::vector<Headers> headers_;
  size_t datagrams_ = 0;
};

/// Bytes 0, 1, 2, ...
std::vector<uint8_t> counting(size_t length);
std::string line(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace urxe::test
