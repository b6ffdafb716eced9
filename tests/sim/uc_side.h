// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/endpoint.h"
#include "tests/sim/memory.h"
#include "tests/sim/pace.h"
#include "tests/sim/plan.h"
#include "tests/sim/posting.h"
#include "tests/sim/receive_pool.h"
#include "tests/sim/source.h"
#include "tests/sim/unacknowledged_sends.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// A UC queue pair and the model of what may come of it. Messages may be lost; one that is received
/// is exactly one that the peer sent, and later in the peer's order than the one before it, as far
/// as the network keeps packets in order and does not make two of one (UC is not asked to notice).
/// WRITEs of lost messages may have been done in part; nothing else may change.
class UcSide final : public Endpoint {
 public:
  UcSide(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, PdId pd,
         ReceivePool& pool, Random random);

  void connect_model(UcSide& peer) { peer_ = &peer; }

  [[nodiscard]] bool owns(uint32_t qpn) const override { return qp_.qpn.value() == qpn; }
  void on_completion(const ibv_wc& wc) override;
  void post_some(Instant now) override;
  void stop() override;
  void post_last() override;
  [[nodiscard]] bool idle() const override {
    return sends_.empty() && remaining_ == 0 && !sends_.in_error();
  }
  [[nodiscard]] bool failed() const override { return false; }
  void check_end() const override;
  void flush(Instant now) override;
  [[nodiscard]] std::string describe() const override;

 private:
  struct Message {
    ibv_wr_opcode opcode = IBV_WR_SEND;
    uint32_t immediate_be = 0;
    std::vector<uint8_t> data;
    bool is_write = false;
    uint32_t at = 0;         ///< WRITE: where in the peer's area
    bool may_arrive = true;  ///< false: its own list, or its remote key, is bad
    bool may_write = false;  ///< WRITE: in part at least
    bool received = false;

    [[nodiscard]] bool takes_receive() const {
      return !is_write || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    }
  };

  void post_one(bool last);
  void draw_send(Message& message, SendRequest& request, bool bad);
  void draw_write(Message& message, SendRequest& request, bool bad);
  void draw_data(Message& message, SendRequest& request, uint32_t most, bool bad);
  void on_receive(const ibv_wc& wc);
  [[nodiscard]] bool matches(const Message& message, const ibv_wc& wc,
                             const std::vector<uint8_t>& contents) const;
  void check_written(size_t index) const;
  void check_area() const;
  void check_last_writes() const;

  const Plan& plan_;
  Device& device_;
  Memory& memory_;
  QueuePair& qp_;
  ReceivePool& pool_;
  Source source_;
  Random random_;
  UcSide* peer_ = nullptr;
  Pace pace_;
  bool stopped_ = false;
  bool flushing_ = false;
  uint32_t remaining_;
  uint64_t next_wr_id_ = 1;

  // What the peer may write to.
  uint32_t area_size_;
  size_t area_offset_;
  uint64_t area_va_;
  MemoryRegion* area_;
  std::vector<uint8_t> area_before_;

  UnacknowledgedSends sends_;
  std::vector<Message> sent_;
  size_t last_from_ = SIZE_MAX;  ///< of `sent_`, what must arrive
  size_t next_received_ = 0;     ///< of the peer's `sent_`, the first that may still come
};

}  // namespace urxe::sim
