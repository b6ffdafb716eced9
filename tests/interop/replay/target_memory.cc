// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/target_memory.h"

#include <algorithm>
#include <cstring>

#include "tests/interop/replay/operation.h"
#include "tests/sim/posting.h"

namespace urxe::replay {
namespace {

constexpr int kAllRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint64_t kAtomicBytes = 8;

/// What a request accesses: key, address, length.
struct Access {
  RKey rkey;
  uint64_t va = 0;
  uint64_t length = 0;
};

Access access_of(const Message& message) {
  const Headers& headers = message.headers();
  if (is_atomic(message.operation())) {
    return {headers.atomic.rkey, headers.atomic.va, kAtomicBytes};
  }
  if (is_send(message.operation())) return {};
  return {headers.reth.rkey, headers.reth.va, headers.reth.dma_length};
}

uint64_t result_of(const Message& message, uint64_t original) {
  const AtomicEth& atomic = message.headers().atomic;
  if (message.operation() == Operation::kFetchAdd) return original + atomic.swap_or_add;
  return original == atomic.compare ? atomic.swap_or_add : original;
}

}  // namespace

TargetMemory::TargetMemory(Adapter& adapter, const Story& story, const SidePlan& side)
    : adapter_(adapter), accessed_(story.row().regions), sets_atomics_(story.row().sets_atomics) {
  for (const QueuePairPlan& plan : side.queue_pairs) {
    for (const Talk* talk : plan.receives) learn(*talk);
  }
  for (const RegionRow& row : accessed_) add(row);
}

/// Enlarges what a key stands for by each access that was carried out.
void TargetMemory::learn(const Talk& talk) {
  for (const Message& message : talk.messages) {
    const Access access = access_of(message);
    if (access.length == 0 || message.outcome != Outcome::kDone) continue;
    auto row = std::find_if(accessed_.begin(), accessed_.end(), [&](const RegionRow& other) {
      return other.rkey == access.rkey.value();
    });
    const uint64_t begin = access.va & ~(kAtomicBytes - 1);
    if (row == accessed_.end()) {
      accessed_.push_back({access.rkey.value(), begin, 0, kAllRemote});
      row = std::prev(accessed_.end());
    }
    const uint64_t end = std::max(row->va + row->length, access.va + access.length);
    row->va = std::min(row->va, begin);
    row->length = end - row->va;
  }
}

void TargetMemory::add(const RegionRow& row) {
  Region& region = regions_.emplace_back();
  region.row = row;
  region.actual.resize(row.length);
  region.expected.resize(row.length);
  const int access = row.is_window ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND : row.access;
  region.registered =
      adapter_.device()
          .register_memory(adapter_.pd(), region.actual.data(), row.length, row.va, access)
          .value();
  region.key = region.registered->rkey;
}

void TargetMemory::bind_windows(QueuePair& qp) {
  for (Region& region : regions_) {
    if (!region.row.is_window) continue;
    const MemoryWindow* window =
        adapter_.device().alloc_window(adapter_.pd(), IBV_MW_TYPE_2).value();
    sim::SendRequest request;
    request.opcode = IBV_WR_BIND_MW;
    request.bind = {window->rkey,
                    RKey{window->rkey.value() ^ 1},
                    region.registered->lkey,
                    region.row.va,
                    region.row.length,
                    region.row.access};
    region.key = request.bind.new_key;
    sim::post_send(adapter_.device(), qp, request);
    adapter_.transmit();
  }
}

RKey TargetMemory::key_for(RKey recorded) const {
  const auto region = std::find_if(regions_.begin(), regions_.end(), [&](const Region& other) {
    return other.row.rkey == recorded.value();
  });
  return region != regions_.end() ? region->key : recorded;
}

TargetMemory::Region* TargetMemory::find(RKey rkey, uint64_t va, uint64_t length) {
  const auto region = std::find_if(regions_.begin(), regions_.end(), [&](const Region& other) {
    return other.row.rkey == rkey.value() && va >= other.row.va &&
           va + length <= other.row.va + other.row.length;
  });
  return region != regions_.end() ? &*region : nullptr;
}

/// Both in the memory and in what it must be.
void TargetMemory::store(RKey rkey, uint64_t va, std::span<const uint8_t> bytes) {
  Region* region = find(rkey, va, bytes.size());
  if (region == nullptr) return;
  const auto at = static_cast<ptrdiff_t>(va - region->row.va);
  std::ranges::copy(bytes, region->actual.begin() + at);
  std::ranges::copy(bytes, region->expected.begin() + at);
}

void TargetMemory::prepare(const Talk& talk, const Message& message, const Frame& request) {
  if (message.outcome != Outcome::kDone) return;
  if (message.operation() == Operation::kReadRequest) prepare_read(talk, message, request);
  if (is_atomic(message.operation())) prepare_atomic(talk, message);
}

void TargetMemory::prepare_read(const Talk& talk, const Message& message, const Frame& request) {
  const Access access = access_of(message);
  uint64_t va = access.va;
  for (uint32_t i = 0; i < message.packets; ++i) {
    const auto data = find_read_data(talk.conversation, message.first + i, request.number);
    if (data) store(access.rkey, va, *data);
    va += talk.conversation.mtu;
  }
}

void TargetMemory::prepare_atomic(const Talk& talk, const Message& message) {
  const Access access = access_of(message);
  if (!atomics_.insert(access.va).second && !sets_atomics_) return;
  const auto original = find_original(talk.conversation, message.first);
  if (!original) return;
  uint8_t bytes[kAtomicBytes];
  std::memcpy(bytes, &*original, sizeof bytes);
  store(access.rkey, access.va, bytes);
}

void TargetMemory::expect(const Talk& talk, const Message& message) {
  if (message.outcome != Outcome::kDone) return;
  const Access access = access_of(message);
  Region* region = find(access.rkey, access.va, access.length);
  if (region == nullptr || access.length == 0) return;
  const auto at = region->expected.begin() + static_cast<ptrdiff_t>(access.va - region->row.va);
  if (is_write(message.operation())) std::ranges::copy(message.payload, at);
  const auto original = find_original(talk.conversation, message.first);
  if (!is_atomic(message.operation()) || !original) return;
  const uint64_t result = result_of(message, *original);
  uint8_t bytes[kAtomicBytes];
  std::memcpy(bytes, &result, sizeof bytes);
  std::ranges::copy(bytes, at);
}

std::string TargetMemory::find_damage() const {
  for (const Region& region : regions_) {
    const auto [actual, expected] = std::ranges::mismatch(region.actual, region.expected);
    if (actual == region.actual.end()) continue;
    return "the memory with key " + std::to_string(region.row.rkey) + " is wrong from offset " +
           std::to_string(actual - region.actual.begin());
  }
  return {};
}

}  // namespace urxe::replay
