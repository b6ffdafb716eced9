// SPDX-License-Identifier: BSD-2-Clause
// rdma_set_option(3).
#include "provider/cm/calls/options.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

template <class T>
std::optional<T> read_value(std::span<const uint8_t> value) {
  if (value.size() != sizeof(T)) return std::nullopt;
  T read;
  std::memcpy(&read, value.data(), sizeof read);
  return read;
}

Expected<void, Errno> set_reuse_address(CmId& id, bool reuse) {
  const bool may_change = reuse ? id.state != IdState::kListen : id.state == IdState::kIdle;
  if (!may_change) return error(EINVAL);
  id.options.reuse_address = reuse;
  return {};
}

Expected<void, Errno> set_af_only(CmId& id, bool af_only) {
  if (id.state != IdState::kIdle && id.state != IdState::kBound) return error(EINVAL);
  id.options.af_only = af_only;
  return {};
}

/// For services with acknowledgements.
Expected<void, Errno> set_ack_timeout(CmId& id, uint8_t timeout) {
  if (id.qp_type != IBV_QPT_RC && id.qp_type != IBV_QPT_XRC_SEND) return error(EINVAL);
  id.options.ack_timeout = timeout;
  return {};
}

Expected<void, Errno> set_id_option(CmId& id, uint32_t name, std::span<const uint8_t> value) {
  const auto byte = read_value<uint8_t>(value);
  const auto number = read_value<int>(value);
  switch (name) {
    case RDMA_OPTION_ID_TOS:
      if (!byte) return error(EINVAL);
      id.options.tos = *byte;
      return {};
    case RDMA_OPTION_ID_REUSEADDR:
      if (!number) return error(EINVAL);
      return set_reuse_address(id, *number != 0);
    case RDMA_OPTION_ID_AFONLY:
      if (!number) return error(EINVAL);
      return set_af_only(id, *number != 0);
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (!byte) return error(EINVAL);
      return set_ack_timeout(id, *byte);
    default:
      return error(ENOSYS);
  }
}

/// Sets the path, instead of rdma_resolve_route(3). Its addresses must be those that were resolved.
Expected<void, Errno> set_path(Service& service, CmId& id, std::span<const uint8_t> value) {
  auto path = read_path_option(value);
  if (!path) return Unexpected<Errno>(path.error());
  if (id.state != IdState::kAddressResolved) return error(EINVAL);
  Path& ours = id.paths[0];
  if (path->local != ours.local || path->remote != ours.remote) return error(EINVAL);
  if (path->mtu < IBV_MTU_256 || path->mtu > ours.mtu) path->mtu = ours.mtu;
  path->service_id = ours.service_id;
  ours = *path;
  auto told = service.post_result(id, plain_event(EventType::kRouteResolved));
  if (told) id.state = IdState::kRouteResolved;
  return told;
}

}  // namespace

Expected<void, Errno> set_option(CmFile& file, uint32_t number, uint32_t level, uint32_t name,
                                 std::span<const uint8_t> value) {
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    if (level == RDMA_OPTION_ID) return set_id_option(id, name, value);
    if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH) return set_path(service, id, value);
    return error(ENOSYS);
  });
}

}  // namespace urxe::cm
