// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/offload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "packet/host/file_descriptor.h"

// Linux has these; the C library does not name them.
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace urxe::doctor {
namespace {

constexpr const char* kOffloadCheck = "offload";

bool can_set(int fd, int option, int value) {
  return setsockopt(fd, IPPROTO_UDP, option, &value, sizeof value) == 0;
}

std::optional<bool> ask(int fd, const std::string& ifname, uint32_t command) {
  ethtool_value value{};
  value.cmd = command;
  ifreq request{};
  if (ifname.size() >= sizeof request.ifr_name) return std::nullopt;
  std::memcpy(request.ifr_name, ifname.c_str(), ifname.size());
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (ioctl(fd, SIOCETHTOOL, &request) != 0) return std::nullopt;
  return value.data != 0;
}

}  // namespace

OffloadFacts read_offload(const std::string& ifname) {
  OffloadFacts facts;
  facts.ifname = ifname;
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  facts.kernel_segments = can_set(fd.get(), UDP_SEGMENT, 1024);
  facts.kernel_joins = can_set(fd.get(), UDP_GRO, 1);
  facts.segments = ask(fd.get(), ifname, ETHTOOL_GGSO);
  facts.joins = ask(fd.get(), ifname, ETHTOOL_GGRO);
  facts.sums = ask(fd.get(), ifname, ETHTOOL_GTXCSUM);
  return facts;
}

Finding judge_offload(const OffloadFacts& facts) {
  if (!facts.kernel_segments || !facts.kernel_joins) {
    return note(kOffloadCheck,
                "this kernel lacks UDP segmentation offload: large messages are slow",
                "use Linux 5.0 or later");
  }
  std::vector<std::string> off;
  if (facts.segments == false) off.emplace_back("gso");
  if (facts.joins == false) off.emplace_back("gro");
  if (facts.sums == false) off.emplace_back("tx");
  if (!off.empty()) {
    return note(
        kOffloadCheck,
        fmt::format("{} has {} off: large messages are slow", facts.ifname, fmt::join(off, ", ")),
        fmt::format("ethtool -K {} {} on, but for captures by tcpdump", facts.ifname,
                    fmt::join(off, " on ")));
  }
  if (!facts.segments || !facts.joins) {
    return ok(kOffloadCheck, "the kernel has UDP segmentation offload; " + facts.ifname +
                                 " does not tell about its own");
  }
  return ok(kOffloadCheck, facts.ifname + " segments and joins batches of packets");
}

}  // namespace urxe::doctor
