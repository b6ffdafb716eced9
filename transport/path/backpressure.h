// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

/// Keeps UC and UD packets to processes of this host from overflowing the receiver's buffer. These
/// services have no acknowledgements, and the kernel silently drops what does not fit. (On a wire,
/// Ethernet's flow control prevents this.) The sender adds queries to the stream: packets with a
/// manufacturer specific opcode (IBTA vol. 1, table 38). The receiver answers a query after it has
/// taken all packets before it. Both come from port 4791. Another user of the host can send from
/// there, too (with IP_PKTINFO), so an answer repeats a number of the query that cannot be guessed.
/// A process that does not answer queries is sent to without a limit.
/// Packets to other hosts are not held back, and no queries go there.
class Backpressure {
 public:
  enum class Admission : uint8_t { kSend, kWait, kBatchFull };

  /// Sets the size of the receive buffer of a process of this host, in bytes.
  void set_receive_buffer(size_t bytes);
  /// Allocates the state. Must come before the first admit().
  void enable();

  /// Whether the queue pair may send a packet on `flow` to queue pair `to` now. kWait: the queue
  /// pair returns to the active list when there is room; its timer is set.
  [[nodiscard]] Admission admit(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Qpn to,
                                TxBatch& batch, Instant now);
  /// Counts a packet of `bytes` that was sent there.
  void note_sent(ChannelAdapter& ca, const QueuePair& qp, const Flow& flow, Qpn to, size_t bytes,
                 TxBatch& batch);

  /// Handles a query or an answer to one.
  void receive(ChannelAdapter& ca, const Headers& headers, const Flow& flow);

  [[nodiscard]] bool owes_answers() const { return answers_due_ > 0; }
  /// Appends the answers that are due. False: the batch is full.
  [[nodiscard]] bool transmit_answers(ChannelAdapter& ca, TxBatch& batch);

 private:
  static constexpr size_t kProcesses = 512;
  static constexpr size_t kMaxAnswers = 64;

  /// A process of this host. A mark is the number of units sent to it so far (mod 2^32).
  struct Peer {
    uint32_t sent = 0;
    uint32_t confirmed = 0;   ///< the mark up to which the process has taken packets
    uint32_t asked = 0;       ///< the mark of the last query
    uint32_t unanswered = 0;  ///< queries in a row since a queue pair waits
    bool answers = true;
    /// Its addresses that queries went to last.
    std::array<Gid, 2> asked_at{};
    Instant ask_again{};
    IntrusiveList<QueuePair, struct WaitingTag> waiting;
  };
  struct Answer {
    Flow flow;
    Headers headers;
  };

  [[nodiscard]] Peer* find(const ChannelAdapter& ca, const Flow& flow, Qpn qpn) const;
  void wake(ChannelAdapter& ca, Peer& peer) const;
  void take_answer(ChannelAdapter& ca, const Headers& headers, const Flow& flow);
  void owe_answer(const Headers& query, const Flow& flow);

  std::unique_ptr<std::array<Peer, kProcesses>> peers_;  ///< by the upper bits of qp numbers
  std::array<Answer, kMaxAnswers> answers_{};
  size_t answers_due_ = 0;
  /// In units. The initial value fits the smallest usual buffer (net.core.rmem_max 212992).
  uint32_t most_in_flight_ = 832;
};

}  // namespace urxe
