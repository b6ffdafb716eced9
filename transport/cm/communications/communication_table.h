// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "transport/cm/communications/communication.h"

namespace urxe {

/// A number of a peer's: its GID, its channel adapter and the number. The GID is part of the key
/// because it is the only part that a sender cannot make up: a message that names another peer's
/// GUID from its own address affects nothing of the other peer's.
struct PeerKey {
  std::array<uint8_t, 16> gid{};
  uint64_t ca_guid = 0;
  uint32_t number = 0;
  friend auto operator<=>(const PeerKey&, const PeerKey&) = default;
};

/// Owns the communications and finds them by the ids and numbers in messages.
class CommunicationTable {
 public:
  [[nodiscard]] size_t size() const { return by_id_.size(); }
  [[nodiscard]] Communication* find(CommId id) const;
  /// nullptr: the id is taken. Throws std::bad_alloc, and has then changed nothing.
  Communication* add(CommId id);
  /// Unlinks it and takes it out.
  std::unique_ptr<Communication> take(Communication& communication);

  // Each adds the communication under its present values. False: another one has the key.
  bool link_remote_id(Communication& communication);
  bool link_remote_qpn(Communication& communication);
  bool link_service_request(Communication& communication);
  /// Replaces an earlier one with the same local queue pair.
  void link_waiting_for_rtu(Communication& communication);

  void unlink_remote_id(Communication& communication);
  void unlink_remote_qpn(Communication& communication);
  void unlink_waiting_for_rtu(Communication& communication);
  void unlink_all(Communication& communication);

  [[nodiscard]] Communication* find_remote_id(const Gid& peer, uint64_t ca_guid, CommId id) const;
  [[nodiscard]] Communication* find_remote_qpn(const Gid& peer, uint64_t ca_guid, Qpn qpn) const;
  [[nodiscard]] Communication* find_service_request(const Gid& peer, CommId request_id) const;
  [[nodiscard]] Communication* find_waiting_for_rtu(Qpn local_qpn) const;

 private:
  using PeerMap = std::map<PeerKey, Communication*>;

  std::unordered_map<uint32_t, std::unique_ptr<Communication>> by_id_;
  PeerMap by_remote_id_;
  PeerMap by_remote_qpn_;
  PeerMap service_requests_;  ///< without the GUID
  std::unordered_map<uint32_t, Communication*> waiting_for_rtu_;
};

}  // namespace urxe
