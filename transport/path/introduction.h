// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>

#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

// How a queue pair learns whether its peer is urxe, which understands more than the specification
// says: a PEER Query to queue pair 0 of the peer's address, which RoCE does not have, so that any
// other peer drops it. The DETH names the queue pair that asks; the PEER Answer goes there, from
// port 4791. A false answer costs no more than that requests are kept in vain.

/// Answers the queries of other devices.
class Introductions {
 public:
  /// The answer is due with the next transmission. Queries beyond the room are dropped.
  void receive_query(ChannelAdapter& ca, const Headers& headers, const Flow& flow);
  /// Appends the answers that are due. False: the batch is full.
  [[nodiscard]] bool transmit_answers(ChannelAdapter& ca, TxBatch& batch);

 private:
  static constexpr size_t kMostAnswers = 16;
  struct Answer {
    Flow flow;
    Headers headers;
  };
  std::array<Answer, kMostAnswers> answers_{};
  size_t due_ = 0;
};

/// Asks the queue pair's peer. False: the batch is full.
[[nodiscard]] bool send_peer_query(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch);
/// `qp`: that the answer is for; nullptr: there is none.
void receive_peer_answer(ChannelAdapter& ca, QueuePair* qp, const Flow& flow);

}  // namespace urxe
