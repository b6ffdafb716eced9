// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/engine/engine.h"
#include "packet/host/file_descriptor.h"

namespace urxe::test {

/// The PSNs of the packets in a batch.
inline std::vector<uint32_t> psns_of(const TxBatch& batch) {
  std::vector<uint32_t> psns;
  batch.for_each_packet([&](const TxBatch::Message&, size_t, std::span<const uint8_t> packet) {
    psns.push_back(load_be24(packet.data() + 9));
  });
  return psns;
}

/// An engine that takes only as many packets as the test gives it room for. Expects that what it
/// has left in a batch is offered again, as it was, before anything else.
class ScarceEngine final : public OneLaneEngine {
 public:
  explicit ScarceEngine(const TxBatch::Limits& limits = {}, size_t room = 0)
      : room_(room), limits_(limits), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  /// Also makes wait_fd() readable if something waits for room.
  void give_room(size_t packets) {
    room_ += packets;
    if (!left_.empty()) eventfd_write(bell_.get(), 1);
  }

  std::vector<uint32_t> taken;          ///< PSNs
  std::atomic<size_t> taken_so_far{0};  ///< packets; may be read without the device's lock
  uint64_t offers = 0;                  ///< calls of transmit() with packets
  size_t most_offered = 0;              ///< packets in one of them
  uint64_t waits = 0;                   ///< calls of begin_wait()
  bool any_elsewhere = false;           ///< a payload was
  uint16_t released_port = 0;

  [[nodiscard]] EnginePromises promises() const override {
    return {.integrity = !limits_.seals,
            .segments_per_message = limits_.segments_per_message,
            .identification = limits_.identification,
            .elsewhere_from = limits_.elsewhere_from};
  }
  Expected<void, EngineError> open_address(const Gid& /*local*/) override { return {}; }
  void close_address(const Gid& /*local*/) override {}
  Expected<uint16_t, EngineError> claim_source_port(const Gid& /*local*/,
                                                    uint16_t wanted) override {
    return wanted;
  }
  void release_source_port(const Gid& /*local*/, uint16_t port) override { released_port = port; }
  Expected<void, EngineError> join_group(const Gid& /*group*/) override { return {}; }
  void leave_group(const Gid& /*group*/) override {}
  std::span<const RxPacket> receive() override {
    eventfd_t rings = 0;
    eventfd_read(bell_.get(), &rings);
    return {};
  }
  bool begin_wait() override {
    ++waits;
    return false;
  }
  size_t transmit(TxBatch& batch) override {
    const size_t packets = batch.packets();
    if (!left_.empty()) {
      EXPECT_EQ(psns_of(batch), left_) << "not what was left";
      for (const TxBatch::Message& message : batch.messages()) {
        EXPECT_EQ(message.elsewhere, 0U) << "the payload may have gone since";
      }
    }
    if (packets > 0) ++offers;
    for (const TxBatch::Message& message : batch.messages()) {
      any_elsewhere = any_elsewhere || message.elsewhere > 0;
    }
    most_offered = std::max(most_offered, packets);
    const std::vector<uint32_t> offered = psns_of(batch);
    size_t at = 0;
    batch.remove_if([&](const TxBatch::Message& message) {
      if (room_ == 0) return false;
      room_ -= std::min(room_, message.segments);
      for (size_t i = 0; i < message.segments; ++i) taken.push_back(offered[at++]);
      return true;
    });
    taken_so_far.store(taken.size());
    left_ = psns_of(batch);
    return packets - batch.packets();
  }
  [[nodiscard]] LaneLimits limits() const override { return {limits_.bytes, limits_.packets}; }
  [[nodiscard]] bool has_unsent() const override { return !left_.empty(); }
  [[nodiscard]] int wait_fd() const override { return bell_.get(); }

 private:
  size_t room_;
  TxBatch::Limits limits_;
  FileDescriptor bell_;
  std::vector<uint32_t> left_;
};

}  // namespace urxe::test
