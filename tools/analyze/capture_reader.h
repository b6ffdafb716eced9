// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "packet/base/expected.h"
#include "tools/analyze/progress_bar.h"

namespace urxe::analyze {

/// Link types of captures (LINKTYPE_ values).
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

/// A frame of a capture. `bytes` lives until the next one is read.
struct CapturedFrame {
  uint64_t number = 0;  ///< from 1, as tshark counts
  int64_t time_ns = 0;  ///< since 1970
  LinkType link_type = LinkType::kEthernet;
  std::span<const uint8_t> bytes;
  size_t wire_size = 0;  ///< larger than `bytes` if the capture cut the frame
};

/// Why a capture could not be read to its end, in words for the user.
struct ReadFailure {
  std::string reason;
  uint64_t frames = 0;  ///< read before it; 0: the file is no capture that can be read at all
};

using FrameVisitor = std::function<void(const CapturedFrame&)>;
using ProgressVisitor = std::function<void(const Progress&)>;

/// Calls `visit` for each frame of a pcap or pcapng file, and `on_progress`, if there is one, now
/// and then between them. Returns the number of frames.
Expected<uint64_t, ReadFailure> read_capture(const std::string& path, const FrameVisitor& visit,
                                             const ProgressVisitor& on_progress = {});

}  // namespace urxe::analyze
