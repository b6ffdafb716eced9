// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair/peer_ports.h"

#include <algorithm>
#include <cstdlib>

#include "transport/device/address.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

/// More than a window of packets, and 1/128 of all PSNs. Such a request is not executed: it is a
/// duplicate, or draws a NAK.
constexpr int32_t kNearPackets = 1 << 16;
/// The same for UC, which executes what comes after lost packets.
constexpr int32_t kNearPacketsOfUc = 1 << 10;

PeerPorts::Fit fit_of(const QueuePair& qp, const Bth& bth) {
  const bool is_request = opcode_info(bth.opcode).is_request;
  const Psn due = is_request ? expected_psn(qp) : oldest_unacknowledged_psn(qp);
  const uint32_t range = is_request ? 1 : packets_outstanding(qp);
  if (((bth.psn.value() - due.value()) & Psn::kMask) < range) return PeerPorts::Fit::kExact;
  const int32_t near = qp.service == Service::kUc ? kNearPacketsOfUc : kNearPackets;
  return std::abs(bth.psn.distance_from(due)) <= near ? PeerPorts::Fit::kNear
                                                      : PeerPorts::Fit::kFar;
}

/// The driver may have found an address of this host that the device does not have.
bool is_on_this_host(const ChannelAdapter& ca, const QueuePair& qp, const Flow& flow) {
  return qp.peer_host == PeerHost::kThis || is_own_address(ca.config, flow.source);
}

}  // namespace

bool PeerPorts::knows(uint16_t port) const {
  const auto end = known_.begin() + std::min(learned_, kMaxKnown);
  return std::find(known_.begin(), end, port) != end;
}

void PeerPorts::learn(uint16_t port, Role role) {
  note(role);
  known_[learned_ % kMaxKnown] = port;
  learned_ = learned_ + 1 < 2 * kMaxKnown ? learned_ + 1 : kMaxKnown;
}

bool PeerPorts::admit(uint16_t port, Role role, Fit fit, bool on_this_host, Instant now) {
  if (on_this_host && has_heard(role)) return false;
  if (shut_) {
    if (now < next_guess_) return false;
    next_guess_ = now + kGuessInterval;
    if (fit != Fit::kExact) return false;
  }
  if (fit == Fit::kExact) {
    learn(port, role);
    return true;
  }
  if (learned_ == 0 || (fit == Fit::kNear && !on_this_host)) return true;
  ++guesses_;
  shut_ = on_this_host || guesses_ >= kMaxGuesses;
  next_guess_ = now + kGuessInterval;
  return false;
}

bool PeerPorts::admits_unnumbered(uint16_t port, bool on_this_host) const {
  return knows(port) || (!shut_ && (learned_ == 0 || !on_this_host));
}

bool comes_from_peer_port(const ChannelAdapter& ca, QueuePair& qp, const Bth& bth, const Flow& flow,
                          Instant now) {
  const auto role = opcode_info(bth.opcode).is_request ? PeerPorts::Role::kRequester
                                                       : PeerPorts::Role::kResponder;
  if (qp.peer_ports.knows(flow.source_port)) {
    qp.peer_ports.note(role);
    return true;
  }
  if (asks_to_migrate(qp, bth)) return true;
  return qp.peer_ports.admit(flow.source_port, role, fit_of(qp, bth), is_on_this_host(ca, qp, flow),
                             now);
}

bool unnumbered_comes_from_peer(const ChannelAdapter& ca, const QueuePair& qp, const Flow& flow) {
  Bth on_primary_path;
  on_primary_path.mig_req = false;
  return qp.service != Service::kUd && comes_from_peer(qp, on_primary_path, flow) &&
         qp.peer_ports.admits_unnumbered(flow.source_port, is_on_this_host(ca, qp, flow));
}

}  // namespace urxe
