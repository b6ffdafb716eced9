// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace urxe::test {

/// Link types of capture files, those that are understood here (LINKTYPE_ values).
enum class LinkType : uint32_t {
  kNull = 0,
  kEthernet = 1,
  kRaw = 101,
  kLoop = 108,
  kLinuxSll = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxSll2 = 276,
};

/// pcapng's epb_flags, the direction bits.
inline constexpr uint32_t kInbound = 1;
inline constexpr uint32_t kOutbound = 2;

struct CapturedFrame {
  LinkType link_type = LinkType::kEthernet;
  std::vector<uint8_t> bytes;
  uint64_t original_size = 0;  ///< larger than bytes.size() where the capture cut it
  uint64_t time_ns = 0;        ///< since 1970, where the file says
  uint32_t flags = 0;          ///< epb_flags; 0 where the file has none
};

struct CaptureFile {
  std::vector<CapturedFrame> frames;
  std::string error;  ///< why reading stopped; empty: the whole file was read
};

/// Reads a pcap or pcapng file of either byte order.
CaptureFile read_capture(const std::string& path);
CaptureFile parse_capture(const std::vector<uint8_t>& file);

}  // namespace urxe::test
