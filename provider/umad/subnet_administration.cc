// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/subnet_administration.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>

#include "packet/base/bytes.h"
#include "provider/cm/addresses/path_record.h"
#include "provider/devices/path_mtu.h"
#include "provider/umad/addresses.h"
#include "provider/umad/management.h"

namespace urxe::umad {
namespace {

constexpr uint8_t kAdministrationVersion = 2;
constexpr uint16_t kPathRecord = 0x0035;
constexpr size_t kComponentMaskAt = 48;
constexpr size_t kRecordAt = 56;
constexpr uint64_t kHasDestinationGid = 1 << 2;
constexpr uint64_t kHasSourceGid = 1 << 3;

// In the record.
constexpr size_t kDestinationGidAt = 8;
constexpr size_t kSourceGidAt = 24;
constexpr size_t kDestinationLidAt = 40;

constexpr uint16_t kStatusInvalidGid = 5 << 8;
constexpr uint16_t kStatusInsufficientComponents = 6 << 8;

Gid gid_at(MadView mad, size_t at) {
  return Gid::from_ipv6(mad.data() + kRecordAt + at);
}

std::optional<size_t> index_of(const DeviceDescription& device, const Gid& gid) {
  const auto found = std::ranges::find(device.gids, gid);
  if (found == device.gids.end()) return std::nullopt;
  return static_cast<size_t>(found - device.gids.begin());
}

/// IBTA vol. 1, 15.2.2. nullopt: there is none.
std::optional<uint8_t> response_method(uint8_t method) {
  constexpr uint8_t kGetTable = 0x12;
  constexpr uint8_t kGetTraceTable = 0x13;
  constexpr uint8_t kGetMulti = 0x14;
  constexpr uint8_t kDelete = 0x15;
  switch (method) {
    case kMethodGet:
    case kMethodSet:
      return kMethodGetResp;
    case kGetTable:
    case kGetTraceTable:
      return kGetTable | kMadMethodResponse;
    case kGetMulti:
    case kDelete:
      return method | kMadMethodResponse;
    default:
      return std::nullopt;
  }
}

MadBytes answer_path(MadView request, const DeviceDescription& device, Lids& lids) {
  const uint64_t components = load_be64(request.data() + kComponentMaskAt);
  if ((components & kHasDestinationGid) == 0)
    return respond(request, kStatusInsufficientComponents);
  const Gid remote = gid_of_port(gid_at(request, kDestinationGidAt));
  const Gid wanted = gid_at(request, kSourceGidAt);
  const size_t index = (components & kHasSourceGid) != 0 ? index_of(device, wanted).value_or(0) : 0;
  const auto local = source_for(remote, device.gids, index);
  if (!local || !is_destination(remote)) return respond(request, kStatusInvalidGid);
  cm::Path path;
  path.local = *local;
  path.remote = remote;
  path.mtu = static_cast<uint8_t>(path_mtu_for(device.mtu));
  path.rate = cm::rate_of(device.speed_mbps);
  const ib_path_rec_data record = cm::to_path_data(path);
  MadBytes response = respond(request, 0);
  uint8_t* const at = response.data() + kRecordAt;
  static_assert(kRecordAt + sizeof record.path_rec <= kMadBytes);
  std::memcpy(at, record.path_rec, sizeof record.path_rec);
  store_be16(at + kDestinationLidAt, lids.of_wanted(remote));
  return response;
}

}  // namespace

std::optional<MadBytes> answer_subnet_administration(MadView request,
                                                     const DeviceDescription& device, Lids& lids) {
  const MadHeader header = read_mad_header(request);
  if ((header.method & kMadMethodResponse) != 0) return std::nullopt;
  if (header.base_version != kMadBaseVersion || header.class_version != kAdministrationVersion) {
    return respond(request, kStatusBadVersion);
  }
  const bool asks_for_path = header.method == kMethodGet && header.attribute_id == kPathRecord;
  if (asks_for_path) return answer_path(request, device, lids);
  const auto method = response_method(header.method);
  if (!method) return std::nullopt;
  MadBytes refusal = respond(request, kStatusUnsupportedAttribute);
  refusal[3] = *method;
  return refusal;
}

}  // namespace urxe::umad
