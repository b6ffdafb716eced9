// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/communications/communication_table.h"

#include <utility>

namespace urxe {
namespace {

PeerKey remote_id_key(const Communication& c) {
  return {c.flow.destination.bytes, c.remote_ca_guid, c.remote_id.value()};
}
PeerKey remote_qpn_key(const Communication& c) {
  return {c.flow.destination.bytes, c.remote_ca_guid, c.remote_qpn.value()};
}
PeerKey service_request_key(const Communication& c) {
  return {c.flow.destination.bytes, 0, c.remote_id.value()};
}

template <class Map, class Key>
Communication* find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

Communication* CommunicationTable::find(CommId id) const {
  const auto found = by_id_.find(id.value());
  return found == by_id_.end() ? nullptr : found->second.get();
}

Communication* CommunicationTable::add(CommId id) {
  if (by_id_.contains(id.value())) return nullptr;
  auto made = std::make_unique<Communication>();
  made->id = id;
  return by_id_.emplace(id.value(), std::move(made)).first->second.get();
}

std::unique_ptr<Communication> CommunicationTable::take(Communication& communication) {
  unlink_all(communication);
  const auto found = by_id_.find(communication.id.value());
  if (found == by_id_.end()) return nullptr;
  std::unique_ptr<Communication> taken = std::move(found->second);
  by_id_.erase(found);
  return taken;
}

bool CommunicationTable::link_remote_id(Communication& c) {
  c.in_remote_ids = by_remote_id_.emplace(remote_id_key(c), &c).second;
  return c.in_remote_ids;
}

bool CommunicationTable::link_remote_qpn(Communication& c) {
  c.in_remote_qpns = by_remote_qpn_.emplace(remote_qpn_key(c), &c).second;
  return c.in_remote_qpns;
}

bool CommunicationTable::link_service_request(Communication& c) {
  c.in_service_requests = service_requests_.emplace(service_request_key(c), &c).second;
  return c.in_service_requests;
}

void CommunicationTable::link_waiting_for_rtu(Communication& c) {
  Communication*& place = waiting_for_rtu_[c.local_qpn.value()];
  if (place != nullptr) place->waits_for_rtu = false;
  place = &c;
  c.waits_for_rtu = true;
}

void CommunicationTable::unlink_remote_id(Communication& c) {
  if (std::exchange(c.in_remote_ids, false)) by_remote_id_.erase(remote_id_key(c));
}

void CommunicationTable::unlink_remote_qpn(Communication& c) {
  if (std::exchange(c.in_remote_qpns, false)) by_remote_qpn_.erase(remote_qpn_key(c));
}

void CommunicationTable::unlink_waiting_for_rtu(Communication& c) {
  if (std::exchange(c.waits_for_rtu, false)) waiting_for_rtu_.erase(c.local_qpn.value());
}

void CommunicationTable::unlink_all(Communication& c) {
  unlink_remote_id(c);
  unlink_remote_qpn(c);
  unlink_waiting_for_rtu(c);
  if (std::exchange(c.in_service_requests, false)) service_requests_.erase(service_request_key(c));
}

Communication* CommunicationTable::find_remote_id(const Gid& peer, uint64_t ca_guid,
                                                  CommId id) const {
  return find_in(by_remote_id_, PeerKey{peer.bytes, ca_guid, id.value()});
}

Communication* CommunicationTable::find_remote_qpn(const Gid& peer, uint64_t ca_guid,
                                                   Qpn qpn) const {
  return find_in(by_remote_qpn_, PeerKey{peer.bytes, ca_guid, qpn.value()});
}

Communication* CommunicationTable::find_service_request(const Gid& peer, CommId request_id) const {
  return find_in(service_requests_, PeerKey{peer.bytes, 0, request_id.value()});
}

Communication* CommunicationTable::find_waiting_for_rtu(Qpn local_qpn) const {
  return find_in(waiting_for_rtu_, local_qpn.value());
}

}  // namespace urxe
