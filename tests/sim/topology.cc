// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/topology.h"

#include "tests/sim/connect.h"
#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kTargetOffset = 0x4000;  ///< from an initiator's number to its target's

Gid group_gid(uint8_t number, bool ipv6) {
  if (!ipv6) {
    const uint8_t address[4] = {239, 1, 2, number};
    return Gid::from_ipv4(address);
  }
  const uint8_t address[16] = {0xff, 0x1e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, number};
  return Gid::from_ipv6(address);
}

}  // namespace

Topology::Topology(const Plan& plan, std::vector<std::unique_ptr<Host>>& hosts, WireOracle& oracle,
                   Random random)
    : plan_(plan), hosts_(hosts), oracle_(oracle), random_(random) {
  for (uint32_t i = 0; i < plan.groups; ++i) {
    datagram_net_.groups.push_back(group_gid(static_cast<uint8_t>(i + 1), plan.ipv6));
  }
}

void Topology::connect_all() {
  for (uint32_t i = 0; i < plan_.connections; ++i) connect_pair(i);
}

ibv_qp_type Topology::draw_type() {
  const uint64_t draw = random_.below(100);
  if (draw < plan_.uc_percent) return IBV_QPT_UC;
  if (draw < plan_.uc_percent + plan_.ud_percent) return IBV_QPT_UD;
  if (draw < plan_.uc_percent + plan_.ud_percent + plan_.xrc_percent) return IBV_QPT_XRC_SEND;
  return IBV_QPT_RC;
}

Topology::Ends Topology::draw_ends(uint32_t number) {
  const size_t a = random_.below(plan_.hosts);
  const size_t b = random_.percent(5) ? a : (a + 1) % plan_.hosts;
  Ends ends;
  ends[0] = {a, 0x100 + number * 2, 0, nullptr, nullptr};
  ends[1] = {b, 0x10000 * (number + 1) + 0x101 + number * 2, 0, nullptr, nullptr};
  for (End& end : ends) {
    end.psn = plan_.psn_near_wrap ? Psn::kMask - random_.range32(0, 300)
                                  : static_cast<uint32_t>(random_.next()) & Psn::kMask;
  }
  return ends;
}

void Topology::connect_pair(uint32_t number) {
  const ibv_qp_type type = draw_type();
  Ends ends = draw_ends(number);
  for (End& end : ends) {
    Host& host = *hosts_[end.host];
    end.qp = &host.create_qp(Qpn{end.qpn}, type);
    if (type == IBV_QPT_XRC_SEND) {
      end.target = &host.create_qp(Qpn{end.qpn + kTargetOffset}, IBV_QPT_XRC_RECV);
    }
  }
  connect_both(ends);
  switch (type) {
    case IBV_QPT_UC:
      return add_unreliable(ends);
    case IBV_QPT_UD:
      return add_datagrams(ends);
    default:
      return add_reliable(ends);
  }
}

void Topology::connect_both(const Ends& ends) {
  for (size_t i = 0; i < 2; ++i) {
    const End& end = ends[i];
    const End& peer = ends[1 - i];
    connect_qp(end, *end.qp, peer, peer.target != nullptr ? *peer.target : *peer.qp);
    if (end.target != nullptr) connect_qp(end, *end.target, peer, *peer.qp);
  }
}

void Topology::connect_qp(const End& end, QueuePair& qp, const End& peer,
                          const QueuePair& peer_qp) {
  ConnectOptions options;
  options.destination = hosts_[peer.host]->gid();
  options.dest_qpn = peer_qp.qpn;
  options.mtu = plan_.mtu;
  options.sq_psn = end.psn;
  options.rq_psn = peer.psn;
  options.timeout = plan_.timeout;
  options.retry_cnt = plan_.retry_cnt;
  options.min_rnr_timer = plan_.min_rnr_timer;
  options.max_rd_atomic = plan_.max_rd_atomic;
  options.max_dest_rd_atomic = plan_.max_dest_rd_atomic;
  options.qkey = UdSide::draw_qkey(random_);
  require(connect(hosts_[end.host]->device(), qp, options, Instant{}),
          [] { return std::string("modify_qp failed"); });
  load_alternate_path(end, qp, peer);
  limit_rate(end, qp);
  const WireOracle::Limits limits{Psn{end.psn}, 128U << plan_.mtu, plan_.max_rd_atomic};
  if (qp.type == IBV_QPT_UD) {
    oracle_.add_datagrams(end.host, end.qpn, Psn{end.psn});
  } else {
    oracle_.add(end.host, qp.qpn.value(), peer.host, peer_qp.qpn.value(), limits);
  }
}

void Topology::load_alternate_path(const End& end, QueuePair& qp, const End& peer) {
  if (!plan_.alternate_paths || qp.type == IBV_QPT_UC || qp.type == IBV_QPT_UD) return;
  ConnectOptions options;
  options.destination = hosts_[peer.host]->alternate_gid();
  ibv_qp_attr attr{};
  attr.alt_ah_attr = rtr_attributes(options).ah_attr;
  attr.alt_ah_attr.grh.sgid_index = 1;
  attr.alt_port_num = 1;
  attr.alt_timeout = plan_.timeout;
  attr.path_mig_state = IBV_MIG_REARM;
  const auto loaded = hosts_[end.host]->device().modify_qp(
      qp, attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE, Instant{});
  require(loaded.has_value(), [] { return std::string("the alternate path was refused"); });
}

/// Fast enough for what waits not to time out, and slower than most links.
void Topology::limit_rate(const End& end, QueuePair& qp) {
  if (qp.type == IBV_QPT_XRC_RECV || !random_.percent(plan_.paced_percent)) return;
  const uint32_t rate_kbps = random_.range32(2, 50) * 1000000;
  const uint32_t max_burst = random_.percent(30) ? 1 : random_.range32(1, 65536);
  const auto limited =
      hosts_[end.host]->device().set_rate_limit(qp, {rate_kbps, max_burst, 0}, Instant{});
  require(limited.has_value(), [] { return std::string("set_rate_limit failed"); });
  oracle_.limit_rate(end.host, qp.qpn.value(), rate_kbps, max_burst);
}

Side& Topology::add_side(const End& end) {
  Host& host = *hosts_[end.host];
  return end.target != nullptr ? host.add_xrc_side(*end.qp, *end.target) : host.add_side(*end.qp);
}

void Topology::add_reliable(const Ends& ends) {
  Side& a = add_side(ends[0]);
  Side& b = add_side(ends[1]);
  a.connect_model(b, hosts_[ends[1].host]->shared_counter());
  b.connect_model(a, hosts_[ends[0].host]->shared_counter());
}

void Topology::add_unreliable(const Ends& ends) {
  UcSide& a = hosts_[ends[0].host]->add_uc_side(*ends[0].qp);
  UcSide& b = hosts_[ends[1].host]->add_uc_side(*ends[1].qp);
  a.connect_model(b);
  b.connect_model(a);
}

void Topology::add_datagrams(const Ends& ends) {
  for (const End& end : ends) {
    datagram_net_.sides.push_back(&hosts_[end.host]->add_ud_side(*end.qp));
    datagram_net_.sides.back()->connect_model(datagram_net_);
  }
}

}  // namespace urxe::sim
