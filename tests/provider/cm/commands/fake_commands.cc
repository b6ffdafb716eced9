// SPDX-License-Identifier: BSD-2-Clause
#include "tests/provider/cm/commands/fake_commands.h"

#include <cerrno>
#include <mutex>
#include <sstream>

namespace urxe::cm {
namespace {

std::mutex mutex;
FakeCommands fake;

template <class... Fields>
Expected<void, Errno> record(const char* name, const Fields&... fields) {
  std::lock_guard lock(mutex);
  std::ostringstream text;
  text << name;
  ((text << ' ' << fields), ...);
  fake.calls.push_back(text.str());
  if (fake.fails_with != 0) return error(fake.fails_with);
  return {};
}

template <class Response>
Expected<Response, Errno> answer(const Expected<void, Errno>& recorded, const Response& response) {
  if (!recorded) return error(recorded.error().value);
  return response;
}

rdma_ucm_query_addr_resp addresses(uint64_t guid) {
  rdma_ucm_query_addr_resp response{};
  response.node_guid = guid;
  response.ibdev_index = 77;
  return response;
}

constexpr CommandTable kFake = {
    .add_file = [](const std::shared_ptr<CmFile>&) { return record("add_file"); },
    .create_id =
        [](CmFile&, const rdma_ucm_create_id& c) {
          return answer(record("create_id", c.uid, c.ps, int{c.qp_type}),
                        rdma_ucm_create_id_resp{5});
        },
    .destroy_id =
        [](CmFile&, const rdma_ucm_destroy_id& c) {
          return answer(record("destroy_id", c.id), rdma_ucm_destroy_id_resp{6});
        },
    .bind_address =
        [](CmFile&, uint32_t id, const sockaddr_storage& address, size_t size) {
          fake.source = address;
          return record("bind_address", id, address.ss_family, size);
        },
    .resolve_address =
        [](CmFile&, uint32_t id, uint32_t timeout_ms, const sockaddr_storage& source,
           size_t source_size, const sockaddr_storage& destination, size_t destination_size) {
          fake.source = source;
          fake.destination = destination;
          return record("resolve_address", id, timeout_ms, source_size, destination.ss_family,
                        destination_size);
        },
    .resolve_route = [](CmFile&, uint32_t id,
                        uint32_t timeout_ms) { return record("resolve_route", id, timeout_ms); },
    .query_route =
        [](CmFile&, uint32_t id) {
          rdma_ucm_query_route_resp response{};
          response.num_paths = 1;
          response.ibdev_index = 77;
          return answer(record("query_route", id), response);
        },
    .query_address = [](CmFile&,
                        uint32_t id) { return answer(record("query_address", id), addresses(10)); },
    .query_path =
        [](CmFile&, uint32_t id) {
          std::vector<ib_path_rec_data> paths(fake.paths);
          for (size_t i = 0; i < paths.size(); ++i) paths[i].flags = static_cast<uint32_t>(i + 1);
          return answer(record("query_path", id), paths);
        },
    .query_gid = [](CmFile&,
                    uint32_t id) { return answer(record("query_gid", id), addresses(11)); },
    .connect =
        [](CmFile&, uint32_t id, const rdma_ucm_conn_param& parameters, const rdma_ucm_ece& ece) {
          fake.parameters = parameters;
          fake.ece = ece;
          return record("connect", id);
        },
    .listen = [](CmFile&, uint32_t id, uint32_t backlog) { return record("listen", id, backlog); },
    .accept =
        [](CmFile&, const rdma_ucm_accept& c) {
          fake.parameters = c.conn_param;
          fake.ece = c.ece;
          return record("accept", c.id, c.uid);
        },
    .reject =
        [](CmFile&, const rdma_ucm_reject& c) {
          return record("reject", c.id, int{c.reason}, int{c.private_data_len});
        },
    .disconnect = [](CmFile&, uint32_t id) { return record("disconnect", id); },
    .notify = [](CmFile&, uint32_t id,
                 ibv_event_type event) { return record("notify", id, int{event}); },
    .init_qp_attr =
        [](CmFile&, uint32_t id, ibv_qp_state state) {
          ib_uverbs_qp_attr response{};
          response.qp_attr_mask = 3;
          return answer(record("init_qp_attr", id, int{state}), response);
        },
    .set_option =
        [](CmFile&, uint32_t id, uint32_t level, uint32_t name, std::span<const uint8_t> value) {
          fake.option.assign(value.begin(), value.end());
          return record("set_option", id, level, name, value.size());
        },
    .join_multicast =
        [](CmFile&, uint32_t id, uint64_t uid, const sockaddr_storage& address, size_t size,
           uint16_t join_flags) {
          fake.destination = address;
          return answer(record("join_multicast", id, uid, address.ss_family, size, join_flags),
                        uint32_t{8});
        },
    .leave_multicast =
        [](CmFile&, uint32_t membership) {
          return answer(record("leave_multicast", membership), rdma_ucm_destroy_id_resp{9});
        },
    .migrate_id =
        [](CmFile& to, CmFile& from, uint32_t id) {
          for (const CmFileEvent& event : from.take_back(id)) (void)to.post(event);
          return answer(record("migrate_id", id), rdma_ucm_migrate_resp{4});
        },
    .get_event = [](CmFile& file) -> Expected<rdma_ucm_event_resp, Errno> {
      if (auto recorded = record("get_event"); !recorded) return error(recorded.error().value);
      auto event = file.take();
      if (!event) return error(EAGAIN);
      return event->response;
    },
    .write_event =
        [](CmFile&, const WriteEvent& c) {
          return record("write_event", c.id, c.event, c.status, c.argument);
        },
};

}  // namespace

FakeCommands& reset_fake_commands() {
  fake = {};
  return fake;
}

const CommandTable& fake_command_table() {
  return kFake;
}

}  // namespace urxe::cm
