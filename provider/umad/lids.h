// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "packet/wire/gid.h"

namespace urxe::umad {

/// Whom a LID stands for.
struct LidPeer {
  Gid gid;
  Gid own;  ///< the address of ours by which it knows us; zero: any

  friend bool operator==(const LidPeer&, const LidPeer&) = default;
};

/// LIDs that stand for GIDs in one process: RoCE has none, but libibmad knows no other addresses.
/// They are given out in turn, so one that was forgotten does not mean another peer soon.
class LidRange {
 public:
  /// More peers than a program talks to at a time. The oldest is forgotten when there are more.
  static constexpr size_t kCapacity = 512;

  /// There are more LIDs than peers.
  LidRange(uint16_t first, uint16_t last) : first_(first), last_(last), next_(first) {}

  /// The peer's LID, which it gets now if it has none. Throws std::bad_alloc.
  uint16_t lid_of(const LidPeer& peer);
  [[nodiscard]] std::optional<uint16_t> find(const LidPeer& peer) const;
  [[nodiscard]] std::optional<LidPeer> peer_of(uint16_t lid) const;

 private:
  struct Entry {
    LidPeer peer;
    uint16_t lid;
  };
  uint16_t first_;
  uint16_t last_;
  uint16_t next_;
  std::deque<Entry> entries_;  ///< oldest first
};

/// The LIDs of one port. Those of peers that the program has asked for are kept apart, so that
/// strangers who send requests cannot have them forgotten.
class Lids {
 public:
  /// Of a peer that the program has asked for.
  uint16_t of_wanted(const Gid& gid) { return wanted_.lid_of({gid, {}}); }
  /// Of the sender of a request: what is sent to it comes from the address that it has asked
  /// (13.5.4).
  uint16_t of_sender(const LidPeer& peer) { return senders_.lid_of(peer); }
  /// Of who has answered: the same as before, if the program has asked for it.
  uint16_t of_asked(const LidPeer& peer);
  /// nullopt: the LID is nobody's.
  [[nodiscard]] std::optional<LidPeer> peer_of(uint16_t lid) const;

 private:
  static constexpr uint16_t kFirstOfSenders = 0x6000;
  static constexpr uint16_t kLastUnicast = 0xbfff;

  LidRange wanted_{1, kFirstOfSenders - 1};
  LidRange senders_{kFirstOfSenders, kLastUnicast};
};

}  // namespace urxe::umad
