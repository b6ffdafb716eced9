// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/incoming.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "packet/host/clock.h"
#include "provider/cm/connections/connection_messages.h"
#include "provider/cm/ids/event_response.h"
#include "provider/runtime/device/device_registry.h"

namespace urxe::cm {
namespace {

/// Why a request is refused.
struct Refusal {
  CmRejectReason reason = CmRejectReason::kConsumer;
  CmSidrStatus status = CmSidrStatus::kReject;  ///< of a datagram service
  std::optional<uint8_t> info;                  ///< the value that would be accepted
};

constexpr Refusal kNoListener{CmRejectReason::kInvalidServiceId, CmSidrStatus::kUnsupported, {}};
constexpr Refusal kNoRoom{CmRejectReason::kNoResources, CmSidrStatus::kReject, {}};
constexpr Refusal kWrongType{CmRejectReason::kInvalidTransportType, CmSidrStatus::kUnsupported, {}};
constexpr Refusal kFalseAddress{CmRejectReason::kConsumer, CmSidrStatus::kReject, {}};
constexpr Refusal kBadGid{CmRejectReason::kInvalidGid, CmSidrStatus::kReject, {}};

/// The parts of a REQ or SIDR_REQ and of the device that the new id needs.
struct Incoming {
  ServiceId service;
  ibv_qp_type qp_type = IBV_QPT_UD;
  std::span<const uint8_t> private_data;
  Gid local;
  Gid remote;
  uint8_t gid_index = 0;
  uint32_t ifindex = 0;
  ibv_mtu active_mtu = IBV_MTU_1024;
};

void refuse(DeviceUse& device, const CmEvent& event, const Refusal& refusal) {
  with_cm(device, [&](ConnectionManager& cm) {
    const Instant now = clock_now();
    if (event.kind == CmEvent::Kind::kRequest) {
      const uint8_t info[1] = {refusal.info.value_or(0)};
      (void)cm.reject(event.id, refusal.reason, std::span(info).first(refusal.info ? 1 : 0), {},
                      now);
    } else {
      CmSidrRep reply;
      reply.status = refusal.status;
      (void)cm.answer_service(event.id, reply, now);
    }
    cm.destroy(event.id, now);
  });
}

Incoming describe(const CmEvent& event) {
  Incoming incoming;
  incoming.local = event.flow.destination;
  incoming.remote = event.flow.source;
  if (const auto* request = std::get_if<CmReq>(&event.body)) {
    incoming.service = request->service_id;
    incoming.qp_type = qp_type_of(*request);
    incoming.private_data = request->private_data.bytes;
    incoming.local = request->primary.remote;
    incoming.remote = request->primary.local;
  } else {
    const auto& datagram = std::get<CmSidrReq>(event.body);
    incoming.service = datagram.service_id;
    incoming.private_data = datagram.private_data.bytes;
  }
  return incoming;
}

/// Checks that the path leads from the sender to an address of the device, and that its partition
/// and its MTU fit. A path that named another host as the sender would make the application send
/// there. The reasons are Linux's, which rejects a path that it cannot resolve as an invalid GID.
std::optional<Refusal> check_device(DeviceUse& device, const CmEvent& event, Incoming& incoming) {
  RuntimeDevice::Guard guard(*device.runtime);
  const DeviceConfig& config = device.runtime->device().config();
  const auto found = std::find(config.gids.begin(), config.gids.end(), incoming.local);
  if (found == config.gids.end() || incoming.local.is_zero()) return kBadGid;
  incoming.gid_index = static_cast<uint8_t>(found - config.gids.begin());
  incoming.active_mtu = config.active_mtu;
  incoming.ifindex = device.runtime->described().ifindex;
  const auto* request = std::get_if<CmReq>(&event.body);
  if (request == nullptr) return std::nullopt;
  if (incoming.remote != event.flow.source) return kBadGid;
  if (!pkeys_match(request->pkey, kDefaultPKey)) return kBadGid;
  if (request->path_mtu < IBV_MTU_256 || request->path_mtu > config.active_mtu) {
    return Refusal{CmRejectReason::kInvalidMtu, CmSidrStatus::kReject,
                   static_cast<uint8_t>(config.active_mtu)};
  }
  return std::nullopt;
}

constexpr Duration kListInterval = milliseconds(100);

std::vector<Gid> gids_of(const std::vector<DeviceDescription>& devices) {
  std::vector<Gid> gids;
  for (const DeviceDescription& device : devices) {
    gids.insert(gids.end(), device.gids.begin(), device.gids.end());
  }
  return gids;
}

/// The kernel drops what comes from the network and claims to be from one of the host's IPv4
/// addresses. It delivers packets that claim to be from an IPv6 address of the host: such a request
/// is reported, but never becomes a connection, since the REP goes to the host itself.
bool is_from_this_host(Service& service, const CmEvent& event) {
  const Gid& source = event.flow.source;
  if (source.is_ipv4() && source.ipv4()[0] == 127) return true;
  // Listing reads files, so a flood of requests must not cause it each time.
  if (const Instant now = clock_now(); now >= service.own_gids_until) {
    service.own_gids = gids_of(list_runtime_devices());
    service.own_gids_until = now + kListInterval;
  }
  return std::ranges::find(service.own_gids, source) != service.own_gids.end();
}

/// Applications trust the addresses that a request names, for example to decide whom they let in.
/// So they must be the ones that it came from and to. A program of this host may name loopback
/// addresses.
bool has_true_addresses(Service& service, const CmEvent& event, const IpCmHeader& header) {
  const sa_family_t family = header.ip_version == 4 ? AF_INET : AF_INET6;
  const auto is_true = [&](const Gid& named, const Gid& actual) {
    if (make_address(family, named, 0).is_loopback()) return is_from_this_host(service, event);
    return named == actual;
  };
  return is_true(header.source, event.flow.source) &&
         is_true(header.destination, event.flow.destination);
}

/// Whether the request is for the listener. A wildcard listener may take one IP version only. One
/// on a loopback address may wait on a device that leads to other hosts, which are not to reach it.
bool is_for(Service& service, const CmId& listener, const CmEvent& event,
            const Expected<IpCmHeader, MadDropReason>& header) {
  if (!listener.uses_ip()) return true;
  if (!header) return false;
  if (listener.source.is_loopback() && !is_from_this_host(service, event)) return false;
  const sa_family_t family = header->ip_version == 4 ? AF_INET : AF_INET6;
  if (listener.source.is_any()) return family == listener.source.family() || !listener.af_only();
  return family == listener.source.family() && header->destination == listener.source.gid();
}

CmId* find_listener(Service& service, DeviceUse& device, const CmEvent& event,
                    const Expected<IpCmHeader, MadDropReason>& header) {
  const auto point = device.listen_points.find(event.listener.value());
  if (point == device.listen_points.end()) return nullptr;
  for (uint32_t number : point->second.owners) {
    CmId* listener = service.ids.find(number);
    if (listener != nullptr && is_for(service, *listener, event, header)) return listener;
  }
  return nullptr;
}

void set_addresses(CmId& id, const CmId& listener, const Incoming& incoming,
                   const Expected<IpCmHeader, MadDropReason>& header) {
  const auto port = static_cast<uint16_t>(incoming.service.value());
  if (!listener.uses_ip()) {
    id.source = with_service(with_host(listener.source, incoming.local, 0), incoming.service);
    id.destination = make_address(kAfIb, incoming.remote, 0);
    return;
  }
  const sa_family_t family = header->ip_version == 4 ? AF_INET : AF_INET6;
  const auto scope_of = [&](const Gid& gid) {
    return gid.is_ipv6_link_local() ? incoming.ifindex : 0;
  };
  id.source = make_address(family, header->destination, port, scope_of(header->destination));
  id.destination =
      make_address(family, header->source, header->source_port, scope_of(header->source));
}

Path path_of(const CmEvent& event, const Incoming& incoming) {
  Path path;
  path.service_id = incoming.service.value();
  path.local = incoming.local;
  path.remote = incoming.remote;
  path.mtu = incoming.active_mtu;
  path.traffic_class = event.flow.traffic_class & 0xfc;  // without the ECN bits
  path.packet_lifetime = kPacketLifetime;
  if (const auto* request = std::get_if<CmReq>(&event.body)) {
    path.flow_label = request->primary.flow_label;
    path.hop_limit = request->primary.hop_limit;
    path.traffic_class = request->primary.traffic_class;
    path.sl = request->primary.sl;
    path.rate = request->primary.packet_rate;
    path.mtu = request->path_mtu;
    path.pkey = request->pkey;
    if (request->primary.ack_timeout > 0) {
      path.packet_lifetime = static_cast<uint8_t>(request->primary.ack_timeout - 1);
    }
  }
  return path;
}

/// Gives the new id the parameters of the request, and posts the event. ENOMEM, or as
/// Service::post_request().
Expected<void, Errno> introduce(Service& service, DeviceUse& device, CmId& listener, CmId& id,
                                const CmEvent& event, const Incoming& incoming,
                                const Expected<IpCmHeader, MadDropReason>& header) try {
  id.space = listener.space;
  id.qp_type = listener.qp_type;
  id.state = IdState::kConnect;
  id.request_source = source_key(event.flow.source);
  set_addresses(id, listener, incoming, header);
  (void)attach(id, device);
  id.gid_index = incoming.gid_index;
  id.paths.assign(1, path_of(event, incoming));
  set_communication(id, event.id);
  const size_t prefix = listener.uses_ip() ? kIpCmHeaderBytes : 0;
  rdma_ucm_event_resp response{};
  if (const auto* request = std::get_if<CmReq>(&event.body)) {
    take_received_request(id, *request);
    response = connect_request(*request, prefix);
  } else {
    response = service_request(std::get<CmSidrReq>(event.body), prefix);
  }
  return service.post_request(listener, id, response);
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

/// Makes the new id and posts the event by which the listener's application gets it.
Expected<void, Errno> announce(Service& service, DeviceUse& device, CmId& listener,
                               const CmEvent& event, const Incoming& incoming,
                               const Expected<IpCmHeader, MadDropReason>& header) {
  auto file = service.files.find(listener.file);
  if (file == service.files.end()) return error(ENOENT);
  auto added = service.add_id(file->second);
  if (!added) return Unexpected<Errno>(added.error());
  CmId& id = **added;
  if (auto told = introduce(service, device, listener, id, event, incoming, header); !told) {
    // The caller refuses the request, which ends the communication.
    device.communications.erase(event.id.value());
    id.comm = CommId{};
    service.destroy_id(id);
    return told;
  }
  tell_observers(id);
  return {};
}

/// False: the backlog is full, or memory has run out.
bool admit(Service& service, DeviceUse& device, CmId& listener, const CmEvent& event,
           const Incoming& incoming, const Expected<IpCmHeader, MadDropReason>& header) try {
  const RequestSource::Key source = source_key(event.flow.source);
  if (!listener.backlog.take(source)) return false;
  if (announce(service, device, listener, event, incoming, header)) return true;
  listener.backlog.give_back(source);
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

void handle_request(Service& service, DeviceUse& device, CmEvent& event) {
  Incoming incoming = describe(event);
  if (auto refusal = check_device(device, event, incoming)) {
    return refuse(device, event, *refusal);
  }
  const auto header = parse_ip_cm_header(incoming.private_data);
  CmId* listener = find_listener(service, device, event, header);
  if (listener == nullptr) return refuse(device, event, kNoListener);
  if (listener->uses_ip() && !has_true_addresses(service, event, *header)) {
    return refuse(device, event, kFalseAddress);
  }
  if (listener->qp_type != incoming.qp_type) return refuse(device, event, kWrongType);
  if (!admit(service, device, *listener, event, incoming, header)) {
    refuse(device, event, kNoRoom);
  }
}

}  // namespace urxe::cm
