// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/read_piece.h"

#include <algorithm>

#include "packet/wire/tx_batch.h"
#include "transport/path/congestion.h"

namespace urxe {
namespace {

constexpr uint32_t kSmallPieceBytes = 65536;
/// The limits of a segmented datagram, if the responder uses the engine udp.
constexpr uint32_t kDatagramBytes = TxBatch::Limits{}.message_bytes;
constexpr uint32_t kDatagramPackets = 60;
constexpr uint32_t kHeaderBytes = 16;  // BTH and ICRC

}  // namespace

// The packets of a segmented datagram have one size but for a shorter last one, and the first and
// last response of a request are longer than the others. So the last one shares a datagram with the
// first two of the next request; those between fill two datagrams in a large piece.
uint32_t read_piece_packets(uint32_t window, uint32_t mtu) {
  const uint32_t alike = std::min(kDatagramBytes / (mtu + kHeaderBytes), kDatagramPackets);
  const uint32_t large = 2 * alike + 3;
  if (large * receive_room(mtu, true) <= window / 4) return large;
  return std::clamp(kSmallPieceBytes / mtu, 16U, 64U);
}

}  // namespace urxe
