// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/host_memory.h"

#include "packet/base/fence.h"

namespace urxe {
namespace {

/// The bytes of the largest aligned word that ends at `end` and is no longer than `bytes`, which is
/// not 0.
size_t last_word_bytes(uintptr_t end, size_t bytes) {
  size_t word = sizeof(uint64_t);
  while (word > bytes || end % word != 0) word /= 2;
  return word;
}

template <class Word>
URXE_NO_SANITIZE_THREAD void store_as(uint8_t* at, const uint8_t* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<Word*>(at), word, __ATOMIC_RELEASE);
}

/// Stores a word in one step, after all stores before it.
void store_last(uint8_t* at, std::span<const uint8_t> word) {
  switch (word.size()) {
    case sizeof(uint64_t):
      return store_as<uint64_t>(at, word.data());
    case sizeof(uint32_t):
      return store_as<uint32_t>(at, word.data());
    case sizeof(uint16_t):
      return store_as<uint16_t>(at, word.data());
    default:
      return store_as<uint8_t>(at, word.data());
  }
}

}  // namespace

bool read_guarded(const GuardedAccess& access, const HostMemory& memory, std::span<uint8_t> out) {
  if (memory.kind == HostMemory::Kind::kNull) {
    std::memset(out.data(), 0, out.size());
    return true;
  }
  return memory.kind == HostMemory::Kind::kGuarded && access.read != nullptr &&
         access.read(out.data(), memory.at, out.size());
}

bool write_guarded(const GuardedAccess& access, const HostMemory& memory,
                   std::span<const uint8_t> data) {
  if (memory.kind == HostMemory::Kind::kNull) return true;
  return memory.kind == HostMemory::Kind::kGuarded && access.write != nullptr &&
         access.write(memory.at, data.data(), data.size());
}

URXE_NO_SANITIZE_THREAD
bool write_in_order(const GuardedAccess& access, const HostMemory& memory,
                    std::span<const uint8_t> data) {
  const auto end = reinterpret_cast<uintptr_t>(memory.at) + data.size();
  const size_t word = last_word_bytes(end, data.size());
  const size_t before_last = data.size() - word;
  if (memory.kind != HostMemory::Kind::kPlain) {
    const HostMemory last{memory.at + before_last, memory.kind};
    return (before_last == 0 || write_guarded(access, memory, data.first(before_last))) &&
           write_guarded(access, last, data.last(word));
  }
  release_fence();  // after what earlier requests have written
  std::memcpy(memory.at, data.data(), before_last);
  store_last(memory.at + before_last, data.last(word));
  return true;
}

}  // namespace urxe
