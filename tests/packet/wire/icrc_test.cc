// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/icrc.h"

#include <gtest/gtest.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/packet/wire/sample_packets.h"

namespace urxe {
namespace {

using test::flow_v4;
using test::flow_v6;

std::vector<uint8_t> from_hex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

struct Vector {
  uint8_t source[4];
  uint8_t destination[4];
  uint16_t source_port;
  uint16_t identification;
  std::string_view bytes;

  [[nodiscard]] Flow flow() const {
    return {Gid::from_ipv4(source), Gid::from_ipv4(destination), source_port, 0, 64};
  }
};

// A CNP sent by a ConnectX-4 Lx, and a UC SEND Only: the published vectors known to be right.
constexpr Vector kVectors[] = {
    {{10, 0, 17, 1},
     {10, 0, 18, 1},
     0,
     0x718c,
     "8100ffff40000118000000000000000000000000000000000000000082fd002a"},
    {{192, 168, 0, 7},
     {192, 168, 0, 7},
     0xc000,
     0x0478,
     "2460ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3"},
};

TEST(Icrc, PublishedVectors) {
  for (const Vector& vector : kVectors) {
    const auto bytes = from_hex(vector.bytes);
    EXPECT_TRUE(icrc_matches(vector.flow(), vector.identification, bytes));
    EXPECT_FALSE(icrc_matches(vector.flow(), 0, bytes)) << "the identification is covered";
    EXPECT_EQ(icrc_recover_identification(vector.flow(), bytes), vector.identification);
  }
}

TEST(Icrc, WhatRoutersChangeIsNotCovered) {
  auto bytes = from_hex(kVectors[0].bytes);
  Flow flow = kVectors[0].flow();
  flow.traffic_class = 0xc2;
  flow.hop_limit = 3;
  bytes[4] ^= 0xff;  // FECN, BECN, reserved
  EXPECT_TRUE(icrc_matches(flow, kVectors[0].identification, bytes));
}

TEST(Icrc, AddressesAndPortAreCovered) {
  for (const Flow& flow : {flow_v4(), flow_v6()}) {
    const auto bytes = test::make_packet(flow, test::full_headers(Opcode(0x04)), 9);
    EXPECT_TRUE(icrc_matches(flow, 0, bytes));
    Flow other = flow;
    other.source.bytes[15] ^= 1;
    EXPECT_FALSE(icrc_matches(other, 0, bytes));
    other = flow;
    other.destination.bytes[12] ^= 0x80;
    EXPECT_FALSE(icrc_matches(other, 0, bytes));
    other = flow;
    other.source_port ^= 1;
    EXPECT_FALSE(icrc_matches(other, 0, bytes));
  }
}

TEST(Icrc, Ipv6HasNoIdentification) {
  const auto bytes = test::make_packet(flow_v6(), test::full_headers(Opcode(0x04)), 9);
  EXPECT_TRUE(icrc_matches(flow_v6(), 0x1234, bytes));
  EXPECT_EQ(icrc_recover_identification(flow_v6(), bytes), std::nullopt);
}

TEST(Icrc, AnyLengthIsTaken) {
  std::vector<uint8_t> bytes(65535);
  for (size_t size : {size_t{0}, size_t{1}, size_t{3}}) {
    EXPECT_FALSE(icrc_matches(flow_v4(), 0, {bytes.data(), size}));
    EXPECT_EQ(icrc_recover_identification(flow_v4(), {bytes.data(), size}), std::nullopt);
  }
  for (size_t size :
       {size_t{4}, size_t{5}, size_t{67}, size_t{68}, size_t{69}, size_t{4161}, size_t{65535}}) {
    std::vector<uint8_t> packet(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    test::reseal(packet, flow_v4(), 0x8001);
    EXPECT_TRUE(icrc_matches(flow_v4(), 0x8001, packet)) << size;
    EXPECT_EQ(icrc_recover_identification(flow_v4(), packet), 0x8001) << size;
  }
}

/// The straightforward way: try every identification.
std::optional<uint16_t> search_identification(const Flow& flow, const std::vector<uint8_t>& bytes) {
  for (unsigned id = 0; id < 65536; ++id) {
    if (icrc_matches(flow, static_cast<uint16_t>(id), bytes)) return static_cast<uint16_t>(id);
  }
  return std::nullopt;
}

TEST(Icrc, RecoveryAgreesWithSearch) {
  uint64_t random = 1;
  const auto next = [&] {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return random >> 33;
  };
  for (const size_t payload : {0U, 1U, 7U, 36U, 40U, 255U, 1024U}) {
    const auto id = static_cast<uint16_t>(next());
    auto bytes = test::make_packet(flow_v4(), test::full_headers(Opcode(0x04)), payload, id);
    EXPECT_EQ(icrc_recover_identification(flow_v4(), bytes), id);
    EXPECT_EQ(search_identification(flow_v4(), bytes), id);
    bytes[next() % bytes.size()] ^= 0x10;
    EXPECT_EQ(icrc_recover_identification(flow_v4(), bytes),
              search_identification(flow_v4(), bytes));
  }
}

TEST(Icrc, EveryIdentificationIsRecovered) {
  auto bytes = test::make_packet(flow_v4(), test::full_headers(Opcode(0x11)), 0);
  for (unsigned id = 0; id < 65536; ++id) {
    test::reseal(bytes, flow_v4(), static_cast<uint16_t>(id));
    ASSERT_EQ(icrc_recover_identification(flow_v4(), bytes), id);
  }
}

TEST(Icrc, RecoveryFindsTheSameByAnyGuess) {
  auto bytes = test::make_packet(flow_v4(), test::full_headers(Opcode(0x04)), 9, 0x4711);
  for (unsigned likely = 0; likely < 65536; ++likely) {
    const auto guess = static_cast<uint16_t>(likely);
    ASSERT_EQ(icrc_recover_identification(flow_v4(), bytes, guess), 0x4711) << likely;
  }
  bytes.back() ^= 1;
  EXPECT_EQ(icrc_recover_identification(flow_v4(), bytes, 0x4711), std::nullopt);
}

// Of 2^32 values of the ICRC, 2^16 are right for some identification: an error slips through with
// probability 2^-16. 200000 random ones let about 3 pass; 30 would mean that the check is weaker.
TEST(Icrc, RecoveryStillRejectsAllButOneIn65536) {
  auto bytes = test::make_packet(flow_v4(), test::full_headers(Opcode(0x04)), 64);
  uint64_t random = 7;
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    store_le32(bytes.data() + bytes.size() - 4, static_cast<uint32_t>(random >> 32));
    if (icrc_recover_identification(flow_v4(), bytes)) ++accepted;
  }
  EXPECT_LT(accepted, 30);
}

// Which single bits could hide behind another identification depends on their distance from it
// only; for no distance within the largest packet do they.
TEST(Icrc, NoSingleWrongBitPassesRecovery) {
  const auto sent = test::make_packet(flow_v4(), test::full_headers(Opcode(0x04)), 4096, 0x4711);
  ASSERT_TRUE(icrc_recover_identification(flow_v4(), sent));
  auto bytes = sent;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const size_t at = bit / 8;
    if (at == 4) continue;  // FECN, BECN and reserved bits are not covered
    bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1U << (bit % 8)));
    EXPECT_EQ(icrc_recover_identification(flow_v4(), bytes), std::nullopt) << "bit " << bit;
    bytes[at] = sent[at];
  }
}

#ifdef __x86_64__
constexpr uint32_t kUpperHalves = 1 << 2 | 1 << 6;  ///< of the registers YMM, and of ZMM

/// The parts of the processor's state that are in use, a bit each (XINUSE).
uint32_t state_in_use() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low;
}

__attribute__((target("avx"))) void zero_upper_halves() {
  __builtin_ia32_vzeroupper();
}

/// Whether state_in_use() can be asked, and knows when upper halves are zero.
bool upper_halves_are_watched() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__builtin_cpu_supports("avx") == 0) return false;
  if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a & 4U) == 0) return false;
  zero_upper_halves();
  return (state_in_use() & kUpperHalves) == 0;
}

// Upper halves of vector registers that stay in use make SSE instructions slow.
TEST(Icrc, LeavesNoUpperHalvesOfVectorRegistersInUse) {
  if (!upper_halves_are_watched()) GTEST_SKIP() << "the processor does not tell what is in use";
  const std::vector<uint8_t> bytes(4096);
  const uint32_t crc = icrc(flow_v4(), 0, bytes);
  const uint32_t in_use = state_in_use();
  EXPECT_EQ(in_use & kUpperHalves, 0U) << crc;
}
#endif

}  // namespace
}  // namespace urxe
