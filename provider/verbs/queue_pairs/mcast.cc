// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

// The engine is a member of every group that a queue pair is attached to.

Expected<void, EngineError> join(Qp& qp, const Gid& group) try {
  return qp.progress->engine()->join_group(group);
} catch (const std::bad_alloc&) {
  return Unexpected<EngineError>({ENOMEM, "cannot join the group " + group.to_string()});
}

int attach_locked(Qp& qp, const Gid& group) {
  Device& device = qp.lane->device();
  if (auto attached = device.attach_multicast(*qp.queue_pair, group); !attached) {
    return attached.error().value;
  }
  auto joined = join(qp, group);
  if (joined) return 0;
  print_failure(joined.error().what, joined.error().errno_value);
  (void)device.detach_multicast(*qp.queue_pair, group);
  return joined.error().errno_value != 0 ? joined.error().errno_value : EIO;
}

int detach_locked(Qp& qp, const Gid& group) {
  Device& device = qp.lane->device();
  if (auto detached = device.detach_multicast(*qp.queue_pair, group); !detached) {
    return detached.error().value;
  }
  if (!device.multicast().has(group)) qp.progress->engine()->leave_group(group);
  return 0;
}

template <class Change>
int change_membership(ibv_qp* handle, const ibv_gid* gid, Change change) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  try {
    RuntimeDevice::Guard guard(qp.owner->device());
    return change(qp, Gid::from_ipv6(gid->raw));
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

// A LID means nothing on Ethernet.

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) noexcept {
  return change_membership(qp, gid, attach_locked);
}

int detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) noexcept {
  return change_membership(qp, gid, detach_locked);
}

bool is_in_group(const Qp& qp) {
  const MulticastTable& table = qp.lane->device().multicast();
  return table.group_of(*qp.queue_pair).has_value();
}

void leave_groups(Qp& qp) {
  const MulticastTable& table = qp.lane->device().multicast();
  while (auto group = table.group_of(*qp.queue_pair)) detach_locked(qp, *group);
}

}  // namespace urxe
