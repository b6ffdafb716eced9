// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/port_probe.h"

#include "packet/base/bytes.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {
namespace {

// Offsets of the fields; opcode and index lie where a BTH has opcode and destination QP.
constexpr size_t kIndexAt = 5;
constexpr size_t kMagicAt = 8;
constexpr size_t kTokenAt = 16;
constexpr size_t kProberAt = 24;
constexpr uint64_t kProbeMagic = 0x7572786570726f62;  // "urxeprob"

}  // namespace

std::array<uint8_t, kProbeBytes> encode_probe(const Probe& probe) {
  std::array<uint8_t, kProbeBytes> bytes{};
  bytes[0] = kProbeOpcode;
  store_be24(bytes.data() + kIndexAt, probe.index);
  store_be64(bytes.data() + kMagicAt, kProbeMagic);
  store_be64(bytes.data() + kTokenAt, probe.token);
  store_be32(bytes.data() + kProberAt, probe.prober);
  return bytes;
}

bool decode_probe(std::span<const uint8_t> bytes, Probe& probe) {
  if (bytes.size() != kProbeBytes || bytes[0] != kProbeOpcode) return false;
  if (load_be64(bytes.data() + kMagicAt) != kProbeMagic) return false;
  probe.index = load_be24(bytes.data() + kIndexAt);
  probe.token = load_be64(bytes.data() + kTokenAt);
  probe.prober = load_be32(bytes.data() + kProberAt);
  return probe.prober < kSlots;
}

}  // namespace urxe
