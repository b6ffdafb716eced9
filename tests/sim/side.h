// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/sim/endpoint.h"
#include "tests/sim/memory.h"
#include "tests/sim/pieces.h"
#include "tests/sim/plan.h"
#include "tests/sim/posting.h"
#include "tests/sim/receive_pool.h"
#include "tests/sim/source.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// A word that several queue pairs add 1 to: every value before must be returned at most once.
struct SharedCounter {
  size_t offset = 0;  ///< in the memory of the host that holds it
  MemoryRegion* region = nullptr;
  uint64_t posted = 0;
  uint64_t completed = 0;
  std::vector<bool> seen;
};

/// What a side offers to its peer: addresses by remote key, and the model's copy of what will be
/// there once everything posted has been executed.
struct RemoteArea {
  struct Slot {
    size_t offset = 0;  ///< in the owner's memory
    uint64_t va = 0;
    uint32_t operations = 0;      ///< posted and not completed
    uint32_t reads = 0;           ///< of those, READs
    uint32_t writes = 0;          ///< of those, WRITEs
    uint64_t last_write = 0;      ///< wr_id
    bool lost = false;            ///< a failed WRITE: its contents are not known
    std::vector<uint8_t> future;  ///< contents once all has been executed
  };
  /// A type 2 window on all of the writable area. The owner's completions say when the peer may use
  /// it; either side takes it back.
  struct Window {
    enum class State : uint8_t { kFree, kBinding, kBound, kInvalidating };
    State state = State::kFree;
    MemoryWindow* window = nullptr;
    RKey key;            ///< of the last bind
    uint64_t base = 0;   ///< what it is ahead of the region's addresses: all, where zero-based
    uint32_t users = 0;  ///< the peer's requests through it, posted and not completed
  };
  MemoryRegion* constant = nullptr;
  size_t constant_offset = 0;
  uint64_t constant_va = 0;
  uint32_t constant_size = 0;
  MemoryRegion* writable = nullptr;
  std::vector<Slot> slots;
  Window window;
  MemoryRegion* atomic = nullptr;
  uint64_t atomic_va = 0;
  size_t atomic_offset = 0;
  std::vector<uint64_t> words;  ///< values once all has been executed
};

/// A queue pair of RC, or the two that XRC has in its place (`qp` sends, `responder` receives, into
/// any of the pools), the traffic it makes and the model of what must come of it: everything, once
/// and in order.
class Side final : public Endpoint {
 public:
  Side(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, QueuePair& responder,
       PdId pd, std::vector<ReceivePool*> pools, Random random);

  void connect_model(Side& peer, SharedCounter* peer_counter);

  [[nodiscard]] bool owns(uint32_t qpn) const override {
    return qp_.qpn.value() == qpn || responder_.qpn.value() == qpn;
  }
  void on_completion(const ibv_wc& wc) override;
  void post_some(Instant now) override;
  void stop() override;
  void on_cut() override;
  void post_last() override {}
  [[nodiscard]] bool idle() const override {
    return sends_.empty() && (failed_ || remaining_ == 0);
  }
  [[nodiscard]] bool failed() const override { return failed_; }
  /// Atomics, undelivered messages, windows.
  void check_end() const override;
  void flush(Instant now) override;
  [[nodiscard]] std::string describe() const override;

  /// A WRITE that `wr_id` or an older one did is visible here. Called by the peer.
  void check_writes_before(uint64_t wr_id);
  [[nodiscard]] const RemoteArea& area() const { return area_; }

 private:
  enum class Kind : uint8_t { kSend, kWrite, kRead, kAtomic, kFlush, kBind, kInvalidate };
  struct Operation {
    uint64_t wr_id = 0;
    ibv_wr_opcode opcode = IBV_WR_SEND;
    Kind kind = Kind::kSend;
    bool signaled = false;
    uint32_t length = 0;
    std::vector<uint8_t> data;  ///< what arrives at the destination
    std::vector<Piece> pieces;  ///< READ, atomic: where it arrives
    int slot = -1;              ///< of the peer's writable area
    uint32_t slot_offset = 0;
    int read_slot = -1;   ///< own local buffer of a READ, or the source of a forward
    bool shared = false;  ///< an atomic on the shared counter
    bool by_window = false;
    uint64_t original = 0;  ///< what an atomic must return
  };
  struct Message {
    uint64_t wr_id = 0;  ///< of the peer's operation
    ibv_wr_opcode opcode = IBV_WR_SEND;
    uint32_t length = 0;
    uint32_t immediate_be = 0;
    std::vector<uint8_t> data;  ///< of a SEND
    RKey invalidate;            ///< of SEND_WITH_INV
    ReceivePool* pool = nullptr;
  };
  struct ReadBuffer {
    size_t offset = 0;
    uint32_t users = 0;
  };

  // Making requests (traffic.cc).
  void create_area(PdId pd);
  void announce(const Operation& op, SendRequest& request);
  [[nodiscard]] bool is_xrc() const { return &qp_ != &responder_; }
  void draw_operation(Operation& op, SendRequest& request);
  void draw_send(Operation& op, SendRequest& request);
  void draw_flush(Operation& op, SendRequest& request);
  bool draw_write(Operation& op, SendRequest& request);
  bool draw_read(Operation& op, SendRequest& request);
  void draw_atomic(Operation& op, SendRequest& request);
  void draw_shared_add(Operation& op, SendRequest& request);
  void draw_source(Operation& op, SendRequest& request);
  bool draw_forward(Operation& op, SendRequest& request);
  int free_read_buffer() const;
  void submit(Operation op, SendRequest request);

  // Windows (windows.cc).
  bool draw_local(Operation& op, SendRequest& request);
  void draw_window(Operation& op, SendRequest& request);
  bool draw_invalidate(SendRequest& request);
  void note_invalidated(const Message& message, const ibv_wc& wc);
  void check_window() const;

  // Judging completions (side.cc).
  void on_send_completion(const ibv_wc& wc);
  void on_receive_completion(const ibv_wc& wc);
  void succeed(const Operation& op);
  void succeed_write(const Operation& op);
  void succeed_atomic(const Operation& op);
  void fail(const Operation& op);
  void release(const Operation& op);
  void leave_pools();
  void migrate_some(Instant now);
  void succeed_read(const Operation& op);
  [[nodiscard]] std::string name(const ibv_wc& wc) const;

  const Plan& plan_;
  Device& device_;
  Memory& memory_;
  QueuePair& qp_;
  QueuePair& responder_;  ///< the same but for XRC
  Random random_;
  Side* peer_ = nullptr;
  SharedCounter* peer_counter_ = nullptr;

  std::vector<ReceivePool*> pools_;
  Source source_;
  MemoryRegion* local_ = nullptr;  ///< where READs and atomics put what they fetch
  std::vector<ReadBuffer> read_buffers_;
  size_t result_offset_ = 0;  ///< results of atomics, 8 bytes each, a ring
  uint32_t result_count_ = 0;
  RemoteArea area_;

  std::deque<Operation> sends_;
  std::deque<Message> incoming_;  ///< posted by the peer, not received
  uint64_t next_wr_id_ = 1;
  uint32_t remaining_ = 0;
  uint32_t results_used_ = 0;
  bool failed_ = false;
  bool stopped_ = false;
  bool flushing_ = false;
  bool may_fail_ = false;  ///< the path was cut before the other one was armed
};

}  // namespace urxe::sim
