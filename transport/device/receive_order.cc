// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/receive_order.h"

#include <cstring>

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/icrc.h"
#include "packet/wire/opcode.h"

namespace urxe {
namespace {

constexpr size_t kAethBytes = 4;
constexpr size_t kMostAckBytes = kBthBytes + kAethBytes + kIcrcBytes;
constexpr size_t kMigReqAt = 1;
constexpr uint8_t kMigReq = 0x40;
constexpr size_t kDestQpAt = 5;
constexpr size_t kDestQpBytes = 3;

Operation operation_of(const RxPacket& packet) {
  return Opcode(packet.bytes[0]).operation();
}

bool completes_receive(Operation operation) {
  switch (operation) {
    case Operation::kSendLast:
    case Operation::kSendLastImm:
    case Operation::kSendLastInvalidate:
    case Operation::kSendOnly:
    case Operation::kSendOnlyImm:
    case Operation::kSendOnlyInvalidate:
    case Operation::kWriteLastImm:
    case Operation::kWriteOnlyImm:
      return true;
    default:
      return false;
  }
}

/// A NAK may end the queue pair, and flush the receive that the packet before it completes.
bool is_ack(const RxPacket& packet) {
  return operation_of(packet) == Operation::kAcknowledge &&
         ack_kind(packet.bytes[kBthBytes]) == AckKind::kAck;
}

/// The first packet with a new bit rearms path migration, or migrates (IBTA vol. 1, 17.2.8).
bool have_one_path_state(const RxPacket& a, const RxPacket& b) {
  return ((a.bytes[kMigReqAt] ^ b.bytes[kMigReqAt]) & kMigReq) == 0;
}

bool are_of_one_connection(const RxPacket& a, const RxPacket& b) {
  return a.flow.source == b.flow.source && a.flow.source_port == b.flow.source_port &&
         std::memcmp(a.bytes.data() + kDestQpAt, b.bytes.data() + kDestQpAt, kDestQpBytes) == 0;
}

}  // namespace

bool ack_goes_first(std::span<const RxPacket> packets, size_t i) {
  if (i + 1 >= packets.size()) return false;
  const RxPacket& first = packets[i];
  const RxPacket& next = packets[i + 1];
  if (first.bytes.size() < kBthBytes || next.bytes.size() < kBthBytes + kAethBytes) return false;
  // The bytes of the next packet are looked at last: they may still be on their way to the cache.
  return next.bytes.size() <= kMostAckBytes && completes_receive(operation_of(first)) &&
         is_ack(next) && have_one_path_state(first, next) && are_of_one_connection(first, next);
}

}  // namespace urxe
