// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace urxe {

/// A thread is about to use the memory of a port's connection, until the object ends. One at a time
/// for each port.
class MemoryUse {
 public:
  static constexpr size_t kPorts = 64;  ///< as many as DPDK has, or more

  /// `port`: DPDK's number, less than kPorts.
  explicit MemoryUse(uint16_t port) : in_use_(in_use[port].value) {
    in_use_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // membarrier(2) does the rest
  }
  ~MemoryUse() { in_use_.store(false, std::memory_order_release); }
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;

  /// Whether a thread uses that of the port. To be read after membarrier(2) has ordered what the
  /// other threads have written.
  [[nodiscard]] static bool is_used(size_t port) {
    return in_use[port].value.load(std::memory_order_acquire);
  }

 private:
  struct alignas(64) Flag {  // a cache line for each port: other threads write the others
    std::atomic<bool> value;
  };
  static inline std::array<Flag, kPorts> in_use{};

  std::atomic<bool>& in_use_;
};

}  // namespace urxe
