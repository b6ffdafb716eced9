// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "tools/analyze/datagram.h"

namespace urxe::analyze {

/// The bytes (BTH to ICRC) of each packet but the last, which may be shorter, if `datagram` is
/// several packets in a row: such as a capture shows above a segmentation offload of the sender, or
/// behind a receive offload. Nullopt if it is one packet, or its ICRCs do not tell. Meant for
/// datagrams whose own ICRC is wrong.
std::optional<size_t> find_segment_size(const Datagram& datagram);

/// The packet that begins `at` bytes into `datagram`, which consists of packets of `size` bytes.
/// Its identification is that of the datagram and the number of packets before: offloads count it
/// up.
Datagram segment_at(const Datagram& datagram, size_t size, size_t at);

}  // namespace urxe::analyze
