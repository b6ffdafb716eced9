// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace urxe {

/// What a completion counter counts (ibv_comp_cntr of rdma-core 65): completions that succeeded, as
/// requests or as their bytes, and those that failed. Any thread may read or change it.
class CompletionCounter {
 public:
  enum class Type : uint8_t { kRequests, kBytes };

  explicit CompletionCounter(Type type) : type_(type) {}

  /// A thread that reads the new value sees what the completed request has written.
  void note(bool succeeded, uint64_t bytes) {
    if (!succeeded) {
      failed.fetch_add(1, std::memory_order_release);
    } else {
      completed.fetch_add(type_ == Type::kBytes ? bytes : 1, std::memory_order_release);
    }
  }

  std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> failed{0};

 private:
  const Type type_;
};

/// Completions that are counted apart: the bits of ibv_qp_attach_comp_cntr_op, by their numbers.
enum class Counted : uint8_t { kSend, kRecv, kRead, kRemoteRead, kWrite, kRemoteWrite, kKinds };

/// The counters of a queue pair: at most one for each kind. With the device's lock held.
class CompletionCounters {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(Counted::kKinds);

  void note(Counted kind, bool succeeded, uint64_t bytes) const {
    CompletionCounter* const counter = of[static_cast<size_t>(kind)];
    if (counter != nullptr) [[unlikely]]
      counter->note(succeeded, bytes);
  }

  std::array<CompletionCounter*, kKinds> of{};
};

}  // namespace urxe
