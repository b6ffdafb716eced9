// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/commands/dispatch.h"

#include <cerrno>

#include "provider/cm/commands/command_call.h"
#include "provider/runtime/errors.h"

namespace urxe::cm {
namespace {

// The layouts of the ABI, as in 64-bit programs.
static_assert(sizeof(rdma_ucm_cmd_hdr) == 8);
static_assert(sizeof(rdma_ucm_create_id) == 24 && offsetof(rdma_ucm_create_id, ps) == 16);
static_assert(sizeof(rdma_ucm_destroy_id) == 16 && offsetof(rdma_ucm_destroy_id, id) == 8);
static_assert(sizeof(rdma_ucm_bind_ip) == 40 && offsetof(rdma_ucm_bind_ip, id) == 36);
static_assert(sizeof(rdma_ucm_bind) == 136 && offsetof(rdma_ucm_bind, addr) == 8);
static_assert(sizeof(rdma_ucm_resolve_ip) == 64 && offsetof(rdma_ucm_resolve_ip, id) == 56);
static_assert(sizeof(rdma_ucm_resolve_addr) == 272);
static_assert(offsetof(rdma_ucm_resolve_addr, src_addr) == 16);
static_assert(sizeof(rdma_ucm_conn_param) == 272 && sizeof(rdma_ucm_ud_param) == 304);
static_assert(sizeof(rdma_ucm_connect) == 288 && offsetof(rdma_ucm_connect, ece) == 280);
static_assert(sizeof(rdma_ucm_accept) == 296 && offsetof(rdma_ucm_accept, ece) == 288);
static_assert(sizeof(rdma_ucm_reject) == 264 && sizeof(rdma_ucm_disconnect) == 4);
static_assert(sizeof(rdma_ucm_join_ip_mcast) == 48 && sizeof(rdma_ucm_join_mcast) == 152);
static_assert(sizeof(rdma_ucm_set_option) == 24 && sizeof(rdma_ucm_migrate_id) == 16);
static_assert(sizeof(rdma_ucm_query) == 16 && sizeof(rdma_ucm_init_qp_attr) == 16);
static_assert(sizeof(rdma_ucm_event_resp) == 336);
static_assert(offsetof(rdma_ucm_event_resp, param) == 20);
static_assert(offsetof(rdma_ucm_event_resp, reserved) == 324);
static_assert(sizeof(rdma_ucm_query_addr_resp) == 280);
static_assert(offsetof(rdma_ucm_query_addr_resp, ibdev_index) == 272);
static_assert(sizeof(rdma_ucm_query_route_resp) == 208);
static_assert(offsetof(rdma_ucm_query_route_resp, ibdev_index) == 200);
static_assert(sizeof(ib_path_rec_data) == 72 && sizeof(ib_uverbs_qp_attr) == 144);

/// The handler of a command, and the least bytes of the command and of the room for its response.
struct Row {
  CommandHandler* handler = nullptr;  ///< null: there is nothing that could carry it out
  size_t least_in = 0;
  size_t least_out = 0;
};

template <class Command>
constexpr Row row(CommandHandler* handler, size_t least_out = 0) {
  return {handler, sizeof(Command), least_out};
}

constexpr size_t kCommandCount = WriteEvent::kNumber + 1;

constexpr std::array<Row, kCommandCount> make_rows() {
  constexpr size_t kIdBytes = sizeof(rdma_ucm_create_id_resp);
  constexpr size_t kEventsBytes = sizeof(rdma_ucm_destroy_id_resp);
  std::array<Row, kCommandCount> rows{};
  rows[RDMA_USER_CM_CMD_CREATE_ID] = row<rdma_ucm_create_id>(handle_create_id, kIdBytes);
  rows[RDMA_USER_CM_CMD_DESTROY_ID] = row<rdma_ucm_destroy_id>(handle_destroy_id, kEventsBytes);
  rows[RDMA_USER_CM_CMD_BIND_IP] = row<rdma_ucm_bind_ip>(handle_bind_ip);
  rows[RDMA_USER_CM_CMD_RESOLVE_IP] = row<rdma_ucm_resolve_ip>(handle_resolve_ip);
  rows[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = row<rdma_ucm_resolve_route>(handle_resolve_route);
  // Older layouts lack the device's index.
  rows[RDMA_USER_CM_CMD_QUERY_ROUTE] =
      row<rdma_ucm_query>(handle_query_route, offsetof(rdma_ucm_query_route_resp, ibdev_index));
  // Older layouts lack the enhanced connection establishment.
  rows[RDMA_USER_CM_CMD_CONNECT] = {handle_connect, offsetof(rdma_ucm_connect, ece), 0};
  rows[RDMA_USER_CM_CMD_LISTEN] = row<rdma_ucm_listen>(handle_listen);
  rows[RDMA_USER_CM_CMD_ACCEPT] = {handle_accept, offsetof(rdma_ucm_accept, ece), 0};
  rows[RDMA_USER_CM_CMD_REJECT] = row<rdma_ucm_reject>(handle_reject);
  rows[RDMA_USER_CM_CMD_DISCONNECT] = row<rdma_ucm_disconnect>(handle_disconnect);
  rows[RDMA_USER_CM_CMD_INIT_QP_ATTR] =
      row<rdma_ucm_init_qp_attr>(handle_init_qp_attr, sizeof(ib_uverbs_qp_attr));
  rows[RDMA_USER_CM_CMD_GET_EVENT] =
      row<rdma_ucm_get_event>(handle_get_event, offsetof(rdma_ucm_event_resp, reserved));
  rows[RDMA_USER_CM_CMD_SET_OPTION] = row<rdma_ucm_set_option>(handle_set_option);
  rows[RDMA_USER_CM_CMD_NOTIFY] = row<rdma_ucm_notify>(handle_notify);
  rows[RDMA_USER_CM_CMD_JOIN_IP_MCAST] =
      row<rdma_ucm_join_ip_mcast>(handle_join_ip_multicast, kIdBytes);
  rows[RDMA_USER_CM_CMD_LEAVE_MCAST] =
      row<rdma_ucm_destroy_id>(handle_leave_multicast, kEventsBytes);
  rows[RDMA_USER_CM_CMD_MIGRATE_ID] =
      row<rdma_ucm_migrate_id>(handle_migrate_id, sizeof(rdma_ucm_migrate_resp));
  rows[RDMA_USER_CM_CMD_QUERY] = row<rdma_ucm_query>(handle_query);
  rows[RDMA_USER_CM_CMD_BIND] = row<rdma_ucm_bind>(handle_bind);
  rows[RDMA_USER_CM_CMD_RESOLVE_ADDR] = row<rdma_ucm_resolve_addr>(handle_resolve_address);
  rows[RDMA_USER_CM_CMD_JOIN_MCAST] = row<rdma_ucm_join_mcast>(handle_join_multicast, kIdBytes);
  // 23 asks InfiniBand's subnet administration, which Ethernet does not have.
  rows[WriteEvent::kNumber] = row<WriteEvent>(handle_write_event);
  return rows;
}

constexpr std::array<Row, kCommandCount> kRows = make_rows();

}  // namespace

std::optional<Expected<size_t, Errno>> try_command(const Dispatcher& dispatcher, int fd,
                                                   const void* buffer, size_t length) {
  using Result = Expected<size_t, Errno>;
  const auto found = dispatcher.files.find(fd);
  if (!found) return Result(error(found.error().value));
  const std::shared_ptr<CmFile>& file = *found;
  rdma_ucm_cmd_hdr header{};
  if (length < sizeof header) return Result(error(EINVAL));
  if (auto read = read_user(&header, buffer, sizeof header); !read)
    return Result(error(read.error().value));
  if (header.cmd >= kCommandCount) return Result(error(EINVAL));
  const Row& row = kRows[header.cmd];
  if (header.in > length - sizeof header) return Result(error(EINVAL));
  if (row.handler == nullptr) return Result(error(ENOSYS));
  if (header.in < row.least_in) return Result(error(EINVAL));
  if (header.out < row.least_out) return Result(error(ENOSPC));

  CommandCall call{dispatcher, *file, header.out};
  const size_t known = std::min<size_t>(header.in, call.bytes.size());
  const auto* bytes = static_cast<const uint8_t*>(buffer) + sizeof header;
  if (auto read = read_user(call.bytes.data(), bytes, known); !read) return Result(error(EFAULT));
  const Expected<void, Errno> done = row.handler(call);
  // Any command may have taken events back.
  file->settle(fd);
  if (done) return Result(length);
  if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT && done.error().value == EAGAIN) return std::nullopt;
  if (done.error().value != EAGAIN) report_lack("use librdmacm", done.error().value);
  return Result(error(done.error().value));
}

}  // namespace urxe::cm
