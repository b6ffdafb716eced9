// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tests/transport/bench.h"

namespace urxe::test {

/// A Bench with a region that allows windows (kRegionVa, 4096 bytes, no remote rights of its own)
/// and a window of type 2 that is not bound yet.
class WindowBench : public Bench {
 public:
  explicit WindowBench(const BenchOptions& options = {});

  /// Asks to bind `window` to kWindowBytes from kOffset with all remote rights.
  [[nodiscard]] BindRequest whole() const { return ask(*window); }
  [[nodiscard]] BindRequest ask(const MemoryWindow& which) const;
  void post_bind(const BindRequest& request, unsigned flags = 0);
  void post_invalidate(RKey rkey, unsigned flags = 0);
  /// Posts, drives and expects success: nothing sent, one completion.
  void bind(const BindRequest& request);
  /// A second queue pair of the same domain.
  QueuePair& other_qp();

  /// One request packet of the peer at the next PSN.
  /// True: it was carried out; false: NAK remote access error and the queue pair is in ERR.
  bool write(RKey rkey, uint64_t va, uint32_t length = 8);
  bool read(RKey rkey, uint64_t va, uint32_t length = 8);
  bool add(RKey rkey, uint64_t va);
  /// SEND with invalidate of 4 bytes; receives must have been posted.
  bool send_invalidate(RKey rkey);

  static constexpr uint64_t kRegionVa = 0x200000;
  static constexpr uint64_t kOffset = 1024;  ///< of whole() in the region
  static constexpr uint64_t kWindowVa = kRegionVa + kOffset;
  static constexpr uint64_t kWindowBytes = 1024;
  static constexpr int kAllRemote =
      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

  alignas(8) uint8_t backing[4096]{};
  MemoryRegion* region = nullptr;
  MemoryWindow* window = nullptr;

 private:
  bool answered();

  uint32_t next_psn_ = kRqPsn;
};

/// The same index, another variant.
RKey next_key(RKey key);

}  // namespace urxe::test
