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

namespace urxe {

struct ChannelAdapter;

/// QP1, the general services interface (IBTA vol. 1, 3.9.4 and 10.2.4.3): unreliable datagrams of
/// one MAD each, between the connection manager and those of others. It has no work queues; it is
/// there, and receives, as long as the device is.
class GeneralServices {
 public:
  [[nodiscard]] ConnectionManager& cm() { return cm_; }
  [[nodiscard]] const ConnectionManager& cm() const { return cm_; }

  /// The UDP source port of what is sent from `local`.
  void set_source_port(const Gid& local, uint16_t port);
  /// nullopt: none was set.
  [[nodiscard]] std::optional<uint16_t> source_port(const Gid& local) const;

  /// A packet to QP1 that has passed parse(). Checked are its service, P_Key, Q_Key (9.6.1.1,
  /// 10.2.5) and that it is addressed to the device: what does not fit is dropped and counted.
  void receive(ChannelAdapter& ca, const PacketView& packet, const Flow& flow, Instant now);
  /// Appends what the connection manager has to send. False: the batch is full.
  [[nodiscard]] bool transmit(ChannelAdapter& ca, TxBatch& batch);

 private:
  struct SourcePort {
    Gid local;
    uint16_t port;
  };
  [[nodiscard]] bool append(ChannelAdapter& ca, TxBatch& batch, const OutgoingMad& outgoing);

  ConnectionManager cm_{CmConfig{}};
  std::vector<SourcePort> source_ports_;  ///< one for each address that was opened
  std::optional<OutgoingMad> held_up_;    ///< the batch had no room for it
  Psn next_psn_;
};

}  // namespace urxe
