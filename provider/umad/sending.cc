// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/sending.h"

#include <endian.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "packet/host/clock.h"
#include "provider/devices/device_tree.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/user_memory.h"
#include "provider/umad/addresses.h"
#include "provider/umad/management.h"
#include "provider/umad/performance.h"
#include "provider/umad/registration.h"
#include "provider/umad/subnet_administration.h"

namespace urxe::umad {
namespace {

/// The MAD header and that of RMPP, which Linux reads before anything else.
constexpr size_t kLeastMad = 36;
constexpr size_t kRmppFlagsAt = 26;
constexpr uint8_t kDscp = 0xfc;  ///< of a traffic class; the rest is for marks of congestion
constexpr uint8_t kRmppActive = 1;

/// What was written: a MAD and where it is to go.
struct Written {
  ib_user_mad_hdr header{};
  MadBytes mad{};  ///< zero behind the bytes that were written

  [[nodiscard]] uint8_t management_class() const { return read_mad_header(mad).management_class; }
  [[nodiscard]] uint16_t lid() const { return be16toh(header.lid); }
  [[nodiscard]] bool is_segment() const {
    return has_rmpp(management_class()) && (mad[kRmppFlagsAt] & kRmppActive) != 0;
  }
};

/// Each sentence once: a program may try again and again.
void explain_once(std::atomic<bool>& told, const std::string& text) {
  if (!told.exchange(true)) print_error(text);
}

void explain_subnet_management(const std::string& device) {
  static std::atomic<bool> told{false};
  explain_once(told, device +
                         " is a RoCE port, which has no subnet management: its packets (SMPs), by "
                         "which programs like ibaddr and smpquery ask, are refused; ibstat and "
                         "perfquery need none");
}

void explain_lid(uint16_t lid) {
  static std::atomic<bool> told{false};
  explain_once(told, "LID " + std::to_string(lid) +
                         " is nobody's, because RoCE has no LIDs: name the peer by its port GUID, "
                         "which `ibstat -p` prints there, with the options -s 1 -G GUID");
}

void explain_reset(const std::string& device) {
  static std::atomic<bool> told{false};
  explain_once(told, "the counters of " + device +
                         " cannot be reset, because other programs read them, too: subtract what "
                         "they were before");
}

Expected<Written, Errno> read_written(const UmadFile& file, const void* buffer, size_t length) {
  const size_t before = file.header_bytes();
  if (length < before + kLeastMad || length > before + kMadBytes) return error(EINVAL);
  Written written;
  const auto* const mad = static_cast<const uint8_t*>(buffer) + before;
  if (!read_user(&written.header, buffer, before)) return error(EFAULT);
  if (!read_user(written.mad.data(), mad, length - before)) return error(EFAULT);
  return written;
}

/// The response of this process itself, which is read from the file like another's.
void give_response(UmadFile& file, const Written& request, const MadBytes& response) {
  ib_user_mad_hdr header{};
  header.id = request.header.id;
  header.qpn = request.header.qpn;
  header.lid = request.header.lid;
  header.sl = request.header.sl;
  file.send(header, response);
}

Expected<void, Errno> ask_own_performance(UmadFile& file, const Written& request) {
  const auto sums = read_counter_sums(device_tree(), file.device());
  if (!sums) return error(EIO);
  if (asks_for_reset(request.mad)) explain_reset(file.device());
  if (const auto response = answer_performance(request.mad, *sums)) {
    give_response(file, request, *response);
  }
  return {};
}

Expected<void, Errno> ask_own_administration(Service& service, UmadFile& file,
                                             const Written& request) {
  const auto device = read_device(device_tree(), file.device());
  if (!device) return error(ENODEV);
  const auto response = answer_subnet_administration(request.mad, *device, service.port(file).lids);
  if (response) give_response(file, request, *response);
  return {};
}

Expected<LidPeer, Errno> destination_of(const Port& port, const Written& written) {
  if (written.header.grh_present != 0) {
    const Gid gid = Gid::from_ipv6(written.header.gid);
    if (!is_destination(gid)) return error(EINVAL);
    return LidPeer{gid, {}};
  }
  if (const auto peer = port.lids.peer_of(written.lid())) return *peer;
  explain_lid(written.lid());
  return error(EHOSTUNREACH);
}

bool is_own(const UmadFile& file, const Gid& gid) {
  const auto device = read_device(device_tree(), file.device());
  return device && std::ranges::find(device->gids, gid) != device->gids.end();
}

/// Where in the GID table the source is to be looked for first.
size_t source_index(const std::vector<Gid>& gids, const Written& written, const LidPeer& peer) {
  if (written.header.grh_present != 0) return written.header.gid_index;
  const auto own = std::ranges::find(gids, peer.own);
  return peer.own.is_zero() || own == gids.end() ? 0 : static_cast<size_t>(own - gids.begin());
}

Expected<void, Errno> send_to(Port& port, MadAgentId agent, const Written& written,
                              const LidPeer& peer) {
  const Qpn qpn(be32toh(written.header.qpn));
  constexpr uint32_t kLargestQpn = 0xffffff;
  if (qpn.value() == 0 || qpn.value() > kLargestQpn) return error(EINVAL);
  RuntimeDevice::Guard guard(*port.runtime);
  const bool has_index = written.header.grh_present != 0;
  const std::vector<Gid>& gids = port.runtime->described().gids;
  const auto source = source_for(peer.gid, gids, source_index(gids, written, peer));
  if (!source) return error(ENETUNREACH);
  OutgoingMad mad;
  mad.flow.source = *source;
  mad.flow.destination = peer.gid;
  mad.flow.traffic_class =
      has_index ? static_cast<uint8_t>(written.header.traffic_class & kDscp) : 0;
  if (has_index && written.header.hop_limit != 0) mad.flow.hop_limit = written.header.hop_limit;
  mad.mad = written.mad;
  mad.qpn = qpn;
  MadPatience patience{milliseconds(written.header.timeout_ms), written.header.retries, {}};
  static_assert(sizeof patience.note == sizeof written.header);
  std::memcpy(patience.note.data(), &written.header, sizeof written.header);
  return port.runtime->device().mads().send(agent, mad, patience, clock_now());
}

Expected<void, Errno> dispatch(Service& service, UmadFile& file, const Written& written) {
  const uint8_t management_class = written.management_class();
  if (is_subnet_management(management_class)) {
    explain_subnet_management(file.device());
    return error(EOPNOTSUPP);
  }
  if (written.is_segment() && file.agent(written.header.id)->leaves_rmpp) {
    return error(EOPNOTSUPP);
  }
  const bool has_grh = written.header.grh_present != 0;
  if (!has_grh && management_class == kSubnetAdministration) {
    return ask_own_administration(service, file, written);
  }
  if (!has_grh && management_class == kPerformance && written.lid() == 0) {
    return ask_own_performance(file, written);
  }
  Port& port = service.port(file);
  const auto destination = destination_of(port, written);
  if (!destination) return Unexpected<Errno>(destination.error());
  if (management_class == kPerformance && is_own(file, destination->gid)) {
    return ask_own_performance(file, written);
  }
  if (auto attached = service.attach(file, written.header.id); !attached) return attached;
  return send_to(port, *file.agent(written.header.id)->id, written, *destination);
}

}  // namespace

Expected<size_t, Errno> send_mad(Service& service, UmadFile& file, const void* buffer,
                                 size_t length) {
  const auto written = read_written(file, buffer, length);
  if (!written) return Unexpected<Errno>(written.error());
  if (written->header.id >= UmadFile::kMostAgents) return error(EINVAL);
  if (file.agent(written->header.id) == nullptr) return error(EIO);
  if (auto sent = dispatch(service, file, *written); !sent) return Unexpected<Errno>(sent.error());
  return length;
}

}  // namespace urxe::umad
