// SPDX-License-Identifier: BSD-2-Clause
// Threads of one process that share a context, with queue pairs, completion queues and more of
// their own.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>

#include "tests/apps/rc_errors/pair.h"

namespace lanes {

using rc_errors::expect_completion;
using rc_errors::kAllAccess;
using rc_errors::next_completion;
using rc_errors::post_receive;
using rc_errors::post_send;
using verbs::ChannelPtr;
using verbs::ContextPtr;
using verbs::CqPtr;
using verbs::MrPtr;
using verbs::PdPtr;
using verbs::QpPtr;
using verbs::SrqPtr;

inline constexpr uint32_t kThreads = 4;
// Of the threads; enough for them to meet in every way.
inline constexpr uint32_t kRounds = 2000;
inline constexpr uint32_t kSize = 64;

// The upper bits of a queue pair number, which say whose it is.
inline uint32_t owner_of(const ibv_qp& qp) {
  return qp.qp_num >> 15;
}

// Whether each set of queues gets the next lane (URXE_LANES is a number). Otherwise how many lanes
// there are depends on the machine.
bool in_turn();

// Queues of one thread, and queue pairs that use them.
struct Queues {
  CqPtr cq;
  QpPtr left;
  QpPtr right;
};

class LanesTest : public ::testing::Test {
 protected:
  void SetUp() override;

  QpPtr make_qp(ibv_cq* send_cq, ibv_cq* recv_cq, ibv_qp_type type = IBV_QPT_RC,
                ibv_srq* srq = nullptr) const;
  CqPtr make_cq(ibv_comp_channel* channel = nullptr) const;
  // A completion queue and two queue pairs, not connected.
  Queues make_queues() const;
  // Faces two queue pairs.
  void connect(ibv_qp* a, ibv_qp* b) const;
  // The thread's part of the registered memory, kSize bytes twice.
  uint64_t address(uint32_t thread, uint32_t half = 0) const;
  uint8_t* bytes(uint32_t thread, uint32_t half = 0) const;
  ibv_sge sge(uint32_t thread, uint32_t half = 0) const;

  ContextPtr context_;
  PdPtr pd_;
  ibv_gid gid_{};
  std::unique_ptr<rc_errors::Memory> memory_;
};

// Calls part(thread, barrier) in kThreads threads at once.
void in_threads(const std::function<void(uint32_t, std::barrier<>&)>& part);

// Fills the bytes with what only this round of this thread has, or checks it.
void fill(uint8_t* bytes, uint32_t thread, uint32_t round);
bool is_filled(const uint8_t* bytes, uint32_t thread, uint32_t round);

// The next completion must have succeeded. False: the test has failed.
bool expect_success(ibv_cq* cq);

}  // namespace lanes
