// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr size_t kIcrcBytes = 4;
constexpr size_t kBthBytes = 12;
constexpr size_t kIpv4Bytes = 20;
constexpr size_t kIpv6Bytes = 40;
constexpr size_t kUdpBytes = 8;
// What of a packet goes through the stack buffer with the pseudo headers: at least the BTH, of
// which a byte is masked; all of a short packet, as a second call of the CRC costs more than the
// copy.
constexpr size_t kCopiedBytes = 64;

// CRC-32 of the eight bytes 0xFF that stand for the local route header (A17.3.3).
constexpr uint32_t kCrcOfDummyLrh = 0x2144df1c;

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return crc32_gzip_refl(crc, data, size);
}

bool is_ipv4(const Flow& flow) {
  return flow.source.is_ipv4() && flow.destination.is_ipv4();
}

// Fields that routers change are ones: TOS, TTL and checksum.
size_t put_ipv4(uint8_t* out, const Flow& flow, uint16_t identification, size_t udp_bytes) {
  constexpr uint8_t kMasked[12] = {0x45, 0xff, 0, 0, 0, 0, 0x40, 0, 0xff, 17, 0xff, 0xff};
  std::memcpy(out, kMasked, sizeof kMasked);
  store_be16(out + 2, static_cast<uint16_t>(kIpv4Bytes + udp_bytes));
  store_be16(out + 4, identification);
  std::memcpy(out + 12, flow.source.ipv4(), 4);
  std::memcpy(out + 16, flow.destination.ipv4(), 4);
  return kIpv4Bytes;
}

// Traffic class, flow label and hop limit are ones.
size_t put_ipv6(uint8_t* out, const Flow& flow, size_t udp_bytes) {
  constexpr uint8_t kMasked[8] = {0x6f, 0xff, 0xff, 0xff, 0, 0, 17, 0xff};
  std::memcpy(out, kMasked, sizeof kMasked);
  store_be16(out + 4, static_cast<uint16_t>(udp_bytes));
  std::memcpy(out + 8, flow.source.bytes.data(), 16);
  std::memcpy(out + 24, flow.destination.bytes.data(), 16);
  return kIpv6Bytes;
}

void put_udp(uint8_t* out, const Flow& flow, size_t udp_bytes) {
  store_be16(out, flow.source_port);
  store_be16(out + 2, kRoceUdpPort);
  store_be16(out + 4, static_cast<uint16_t>(udp_bytes));
  store_be16(out + 6, 0xffff);
}

// The CRC is linear in the data: flipping bits of the identification xors the CRC with those bits'
// polynomial times a power of x, which depends on the bytes that follow only by their number.
// Polynomials modulo P are written as the CRC register is: bit 31 is the coefficient of x^0.
constexpr uint32_t kPolynomial = 0xedb88320;
constexpr uint32_t kOne = 0x80000000;

constexpr uint32_t times_x(uint32_t a) {
  return (a >> 1) ^ (kPolynomial & (0 - (a & 1)));
}

// P has a constant term (bit 31), so a value with bit 31 set came from a reduction.
constexpr uint32_t divided_by_x(uint32_t a) {
  const uint32_t reduced = a >> 31;
  return ((a ^ (kPolynomial & (0 - reduced))) << 1) | reduced;
}

constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= a & (0 - ((b >> bit) & 1));
    a = times_x(a);
  }
  return product;
}

constexpr uint32_t x_to_minus(unsigned bits) {
  uint32_t power = kOne;
  for (unsigned i = 0; i < bits; ++i) power = divided_by_x(power);
  return power;
}

// x^(-8 * 2^k).
constexpr std::array<uint32_t, 17> make_powers() {
  std::array<uint32_t, 17> powers{};
  powers[0] = x_to_minus(8);
  for (size_t k = 1; k < powers.size(); ++k) powers[k] = multiply(powers[k - 1], powers[k - 1]);
  return powers;
}
constexpr std::array<uint32_t, 17> kInversePowers = make_powers();

// From the identification to the end of the covered bytes: 14 bytes of IP header, the UDP header
// and the packet but its ICRC; and the 32 bits by which a CRC shifts its data.
constexpr size_t kBytesAfterIdentification = 14 + kUdpBytes - kIcrcBytes + 4;

// x^(-8 * n), where n is the distance from the identification to the end.
constexpr uint32_t compute_inverse(size_t packet_bytes) {
  size_t n = packet_bytes + kBytesAfterIdentification;
  uint32_t power = kOne;
  for (size_t k = 0; n != 0 && k < kInversePowers.size(); ++k, n >>= 1) {
    if ((n & 1) != 0) power = multiply(power, kInversePowers[k]);
  }
  return power;
}

// For every size that a well-formed packet can have: multiples of four up to the largest.
constexpr size_t kTabulatedBytes = 4096 + 64;
constexpr auto kInverses = [] {
  std::array<uint32_t, kTabulatedBytes / 4 + 1> inverses{};
  uint32_t power = compute_inverse(0);
  const uint32_t step = x_to_minus(32);
  for (uint32_t& inverse : inverses) {
    inverse = power;
    power = multiply(power, step);
  }
  return inverses;
}();

uint32_t inverse_for(size_t packet_bytes) {
  if (packet_bytes % 4 == 0 && packet_bytes <= kTabulatedBytes) return kInverses[packet_bytes / 4];
  return compute_inverse(packet_bytes);
}

uint32_t received_icrc(std::span<const uint8_t> bytes) {
  return load_le32(bytes.data() + bytes.size() - kIcrcBytes);
}

}  // namespace

uint32_t icrc(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes) {
  uint8_t buffer[kIpv6Bytes + kUdpBytes + kCopiedBytes];
  const size_t udp_bytes = kUdpBytes + bytes.size() + kIcrcBytes;
  size_t used = is_ipv4(flow) ? put_ipv4(buffer, flow, ipv4_identification, udp_bytes)
                              : put_ipv6(buffer, flow, udp_bytes);
  put_udp(buffer + used, flow, udp_bytes);
  used += kUdpBytes;
  const size_t copied = bytes.size() <= kCopiedBytes ? bytes.size() : kBthBytes;
  if (copied != 0) std::memcpy(buffer + used, bytes.data(), copied);
  buffer[used + 4] = 0xff;  // FECN, BECN and reserved bits
  const uint32_t crc = crc32(kCrcOfDummyLrh, buffer, used + copied);
  if (copied == bytes.size()) return crc;
  return crc32(crc, bytes.data() + copied, bytes.size() - copied);
}

bool icrc_matches(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes) {
  if (bytes.size() < kIcrcBytes) return false;
  return icrc(flow, ipv4_identification, bytes.first(bytes.size() - kIcrcBytes)) ==
         received_icrc(bytes);
}

std::optional<uint16_t> icrc_recover_identification(const Flow& flow,
                                                    std::span<const uint8_t> bytes) {
  if (bytes.size() < kIcrcBytes || !is_ipv4(flow)) return std::nullopt;
  const uint32_t difference =
      icrc(flow, 0, bytes.first(bytes.size() - kIcrcBytes)) ^ received_icrc(bytes);
  if (difference == 0) return uint16_t{0};
  const uint32_t data = multiply(difference, inverse_for(bytes.size()));
  // A polynomial of degree below 16 is in the upper half; its first byte on the wire is the lower.
  if ((data & 0xffff) != 0) return std::nullopt;
  return static_cast<uint16_t>(((data >> 8) & 0xff00) | (data >> 24));
}

}  // namespace urxe
