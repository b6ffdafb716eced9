// SPDX-License-Identifier: BSD-2-Clause
// RingReader on hostile memory. An input is one byte, the cache line at which reading begins, and
// then the memory of the ring, the rest of which is 0.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "packet/engine/shm/ring.h"

namespace {

constexpr size_t kRingBytes = 4096;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

void check(const urxe::RingReader::Record& record, const uint8_t* memory) {
  const size_t size = record.packets.size();
  require(size > 0 && size <= urxe::kMaxRecordBytes, "a record has a size that is allowed");
  require(record.packets.data() >= memory + urxe::kRecordHeaderBytes, "it begins in the ring");
  require(record.packets.data() + size <= memory + kRingBytes, "it ends in the ring");
  require(record.info.segment_size >= urxe::kMinPacketBytes, "packets have at least their minimum");
  const size_t packets = (size + record.info.segment_size - 1) / record.info.segment_size;
  require(packets <= urxe::kMaxRecordPackets, "a record has a bounded number of packets");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  alignas(urxe::kCacheLine) uint8_t memory[kRingBytes] = {};
  std::copy_n(data + 1, std::min(size - 1, kRingBytes), memory);
  const uint64_t start = data[0] % (kRingBytes / urxe::kCacheLine) * urxe::kCacheLine;
  std::atomic<uint64_t> freed{start};
  urxe::RingReader reader(memory, freed, start);
  // Whatever is there, its sequence numbers last for one round.
  for (size_t records = 0;; ++records) {
    require(records <= kRingBytes / urxe::kCacheLine, "reading ends");
    urxe::RingReader::Record record;
    if (reader.read(record) != urxe::RingReader::Result::kRecord) break;
    check(record, memory);
  }
  reader.free();
  require(freed.load() - start <= 2 * kRingBytes, "no more is freed than there is");
  return 0;
}
