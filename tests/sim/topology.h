// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tests/sim/host.h"
#include "tests/sim/plan.h"
#include "tests/sim/wire_oracle.h"
#include "tests/support/random.h"

namespace urxe::sim {

/// Makes the queue pairs that a plan asks for, connects them, and tells the models and the oracle
/// who is whose peer.
class Topology {
 public:
  Topology(const Plan& plan, std::vector<std::unique_ptr<Host>>& hosts, WireOracle& oracle,
           Random random);

  void connect_all();

 private:
  /// One of the two queue pairs of a connection.
  struct End {
    size_t host = 0;
    uint32_t qpn = 0;
    uint32_t psn = 0;
    QueuePair* qp = nullptr;      ///< of XRC the initiator
    QueuePair* target = nullptr;  ///< XRC only
  };
  using Ends = std::array<End, 2>;

  ibv_qp_type draw_type();
  Ends draw_ends(uint32_t number);
  void connect_pair(uint32_t number);
  void connect_both(const Ends& ends);
  void connect_qp(const End& end, QueuePair& qp, const End& peer, const QueuePair& peer_qp);
  void load_alternate_path(const End& end, QueuePair& qp, const End& peer);
  void limit_rate(const End& end, QueuePair& qp);
  void add_reliable(const Ends& ends);
  Side& add_side(const End& end);
  void add_unreliable(const Ends& ends);
  void add_datagrams(const Ends& ends);

  const Plan& plan_;
  std::vector<std::unique_ptr<Host>>& hosts_;
  WireOracle& oracle_;
  Random random_;
  DatagramNet datagram_net_;
};

}  // namespace urxe::sim
