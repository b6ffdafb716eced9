// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ping/self_ping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "packet/host/clock.h"
#include "packet/wire/gid.h"
#include "provider/devices/device_file.h"
#include "tools/doctor/child.h"
#include "tools/doctor/ping/loop_pair.h"
#include "tools/doctor/ping/ping_report.h"
#include "tools/doctor/ping/verbs_library.h"

namespace urxe::doctor {
namespace {

constexpr size_t kRounds = 1000;
constexpr Duration kLimit = seconds(2);
/// After that no other address is tried.
constexpr Duration kLimitOfAll = seconds(10);

bool is_presence_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/liburxe-presence.so")) return true;
  }
  return false;
}

std::set<std::string> urxe_names() {
  std::set<std::string> names;
  const char* const tree = std::getenv("URXE_TREE");
  for (const DeviceDescription& device : read_devices(tree != nullptr ? tree : "")) {
    names.insert(device.name);
  }
  return names;
}

std::string ping(const VerbsLibrary& verbs, ibv_context* context, int index, const ibv_gid& gid) {
  LoopPair pair(verbs, context);
  const auto connected = pair.connect(index, gid);
  if (!connected) return "failed " + connected.error();
  auto took = pair.ping(kRounds, kLimit);
  if (!took) return "failed " + took.error();
  const auto middle = took->begin() + static_cast<ptrdiff_t>(took->size() / 2);
  std::ranges::nth_element(*took, middle);
  return fmt::format("took {} {}", middle->ns, took->size());
}

/// What may still be tried.
struct Allowance {
  size_t pings = kMostPings;
  Instant end = clock_now() + kLimitOfAll;
  [[nodiscard]] bool is_left() const { return pings > 0 && clock_now() < end; }
};

/// Pings the GIDs of a device while `allowance` allows it.
void ping_device(const VerbsLibrary& verbs, ibv_device* device, Allowance& allowance) {
  const std::string name = device->name;
  ibv_context* const context = verbs.open_device(device);
  if (context == nullptr) {
    tell_parent(
        fmt::format("{} {} - failed cannot be opened: {}", kPingWord, name, std::strerror(errno)));
    return;
  }
  for (int index = 0; index < static_cast<int>(kGidTableLength) && allowance.is_left(); ++index) {
    ibv_gid gid{};
    if (verbs.query_gid(context, 1, index, &gid) != 0) break;
    const Gid address = Gid::from_ipv6(gid.raw);
    if (address.is_zero()) continue;
    --allowance.pings;
    tell_parent(fmt::format("{} {} {} {}", kPingWord, name, address.to_string(),
                            ping(verbs, context, index, gid)));
  }
  verbs.close_device(context);
}

}  // namespace

int self_ping() {
  // `urxe stat --why` is asked about the user's programs, not this one.
  setenv("URXE_STAT", "0", 1);
  // The pings show whether the network lets packets through, as those to other hosts.
  setenv("URXE_SHM", "0", 1);
  if (is_presence_loaded()) tell_parent(kPresenceWord);
  const auto verbs = load_verbs_library();
  if (!verbs) {
    tell_parent(fmt::format("{} {}", kErrorWord, verbs.error()));
    return 0;
  }
  const std::set<std::string> ours = urxe_names();
  ibv_device** const devices = verbs->get_device_list(nullptr);
  if (devices == nullptr) {
    tell_parent(fmt::format("{} ibv_get_device_list: {}", kErrorWord, std::strerror(errno)));
    return 0;
  }
  Allowance allowance;
  for (ibv_device** device = devices; *device != nullptr; ++device) {
    if (!ours.contains((*device)->name)) continue;
    tell_parent(fmt::format("{} {}", kDeviceWord, (*device)->name));
    ping_device(*verbs, *device, allowance);
  }
  verbs->free_device_list(devices);
  tell_parent(kEndWord);
  return 0;
}

}  // namespace urxe::doctor
