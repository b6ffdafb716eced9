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

/// Keeps what UC and UD send to a process of this host from overflowing its receive buffer: nothing
/// of theirs is acknowledged, and the kernel drops what does not fit without a word. On a wire that
/// is for Ethernet's flow control to prevent; here the sender puts queries into the stream, packets
/// of a manufacturer specific opcode (IBTA vol. 1, table 38), which the receiver answers once it
/// has taken all that came before. A process that leaves queries unanswered is sent to without
/// restraint. Packets to other hosts are not held back, and no query goes there.
class Backpressure {
 public:
  enum class Admission : uint8_t { kSend, kWait, kBatchFull };

  /// What the kernel lets wait at a process of this host, in bytes.
  void set_receive_buffer(size_t bytes);
  /// Makes room for its state; before the first admit().
  void enable();

  /// Whether the queue pair may send a packet on `flow` to queue pair `to` now. kWait: it comes
  /// back on the active list when there is room, and its timer is set.
  [[nodiscard]] Admission admit(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Qpn to,
                                TxBatch& batch, Instant now);
  /// Notes a packet of `bytes` that was sent there.
  void note_sent(ChannelAdapter& ca, const QueuePair& qp, const Flow& flow, Qpn to, size_t bytes,
                 TxBatch& batch);

  /// A query or an answer has arrived.
  void receive(ChannelAdapter& ca, const Headers& headers, const Flow& flow);

  /// Appends the answers that are due. False: the batch is full.
  [[nodiscard]] bool transmit_answers(ChannelAdapter& ca, TxBatch& batch);

 private:
  static constexpr size_t kProcesses = 512;
  static constexpr size_t kMaxAnswers = 64;

  /// A process of this host. Marks count what was sent to it, in units, for ever (mod 2^32).
  struct Peer {
    uint32_t sent = 0;
    uint32_t confirmed = 0;   ///< taken by the process
    uint32_t asked = 0;       ///< the mark of the last query
    uint32_t unanswered = 0;  ///< queries in a row, once somebody waits
    bool answers = true;
    Instant ask_again{};
    IntrusiveList<QueuePair, struct WaitingTag> waiting;
  };
  struct Answer {
    Flow flow;
    Headers headers;
  };

  [[nodiscard]] Peer* find(const ChannelAdapter& ca, const Flow& flow, Qpn qpn) const;
  void wake(ChannelAdapter& ca, Peer& peer) const;
  void take_answer(ChannelAdapter& ca, const Headers& headers);
  void owe_answer(const Headers& query, const Flow& flow);

  std::unique_ptr<std::array<Peer, kProcesses>> peers_;  ///< by the upper bits of qp numbers
  std::array<Answer, kMaxAnswers> answers_{};
  size_t answers_due_ = 0;
  /// In units. At first that for the buffer that systems give at least (net.core.rmem_max 212992).
  uint32_t most_in_flight_ = 832;
};

}  // namespace urxe
