// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/engine/raw/frame.h"
#include "packet/wire/gid.h"

namespace urxe {

/// A neighbour that packets were to be sent to.
struct Neighbour {
  enum class State : uint8_t {
    kFree,      ///< no neighbour
    kAsking,    ///< its link address is not known
    kKnown,     ///< its link address was confirmed lately
    kChecking,  ///< its link address may be old; it is asked whether it still has it
  };
  Gid address;
  MacAddress mac{};
  State state = State::kFree;
  uint8_t asked = 0;  ///< times without an answer
  Instant next{};     ///< when to ask again, or to check
  Instant used{};     ///< when it was last needed

  [[nodiscard]] bool has_mac() const { return state == State::kKnown || state == State::kChecking; }
};

/// The neighbours of a link, at most kEntries. A new one takes the place of one that was not used
/// for longest among kWays. Allocates in the constructor only.
class NeighbourTable {
 public:
  static constexpr size_t kEntries = 1024;
  static constexpr size_t kWays = 8;

  /// `secret` decides which neighbours compete for a place: nobody can drive others out on purpose.
  explicit NeighbourTable(const SipKey& secret) : secret_(secret), entries_(kEntries) {}

  /// Null: not there.
  [[nodiscard]] Neighbour* find(const Gid& address);
  /// The neighbour, or a new one in the state kFree.
  [[nodiscard]] Neighbour& find_or_add(const Gid& address);
  [[nodiscard]] std::vector<Neighbour>& entries() { return entries_; }

 private:
  [[nodiscard]] size_t first_way(const Gid& address) const;

  SipKey secret_;
  std::vector<Neighbour> entries_;
  size_t last_ = 0;  ///< found last
};

}  // namespace urxe
