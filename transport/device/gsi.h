// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/wire/psn.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"
#include "transport/cm/connection_manager.h"
#include "transport/mad/mad_agents.h"

namespace urxe {

struct ChannelAdapter;

/// QP1, the general services interface (IBTA vol. 1, 3.9.4 and 10.2.4.3): unreliable datagrams of
/// one MAD each, between this connection manager and those of peers, and between agents of other
/// management classes. It has no work queues and receives as long as the device exists.
class GeneralServices {
 public:
  [[nodiscard]] ConnectionManager& cm() { return cm_; }
  [[nodiscard]] const ConnectionManager& cm() const { return cm_; }
  [[nodiscard]] MadAgents& mads() { return mads_; }
  [[nodiscard]] const MadAgents& mads() const { return mads_; }

  /// Sets the UDP source port of packets from `local`.
  void set_source_port(const Gid& local, uint16_t port);
  void forget_source_port(const Gid& local);
  /// nullopt: none was set.
  [[nodiscard]] std::optional<uint16_t> source_port(const Gid& local) const;

  /// Takes a packet to QP1 that has passed parse(). Drops and counts it unless its service, P_Key
  /// and Q_Key are right (9.6.1.1, 10.2.5) and it is addressed to the device.
  void receive(ChannelAdapter& ca, const PacketView& packet, const Flow& flow, Instant now);
  /// Appends some of the outgoing MADs: the queue pairs have their turns
  /// between two calls. False: the batch is full.
  [[nodiscard]] bool transmit(ChannelAdapter& ca, TxBatch& batch);
  /// Whether MADs are left to send.
  [[nodiscard]] bool has_outgoing() const {
    return held_up_ || cm_.has_outgoing() || mads_.has_outgoing();
  }
  /// Whether the managers have events, or news, for their callers.
  [[nodiscard]] bool has_news() const { return cm_.has_event() || mads_.has_news(); }
  /// Tells that the batch was full before the MADs had their turn.
  void wait_for_next_batch() { is_overdue_ = has_outgoing(); }
  /// Whether the MADs come first in this batch, because the one before had no room for any.
  [[nodiscard]] bool is_overdue() const { return is_overdue_; }

 private:
  struct SourcePort {
    Gid local;
    uint16_t port;
  };
  [[nodiscard]] const OutgoingMad* take_outgoing();
  [[nodiscard]] bool append(ChannelAdapter& ca, TxBatch& batch, const OutgoingMad& outgoing);

  ConnectionManager cm_{CmConfig{}};
  MadAgents mads_;
  std::vector<SourcePort> source_ports_;  ///< one for each address that was opened
  std::optional<OutgoingMad> held_up_;    ///< the batch had no room for it
  bool is_overdue_ = false;
  Psn next_psn_;
};

}  // namespace urxe
