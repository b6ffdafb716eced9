// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <optional>

#include "packet/wire/cm/cm_message.h"

namespace urxe::replay {

/// The communication ids and transaction ids of one recorded side, and those that the communication
/// manager in its place has drawn for the same.
class CmTranslation {
 public:
  /// What the peer said to the recorded side, said to ours: with our ids in it.
  [[nodiscard]] CmMessage for_us(CmMessage message) const;

  /// Learns from a message of ours and the recorded one in whose place it is. An id is learned
  /// once; a transaction each time that one begins.
  void learn(const CmMessage& ours, const CmMessage& recorded);
  /// A message of ours with the recorded side's ids in it, as far as they are known.
  [[nodiscard]] CmMessage as_recorded(CmMessage message) const;

  /// Our id for one that the recorded side has drawn.
  [[nodiscard]] std::optional<CommId> ours_for(CommId recorded) const;

 private:
  std::map<CommId, CommId> ours_;      ///< by the recorded id
  std::map<CommId, CommId> recorded_;  ///< by ours
  std::map<uint64_t, uint64_t> our_transactions_;
  std::map<uint64_t, uint64_t> recorded_transactions_;
};

/// The id by which the sender of the message knows the communication; in a SIDR_REP there is none.
std::optional<CommId> sender_id(const CmBody& body);
/// The id by which the receiver knows it; in a REQ and a SIDR_REQ there is none.
std::optional<CommId> receiver_id(const CmBody& body);
/// Whether the message begins a transaction, and is not part of one.
bool begins_transaction(const CmBody& body);

}  // namespace urxe::replay
