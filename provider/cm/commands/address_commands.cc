// SPDX-License-Identifier: BSD-2-Clause
// The commands that carry or return addresses. The older ones (BIND_IP, RESOLVE_IP, JOIN_IP_MCAST)
// have room for an IPv6 address, and its family gives the length. The newer ones have the length as
// well, which must be the family's.
#include <cerrno>

#include "provider/cm/addresses/addresses.h"
#include "provider/cm/commands/command_call.h"

namespace urxe::cm {
namespace {

/// An address in a command; size 0: of no known family, or too short.
struct CommandAddress {
  sockaddr_storage storage{};
  size_t size = 0;
};

template <class Bytes>
CommandAddress take_address(const Bytes& bytes) {
  static_assert(sizeof(Bytes) <= sizeof(sockaddr_storage));
  CommandAddress address;
  std::memcpy(&address.storage, &bytes, sizeof bytes);
  address.size = Address{address.storage}.size();
  if (address.size > sizeof bytes) address.size = 0;
  return address;
}

Expected<void, Errno> resolve(const CommandCall& call, uint32_t id, uint32_t timeout_ms,
                              const CommandAddress& source, const CommandAddress& destination) {
  if (destination.size == 0) return error(EINVAL);
  return call.commands().resolve_address(call.file, id, timeout_ms, source.storage, source.size,
                                         destination.storage, destination.size);
}

Expected<void, Errno> join(const CommandCall& call, const rdma_ucm_join_mcast& command) {
  const CommandAddress group = take_address(command.addr);
  if (group.size == 0 || group.size != command.addr_size ||
      command.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) {
    return error(EINVAL);
  }
  auto membership = call.commands().join_multicast(call.file, command.id, command.uid,
                                                   group.storage, group.size, command.join_flags);
  if (!membership) return error(membership.error().value);
  auto answered = call.answer(command.response, rdma_ucm_create_id_resp{*membership});
  if (!answered) (void)call.commands().leave_multicast(call.file, *membership);
  return answered;
}

/// Returns as many paths as there is room for, and the number of all.
Expected<void, Errno> query_path(const CommandCall& call, const rdma_ucm_query& command) {
  rdma_ucm_query_path_resp head;  // has no initializer: it ends in an array of any length
  std::memset(&head, 0, sizeof head);
  if (call.out < sizeof head) return error(ENOSPC);
  auto paths = call.commands().query_path(call.file, command.id);
  if (!paths) return error(paths.error().value);
  head.num_paths = static_cast<uint32_t>(paths->size());
  if (auto written = write_user(command.response, &head, sizeof head); !written) return written;
  const size_t fitting =
      std::min(paths->size(), (call.out - sizeof head) / sizeof(ib_path_rec_data));
  return write_user(command.response + sizeof head, paths->data(),
                    fitting * sizeof(ib_path_rec_data));
}

Expected<void, Errno> query_addresses(const CommandCall& call, const rdma_ucm_query& command,
                                      decltype(CommandTable::query_address) query) {
  if (call.out < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return error(ENOSPC);
  auto addresses = query(call.file, command.id);
  if (!addresses) return error(addresses.error().value);
  return call.answer(command.response, *addresses);
}

}  // namespace

Expected<void, Errno> handle_bind_ip(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_bind_ip>();
  const CommandAddress address = take_address(command.addr);
  if (address.size == 0) return error(EINVAL);
  return call.commands().bind_address(call.file, command.id, address.storage, address.size);
}

Expected<void, Errno> handle_bind(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_bind>();
  const CommandAddress address = take_address(command.addr);
  if (command.reserved != 0 || address.size == 0 || address.size != command.addr_size) {
    return error(EINVAL);
  }
  return call.commands().bind_address(call.file, command.id, address.storage, address.size);
}

Expected<void, Errno> handle_resolve_ip(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_resolve_ip>();
  const CommandAddress source = take_address(command.src_addr);
  if (command.src_addr.sin6_family != AF_UNSPEC && source.size == 0) return error(EINVAL);
  return resolve(call, command.id, command.timeout_ms, source, take_address(command.dst_addr));
}

Expected<void, Errno> handle_resolve_address(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_resolve_addr>();
  CommandAddress source;
  if (command.src_size != 0) source = take_address(command.src_addr);
  const CommandAddress destination = take_address(command.dst_addr);
  if (command.reserved != 0 || source.size != command.src_size ||
      destination.size != command.dst_size) {
    return error(EINVAL);
  }
  return resolve(call, command.id, command.timeout_ms, source, destination);
}

Expected<void, Errno> handle_resolve_route(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_resolve_route>();
  return call.commands().resolve_route(call.file, command.id, command.timeout_ms);
}

Expected<void, Errno> handle_query_route(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_query>();
  auto route = call.commands().query_route(call.file, command.id);
  if (!route) return error(route.error().value);
  return call.answer(command.response, *route);
}

Expected<void, Errno> handle_query(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_query>();
  switch (command.option) {
    case RDMA_USER_CM_QUERY_ADDR:
      return query_addresses(call, command, call.commands().query_address);
    case RDMA_USER_CM_QUERY_PATH:
      return query_path(call, command);
    case RDMA_USER_CM_QUERY_GID:
      return query_addresses(call, command, call.commands().query_gid);
    default:
      return error(ENOSYS);
  }
}

Expected<void, Errno> handle_join_ip_multicast(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_join_ip_mcast>();
  rdma_ucm_join_mcast newer{};
  newer.response = command.response;
  newer.uid = command.uid;
  newer.id = command.id;
  newer.addr_size = static_cast<uint16_t>(take_address(command.addr).size);
  newer.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
  std::memcpy(&newer.addr, &command.addr, sizeof command.addr);
  return join(call, newer);
}

Expected<void, Errno> handle_join_multicast(const CommandCall& call) {
  return join(call, call.command<rdma_ucm_join_mcast>());
}

Expected<void, Errno> handle_leave_multicast(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_destroy_id>();
  auto left = call.commands().leave_multicast(call.file, command.id);
  if (!left) return error(left.error().value);
  return call.answer(command.response, *left);
}

}  // namespace urxe::cm
