// SPDX-License-Identifier: BSD-2-Clause
// Making, destroying and moving ids, and their events.
#include "provider/cm/calls/ids.h"

#include <cerrno>
#include <cstring>
#include <list>
#include <new>
#include <utility>
#include <vector>

#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

Expected<ibv_qp_type, Errno> qp_type_for(const rdma_ucm_create_id& command) {
  switch (static_cast<PortSpace>(command.ps)) {
    case PortSpace::kTcp:
      return IBV_QPT_RC;
    case PortSpace::kUdp:
    case PortSpace::kIpoib:
      return IBV_QPT_UD;
    case PortSpace::kIb:
      break;
    default:
      return error(EINVAL);
  }
  switch (command.qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return static_cast<ibv_qp_type>(command.qp_type);
    default:
      return error(EINVAL);
  }
}

void count_read(Service& service, const CmFileEvent& event) {
  CmId* owner = service.ids.find(event.owner);
  if (owner == nullptr) return;
  ++owner->events_reported;
  if (event.new_id != 0) {
    if (const CmId* request = service.ids.find(event.new_id)) {
      owner->backlog.give_back(request->request_source);
    }
  }
  const auto type = static_cast<EventType>(event.response.event);
  if (type != EventType::kMulticastJoin && type != EventType::kMulticastError) return;
  if (Membership* membership = service.memberships.find(event.response.id)) {
    ++membership->events_reported;
  }
}

/// The id, and those of its connection requests among `events`.
std::vector<CmId*> ids_to_move(Service& service, CmId& id, const std::list<CmFileEvent>& events) {
  std::vector<CmId*> ids{&id};
  for (const CmFileEvent& event : events) {
    CmId* const request = event.new_id != 0 ? service.ids.find(event.new_id) : nullptr;
    if (request != nullptr) ids.push_back(request);
  }
  return ids;
}

/// Moves an id, with its unread events and the ids of its unread connection requests. If memory
/// runs out, all stay where they are.
Expected<void, Errno> move(Service& service, CmId& id, FileUse& from, FileUse& to) {
  std::list<CmFileEvent> events = from.file->take_back(id.number);
  std::vector<CmId*> ids;
  try {
    ids = ids_to_move(service, id, events);
    for (const CmId* one : ids) to.ids.insert(one->number);
  } catch (const std::bad_alloc&) {
    for (const CmId* one : ids) to.ids.erase(one->number);
    from.file->give(std::move(events));
    return error(ENOMEM);
  }
  for (CmId* one : ids) {
    from.ids.erase(one->number);
    one->file = to.file.get();
  }
  to.file->give(std::move(events));
  return {};
}

}  // namespace

Expected<rdma_ucm_create_id_resp, Errno> create_id(CmFile& file,
                                                   const rdma_ucm_create_id& command) {
  return Service::run([&](Service& service) -> Expected<rdma_ucm_create_id_resp, Errno> {
    auto qp_type = qp_type_for(command);
    if (!qp_type) return Unexpected<Errno>(qp_type.error());
    auto use = service.files.find(&file);
    if (use == service.files.end()) return error(EBADF);
    auto id = service.add_id(use->second);
    if (!id) return Unexpected<Errno>(id.error());
    (*id)->uid = command.uid;
    (*id)->space = static_cast<PortSpace>(command.ps);
    (*id)->qp_type = *qp_type;
    return rdma_ucm_create_id_resp{.id = (*id)->number};
  });
}

Expected<rdma_ucm_destroy_id_resp, Errno> destroy_id(CmFile& file,
                                                     const rdma_ucm_destroy_id& command) {
  return Service::run([&](Service& service) -> Expected<rdma_ucm_destroy_id_resp, Errno> {
    auto id = service.find(file, command.id);
    if (!id) return Unexpected<Errno>(id.error());
    return rdma_ucm_destroy_id_resp{.events_reported = service.destroy_id(**id)};
  });
}

Expected<rdma_ucm_migrate_resp, Errno> migrate_id(CmFile& to, CmFile& from, uint32_t number) {
  return Service::run(from, number,
                      [&](Service& service, CmId& id) -> Expected<rdma_ucm_migrate_resp, Errno> {
                        auto source = service.files.find(&from);
                        auto target = service.files.find(&to);
                        if (target == service.files.end()) return error(EBADF);
                        if (&from != &to) {
                          auto moved = move(service, id, source->second, target->second);
                          if (!moved) return Unexpected<Errno>(moved.error());
                        }
                        return rdma_ucm_migrate_resp{.events_reported = id.events_reported};
                      });
}

Expected<void, Errno> write_event(CmFile& file, const WriteEvent& command) {
  const auto type = static_cast<EventType>(command.event);
  if (type != EventType::kUser && type != EventType::kInternal) return error(EINVAL);
  return Service::run(file, command.id, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    rdma_ucm_event_resp event = plain_event(type, static_cast<int>(command.status));
    std::memcpy(&event.param, &command.argument, sizeof command.argument);
    service.post(id, event);
    return {};
  });
}

Expected<rdma_ucm_event_resp, Errno> get_event(CmFile& file) {
  return Service::run([&](Service& service) -> Expected<rdma_ucm_event_resp, Errno> {
    auto event = file.take();
    if (!event) return error(EAGAIN);
    count_read(service, *event);
    return event->response;
  });
}

}  // namespace urxe::cm
