// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/atomic_execution.h"

#include <cstring>

#include "transport/memory/host_memory.h"
#include "transport/responder/responder_resources.h"

namespace urxe {
namespace {

URXE_NO_SANITIZE_THREAD
uint64_t fetch_add(uint8_t* host, uint64_t addend) {
  return __atomic_fetch_add(reinterpret_cast<uint64_t*>(host), addend, __ATOMIC_SEQ_CST);
}

URXE_NO_SANITIZE_THREAD
uint64_t compare_swap(uint8_t* host, uint64_t compare, uint64_t swap) {
  uint64_t original = compare;
  __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(host), &original, swap, false,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return original;
}

URXE_NO_SANITIZE_THREAD
void store(uint8_t* host, uint64_t value) {
  __atomic_store_n(reinterpret_cast<uint64_t*>(host), value, __ATOMIC_SEQ_CST);
}

uint64_t apply_atomic(uint8_t* host, const Headers& headers) {
  const AtomicEth& atomic = headers.atomic;
  if (headers.bth.opcode.operation() == Operation::kFetchAdd) {
    return fetch_add(host, atomic.swap_or_add);
  }
  return compare_swap(host, atomic.compare, atomic.swap_or_add);
}

/// The 8 bytes that the request names. Both addresses must be aligned, and the right granted.
Expected<HostMemory, NakCode> atomic_target(ChannelAdapter& ca, QueuePair& qp, RKey rkey,
                                            uint64_t va, int access) {
  const Unexpected<NakCode> unaligned(NakCode::kInvalidRequest);
  if (va % sizeof(uint64_t) != 0) return unaligned;
  const HostMemory host =
      ca.memory.remote(qp.responder.pd, qp.qpn, rkey, va, sizeof(uint64_t), access);
  if (!host) return Unexpected<NakCode>(NakCode::kRemoteAccessError);
  if (reinterpret_cast<uintptr_t>(host.at) % sizeof(uint64_t) != 0) return unaligned;
  if (!has_room_for_resource(qp.responder)) return unaligned;
  return host;
}

}  // namespace

Expected<uint64_t, NakCode> modify_atomically(ChannelAdapter& ca, QueuePair& qp,
                                              const Headers& headers) {
  const auto host =
      atomic_target(ca, qp, headers.atomic.rkey, headers.atomic.va, IBV_ACCESS_REMOTE_ATOMIC);
  if (!host) return Unexpected<NakCode>(host.error());
  uint64_t original = 0;
  const auto apply = [&](uint8_t* word) { original = apply_atomic(word, headers); };
  if (!modify_memory(ca.memory.guarded(), *host, sizeof(uint64_t), apply)) {
    return Unexpected<NakCode>(NakCode::kRemoteAccessError);
  }
  return original;
}

Expected<void, NakCode> write_atomically(ChannelAdapter& ca, QueuePair& qp,
                                         const PacketView& packet) {
  const Reth& reth = packet.headers.reth;
  uint64_t value = 0;
  if (reth.dma_length != sizeof value || packet.payload.size() != sizeof value) {
    return Unexpected<NakCode>(NakCode::kInvalidRequest);
  }
  const auto host = atomic_target(ca, qp, reth.rkey, reth.va, IBV_ACCESS_REMOTE_WRITE);
  if (!host) return Unexpected<NakCode>(host.error());
  std::memcpy(&value, packet.payload.data(), sizeof value);
  const auto apply = [value](uint8_t* word) { store(word, value); };
  if (!modify_memory(ca.memory.guarded(), *host, sizeof value, apply)) {
    return Unexpected<NakCode>(NakCode::kRemoteAccessError);
  }
  return {};
}

}  // namespace urxe
