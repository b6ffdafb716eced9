// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/wire/roce_packet.h"
#include "tools/drill/script.h"

namespace urxe::drill {

/// A field whose value is not the expected one.
struct Difference {
  std::string field;
  std::string expected;
  std::string came;
};

/// The numbers that the device has in the place of a script's.
struct Names {
  /// The key of a region by its name, or the number as written.
  std::function<uint32_t(const Word&)> key_of;
  uint32_t qpn = 0;       ///< of queue pair 0x11
  uint32_t peer_qpn = 0;  ///< of queue pair 0x22
};

/// `length` bytes of a pattern: 0, 1, 2, ... or the bytes written, over and over.
std::vector<uint8_t> pattern(std::string_view text, size_t length);
/// The bytes of a packet that an `<` statement describes, from BTH to ICRC.
std::vector<uint8_t> build_packet(const Statement& statement, const Flow& flow,
                                  const Headers& defaults, const Names& names);
/// Where a packet differs from a `>` statement. Only the fields that it names count.
std::vector<Difference> differences(const Statement& statement, const PacketView& packet,
                                    const Names& names);

}  // namespace urxe::drill
