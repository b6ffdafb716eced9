// SPDX-License-Identifier: BSD-2-Clause
// rdma_join_multicast(3). On RoCE there is no subnet administrator to ask: librdmacm attaches the
// queue pair, and that makes the host join the group.
#include "provider/cm/calls/multicast.h"

#include <cerrno>
#include <vector>

#include "provider/cm/connections/connection_messages.h"
#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

constexpr uint8_t kHopLimit = 64;

Expected<uint32_t, Errno> join(Service& service, CmId& id, uint64_t uid, const Gid& group) {
  auto added = service.memberships.add();
  if (!added) return Unexpected<Errno>(added.error());
  auto [number, membership] = *added;
  membership->number = number;
  membership->owner = id.number;
  membership->uid = uid;
  id.memberships.push_back(number);
  (void)set_qkey(id, QKey{});
  rdma_ucm_event_resp event =
      multicast_join(group, id.qkey, id.port, id.gid_index, kHopLimit, id.options.tos.value_or(0));
  event.uid = uid;
  event.id = number;
  if (!id.file->post({.response = event, .owner = id.number, .new_id = 0})) {
    std::erase(id.memberships, number);
    service.memberships.remove(number);
    return error(ENOMEM);
  }
  return number;
}

/// Removes the membership's event if it is unread.
void take_back_event(CmId& id, uint32_t membership) {
  (void)id.file->take_back_if([&](const CmFileEvent& event) {
    const auto type = static_cast<EventType>(event.response.event);
    const bool of_group = type == EventType::kMulticastJoin || type == EventType::kMulticastError;
    return event.owner == id.number && of_group && event.response.id == membership;
  });
}

}  // namespace

Expected<uint32_t, Errno> join_multicast(CmFile& file, uint32_t number, uint64_t uid,
                                         const sockaddr_storage& address, size_t size,
                                         uint16_t join_flags) {
  if (join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return error(EINVAL);
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<uint32_t, Errno> {
    auto read = read_address(address, size);
    if (!read) return Unexpected<Errno>(read.error());
    if (id.state != IdState::kBound && id.state != IdState::kAddressResolved) return error(EINVAL);
    if (id.device == nullptr || !id.is_ud()) return error(EINVAL);
    const auto group = multicast_gid(*read);
    if (!group) return error(EINVAL);
    return join(service, id, uid, *group);
  });
}

Expected<rdma_ucm_destroy_id_resp, Errno> leave_multicast(CmFile& file, uint32_t number) {
  return Service::run([&](Service& service) -> Expected<rdma_ucm_destroy_id_resp, Errno> {
    Membership* membership = service.memberships.find(number);
    if (membership == nullptr) return error(ENOENT);
    CmId* id = service.ids.find(membership->owner);
    if (id == nullptr || id->file != &file) return error(EINVAL);
    take_back_event(*id, number);
    const uint32_t reported = membership->events_reported;
    std::erase(id->memberships, number);
    service.memberships.remove(number);
    return rdma_ucm_destroy_id_resp{.events_reported = reported};
  });
}

}  // namespace urxe::cm
