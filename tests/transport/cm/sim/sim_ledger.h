// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "transport/cm/connection_manager.h"

namespace urxe::cmsim {

/// A communication anywhere: node and id.
struct End {
  uint32_t node = 0;
  CommId id;
  friend auto operator<=>(const End&, const End&) = default;
};

/// What all nodes have said and been told: whether what one end believes is what the other has
/// said.
class Ledger {
 public:
  /// Of both ends, once they name a queue pair.
  void asked(const End& end, Qpn qpn) { said_[end].qpn = qpn; }
  void accepted(const End& end, Qpn qpn, const End& peer) { said_[end] = {qpn, peer, true}; }
  void confirmed(const End& end, const End& peer) {
    said_[end].peer = peer;
    said_[end].agreed = true;
  }
  /// Whether the peer has asked for that, or has agreed to be connected with `end`.
  [[nodiscard]] bool has_asked(const End& peer, Qpn qpn) const;
  [[nodiscard]] bool has_agreed(const End& peer, Qpn qpn, const End& end) const;

  void died(uint32_t node) { dead_.insert(node); }
  [[nodiscard]] bool is_dead(uint32_t node) const { return dead_.contains(node); }

  void count(CmEvent::Kind kind) { ++events_[static_cast<size_t>(kind)]; }
  [[nodiscard]] uint64_t events(CmEvent::Kind kind) const {
    return events_[static_cast<size_t>(kind)];
  }
  static constexpr size_t kKinds = static_cast<size_t>(CmEvent::Kind::kPeerSilent) + 1;
  using Events = std::array<uint64_t, kKinds>;
  [[nodiscard]] const Events& all_events() const { return events_; }

 private:
  struct Said {
    Qpn qpn;
    End peer;
    bool agreed = false;
  };
  std::map<End, Said> said_;
  std::set<uint32_t> dead_;
  Events events_{};
};

}  // namespace urxe::cmsim
