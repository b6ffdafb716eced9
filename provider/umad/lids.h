// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "packet/wire/gid.h"

namespace urxe::umad {

/// LIDs that stand for GIDs in one process: RoCE has none, but libibmad knows no other addresses.
/// They are given out in turn, so one that was forgotten does not mean another peer soon.
class LidRange {
 public:
  /// More GIDs than a program talks to at a time. The oldest is forgotten when there are more.
  static constexpr size_t kCapacity = 512;

  /// There are more LIDs than GIDs.
  LidRange(uint16_t first, uint16_t last) : first_(first), last_(last), next_(first) {}

  /// The GID's LID, which it gets now if it has none. Throws std::bad_alloc.
  uint16_t lid_of(const Gid& gid);
  [[nodiscard]] std::optional<uint16_t> find(const Gid& gid) const;
  [[nodiscard]] std::optional<Gid> gid_of(uint16_t lid) const;

 private:
  struct Entry {
    Gid gid;
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
  uint16_t of_wanted(const Gid& gid) { return wanted_.lid_of(gid); }
  /// Of the sender of a datagram.
  uint16_t of_sender(const Gid& gid);
  /// nullopt: the LID is nobody's.
  [[nodiscard]] std::optional<Gid> gid_of(uint16_t lid) const;

 private:
  static constexpr uint16_t kFirstOfSenders = 0x6000;
  static constexpr uint16_t kLastUnicast = 0xbfff;

  LidRange wanted_{1, kFirstOfSenders - 1};
  LidRange senders_{kFirstOfSenders, kLastUnicast};
};

}  // namespace urxe::umad
