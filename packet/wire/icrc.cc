// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

// A packet's first bytes are copied behind the pseudo headers: the BTH, in which a byte is masked,
// and all of a short packet, because a second call of the CRC costs more than the copy.
constexpr size_t kCopiedBytes = 64;

// CRC-32 of the eight bytes 0xFF that stand for the local route header (A17.3.3).
constexpr uint32_t kCrcOfDummyLrh = 0x2144df1c;

#ifdef __x86_64__
__attribute__((target("avx"))) void zero_upper_halves() {
  __builtin_ia32_vzeroupper();
}
#endif

/// libisal's CRC uses the vector registers of AVX-512 and leaves their upper halves in use, by
/// which SSE instructions, such as those at its own beginning, get slow: 200 ns for a packet of 4
/// KiB whose CRC takes 60.
void release_upper_halves() {
#ifdef __x86_64__
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) zero_upper_halves();
#endif
}

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  const uint32_t result = crc32_gzip_refl(crc, data, size);
  release_upper_halves();
  return result;
}

/// The ICRC takes the IPv4 and the UDP checksum as ones, too.
constexpr uint16_t kMaskedChecksum = 0xffff;

/// Writes the pseudo IP and UDP headers. Returns their size.
size_t write_pseudo_headers(uint8_t* out, const Flow& flow, uint16_t identification,
                            size_t udp_bytes) {
  constexpr VariantFields kMasked;
  const size_t ip_bytes = is_ipv4(flow) ? write_ipv4_header(out, flow, kMasked, identification,
                                                            udp_bytes, kMaskedChecksum)
                                        : write_ipv6_header(out, flow, kMasked, udp_bytes);
  return ip_bytes + write_udp_header(out + ip_bytes, flow, udp_bytes, kMaskedChecksum);
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
// and the packet without its ICRC; plus the 32 bits by which a CRC shifts its data.
constexpr size_t kBytesAfterIdentification = 14 + kUdpHeaderBytes - kIcrcBytes + 4;

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

/// Over the pseudo headers and a packet's first bytes, which are at most kCopiedBytes. `covered`:
/// of the packet, all but the ICRC.
uint32_t crc_of_beginning(const Flow& flow, uint16_t identification, std::span<const uint8_t> first,
                          size_t covered) {
  uint8_t buffer[kIpv6HeaderBytes + kUdpHeaderBytes + kCopiedBytes];
  const size_t udp_bytes = kUdpHeaderBytes + covered + kIcrcBytes;
  const size_t used = write_pseudo_headers(buffer, flow, identification, udp_bytes);
  if (!first.empty()) std::memcpy(buffer + used, first.data(), first.size());
  buffer[used + 4] = 0xff;  // FECN, BECN and reserved bits
  return crc32(kCrcOfDummyLrh, buffer, used + first.size());
}

uint32_t received_icrc(std::span<const uint8_t> bytes) {
  return load_le32(bytes.data() + bytes.size() - kIcrcBytes);
}

}  // namespace

uint32_t icrc(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes) {
  const size_t copied = bytes.size() <= kCopiedBytes ? bytes.size() : kBthBytes;
  const uint32_t crc =
      crc_of_beginning(flow, ipv4_identification, bytes.first(copied), bytes.size());
  if (copied == bytes.size()) return crc;
  return crc32(crc, bytes.data() + copied, bytes.size() - copied);
}

void write_icrc(const Flow& flow, uint16_t ipv4_identification, std::span<uint8_t> packet) {
  if (packet.size() < kIcrcBytes) return;
  const auto covered = packet.first(packet.size() - kIcrcBytes);
  store_le32(covered.data() + covered.size(), icrc(flow, ipv4_identification, covered));
}

void write_icrc(const Flow& flow, uint16_t ipv4_identification, std::span<uint8_t> packet,
                size_t header_bytes, std::span<const uint8_t> payload) {
  const auto covered = packet.first(packet.size() - kIcrcBytes);
  const auto pad = covered.subspan(header_bytes + payload.size());
  uint32_t crc =
      crc_of_beginning(flow, ipv4_identification, packet.first(header_bytes), covered.size());
  crc = crc32(crc, payload.data(), payload.size());
  if (!pad.empty()) crc = crc32(crc, pad.data(), pad.size());
  store_le32(covered.data() + covered.size(), crc);
}

bool icrc_matches(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes) {
  if (bytes.size() < kIcrcBytes) return false;
  return icrc(flow, ipv4_identification, bytes.first(bytes.size() - kIcrcBytes)) ==
         received_icrc(bytes);
}

std::optional<uint16_t> icrc_recover_identification(const Flow& flow,
                                                    std::span<const uint8_t> bytes,
                                                    uint16_t likely) {
  if (bytes.size() < kIcrcBytes || !is_ipv4(flow)) return std::nullopt;
  const uint32_t difference =
      icrc(flow, likely, bytes.first(bytes.size() - kIcrcBytes)) ^ received_icrc(bytes);
  if (difference == 0) return likely;
  const uint32_t data = multiply(difference, inverse_for(bytes.size()));
  // A polynomial of degree below 16 is in the upper half; its first byte on the wire is the lower.
  if ((data & 0xffff) != 0) return std::nullopt;
  return static_cast<uint16_t>(likely ^ (((data >> 8) & 0xff00) | (data >> 24)));
}

}  // namespace urxe
