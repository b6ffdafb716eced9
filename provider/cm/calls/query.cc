// SPDX-License-Identifier: BSD-2-Clause
// rdma_get_local_addr(3) and its kin: the addresses, device and path of an id.
#include "provider/cm/calls/query.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

/// The devices of the tree have no index in the kernel; without one librdmacm goes by the GUID.
constexpr uint32_t kNoIndex = UINT32_MAX;
const uint16_t kPKey = htobe16(kDefaultPKey.value());

uint64_t node_guid_of(const CmId& id) {
  RuntimeDevice::Guard guard(*id.device->runtime);
  return htobe64(id.device->runtime->described().node_guid);
}

template <class Response>
void put_device(const CmId& id, Response& response) {
  response.ibdev_index = kNoIndex;
  if (id.device == nullptr) return;
  response.node_guid = node_guid_of(id);
  response.port_num = id.port;
}

template <class Sockaddr>
uint16_t put_address(const Address& address, Sockaddr& out) {
  const size_t size = std::min(address.size(), sizeof out);
  std::memcpy(&out, &address.storage, size);
  return static_cast<uint16_t>(size);
}

template <class Sockaddr>
uint16_t put_ip_address(const Address& address, Sockaddr& out) {
  return address.family() == kAfIb ? uint16_t{0} : put_address(address, out);
}

/// The address as an AF_IB address.
Address gid_address(const CmId& id, const Address& address) {
  if (address.family() == kAfIb) return address;
  const bool known = id.device != nullptr && address.size() != 0;
  Address out = make_address(kAfIb, known ? address.gid() : Gid{}, 0);
  return with_service(out, service_of(id.space, address));
}

}  // namespace

Expected<rdma_ucm_query_route_resp, Errno> query_route(CmFile& file, uint32_t number) {
  return Service::run(
      file, number, [&](Service&, CmId& id) -> Expected<rdma_ucm_query_route_resp, Errno> {
        rdma_ucm_query_route_resp response{};
        put_ip_address(id.source, response.src_addr);
        put_ip_address(id.destination, response.dst_addr);
        put_device(id, response);
        if (id.device == nullptr) return response;
        const bool resolved = id.state > IdState::kAddressResolved && !id.paths.empty();
        response.num_paths = resolved ? 1 : 0;
        Path path;
        path.local = id.source.gid();
        path.remote = id.destination.gid();
        if (resolved) {
          response.ib_route[0] = to_user_path(id.paths[0]);
          return response;
        }
        const ib_user_path_rec ends = to_user_path(path);
        std::copy(std::begin(ends.sgid), std::end(ends.sgid), response.ib_route[0].sgid);
        std::copy(std::begin(ends.dgid), std::end(ends.dgid), response.ib_route[0].dgid);
        response.ib_route[0].pkey = kPKey;
        return response;
      });
}

Expected<rdma_ucm_query_addr_resp, Errno> query_address(CmFile& file, uint32_t number) {
  return Service::run(file, number,
                      [&](Service&, CmId& id) -> Expected<rdma_ucm_query_addr_resp, Errno> {
                        rdma_ucm_query_addr_resp response{};
                        response.src_size = put_address(id.source, response.src_addr);
                        response.dst_size = put_address(id.destination, response.dst_addr);
                        put_device(id, response);
                        if (id.device != nullptr) response.pkey = kPKey;
                        return response;
                      });
}

Expected<std::vector<ib_path_rec_data>, Errno> query_path(CmFile& file, uint32_t number) {
  return Service::run(file, number,
                      [&](Service&, CmId& id) -> Expected<std::vector<ib_path_rec_data>, Errno> {
                        std::vector<ib_path_rec_data> paths;
                        if (id.state <= IdState::kAddressResolved) return paths;
                        for (const Path& path : id.paths) paths.push_back(to_path_data(path));
                        return paths;
                      });
}

Expected<rdma_ucm_query_addr_resp, Errno> query_gid(CmFile& file, uint32_t number) {
  return Service::run(
      file, number, [&](Service&, CmId& id) -> Expected<rdma_ucm_query_addr_resp, Errno> {
        rdma_ucm_query_addr_resp response{};
        response.src_size = put_address(gid_address(id, id.source), response.src_addr);
        response.dst_size = put_address(gid_address(id, id.destination), response.dst_addr);
        put_device(id, response);
        if (id.device != nullptr) response.pkey = kPKey;
        return response;
      });
}

}  // namespace urxe::cm
