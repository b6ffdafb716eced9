// SPDX-License-Identifier: BSD-2-Clause
// Requests of the client that the server's device must refuse, each on a queue pair of its own.
// Prints what completions say on either side, for whoever knows what the two devices must say;
// checks that nothing was written and that the request behind the refused one was not carried out.
#include <algorithm>
#include <array>
#include <cstdio>

#include "completions.h"
#include "failure.h"
#include "pattern.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr uint32_t kBytes = 256;   // Of a region.
constexpr uint32_t kReceive = 16;  // Of a receive.
constexpr uint64_t kRegionKey = 0x4ef;
constexpr uint32_t kRefusalsPrepared = 0x4ef1;
constexpr uint32_t kRefusalsDone = 0x4ef2;
constexpr int kRemoteAll =
    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

enum class Fault { kNone, kKey, kEnd };

struct Case {
  const char* name;
  ibv_wr_opcode opcode;
  uint32_t length;
  Fault fault;
  int region_access;  // What the region grants,
  int queue_access;   // and the queue pair.
  bool refused = true;
};

constexpr std::array kCases = {
    Case{"write_unknown_key", IBV_WR_RDMA_WRITE, 64, Fault::kKey, kRemoteAll, kRemoteAll},
    Case{"read_unknown_key", IBV_WR_RDMA_READ, 64, Fault::kKey, kRemoteAll, kRemoteAll},
    Case{"write_beyond_end", IBV_WR_RDMA_WRITE, 64, Fault::kEnd, kRemoteAll, kRemoteAll},
    Case{"read_beyond_end", IBV_WR_RDMA_READ, 64, Fault::kEnd, kRemoteAll, kRemoteAll},
    Case{"write_without_right", IBV_WR_RDMA_WRITE, 64, Fault::kNone,
         kRemoteAll & ~IBV_ACCESS_REMOTE_WRITE, kRemoteAll},
    Case{"read_without_right", IBV_WR_RDMA_READ, 64, Fault::kNone,
         kRemoteAll & ~IBV_ACCESS_REMOTE_READ, kRemoteAll},
    Case{"atomic_without_right", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, Fault::kNone,
         kRemoteAll & ~IBV_ACCESS_REMOTE_ATOMIC, kRemoteAll},
    Case{"write_not_enabled", IBV_WR_RDMA_WRITE, 64, Fault::kNone, kRemoteAll,
         kRemoteAll & ~IBV_ACCESS_REMOTE_WRITE},
    Case{"read_not_enabled", IBV_WR_RDMA_READ, 64, Fault::kNone, kRemoteAll,
         kRemoteAll & ~IBV_ACCESS_REMOTE_READ},
    Case{"atomic_not_enabled", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, Fault::kNone, kRemoteAll,
         kRemoteAll & ~IBV_ACCESS_REMOTE_ATOMIC},
    Case{"send_too_long", IBV_WR_SEND, 64, Fault::kNone, kRemoteAll, kRemoteAll},
    // Without a byte there is nothing to check the key for.
    Case{"empty_write_unknown_key", IBV_WR_RDMA_WRITE, 0, Fault::kKey, kRemoteAll, kRemoteAll,
         /*refused=*/false},
};
static_assert(kCases.size() == kRefusals);

class Refusals {
 public:
  explicit Refusals(Session& session);
  void run();

 private:
  void prepare(uint32_t index);
  void request(uint32_t index);
  void post(uint32_t index, ibv_send_wr& request, uint32_t length);
  void take_requests();
  void take_receives();
  void check_memory() const;
  uint32_t index_of(uint32_t qp_number) const;
  uint8_t* local(uint32_t index) { return &local_[size_t{index} * kBytes]; }
  uint8_t* region(uint32_t index) { return &regions_[size_t{index} * kBytes]; }

  Session& session_;
  Completions completions_;
  alignas(8) std::array<uint8_t, kCases.size() * kBytes> regions_{};
  std::array<uint8_t, kCases.size() * kBytes> local_{};
  std::vector<MrPtr> region_mrs_;
  MrPtr local_mr_;
  std::vector<Region> peers_;
};

Refusals::Refusals(Session& session)
    : session_(session), completions_(session.endpoint, session.control, session.test) {
  local_mr_.reset(
      ibv_reg_mr(session.endpoint.pd(), local_.data(), local_.size(), IBV_ACCESS_LOCAL_WRITE));
  if (!local_mr_) system_failed("ibv_reg_mr");
  fill_pattern({kRegionKey}, 0, regions_);
  for (uint32_t i = 0; i < kCases.size(); ++i) prepare(i);
}

void Refusals::prepare(uint32_t index) {
  const Case& test = kCases[index];
  MrPtr mr(ibv_reg_mr(session_.endpoint.pd(), region(index), kBytes,
                      IBV_ACCESS_LOCAL_WRITE | test.region_access));
  if (!mr) system_failed("ibv_reg_mr");
  region_mrs_.push_back(std::move(mr));
  ibv_qp* qp = session_.endpoint.queue_pair(index).qp.get();
  ibv_qp_attr attr{};
  attr.qp_access_flags = static_cast<unsigned>(test.queue_access);
  if (ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS) != 0) setup_failed("cannot change the rights");
  ibv_sge place{reinterpret_cast<uint64_t>(local(index)), kReceive, local_mr_->lkey};
  ibv_recv_wr receive{index, nullptr, &place, 1};
  ibv_recv_wr* bad = nullptr;
  if (session_.is_server && ibv_post_recv(qp, &receive, &bad) != 0)
    mismatch("ibv_post_recv failed");
}

void Refusals::run() {
  std::vector<Region> ours;
  for (uint32_t i = 0; i < kCases.size(); ++i)
    ours.push_back({reinterpret_cast<uint64_t>(region(i)), region_mrs_[i]->rkey});
  peers_ = session_.control.exchange(ours);
  session_.control.barrier(kRefusalsPrepared);
  if (session_.is_server) {
    take_receives();
  } else {
    for (uint32_t i = 0; i < kCases.size(); ++i) request(i);
    take_requests();
  }
  session_.control.barrier(kRefusalsDone);
  check_memory();
}

// The request of the case, and a SEND behind it.
void Refusals::request(uint32_t index) {
  const Case& test = kCases[index];
  // Another region's key, changed: none of the peer's.
  const uint32_t rkey = peers_[index].rkey ^ (test.fault == Fault::kKey ? 0x5a5a5a00U : 0U);
  const uint64_t address =
      peers_[index].address + (test.fault == Fault::kEnd ? kBytes - test.length + 1 : 0);
  ibv_send_wr first{};
  first.wr_id = uint64_t{index} * 2;
  first.opcode = test.opcode;
  if (test.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    first.wr.atomic = {address, 1, 0, rkey};
  } else if (test.opcode != IBV_WR_SEND) {
    first.wr.rdma = {address, rkey};
  }
  post(index, first, test.length);
  ibv_send_wr second{};
  second.wr_id = uint64_t{index} * 2 + 1;
  second.opcode = IBV_WR_SEND;
  post(index, second, kReceive);
}

void Refusals::post(uint32_t index, ibv_send_wr& request, uint32_t length) {
  ibv_sge place{reinterpret_cast<uint64_t>(local(index)), length, local_mr_->lkey};
  request.sg_list = &place;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(session_.endpoint.queue_pair(index).qp.get(), &request, &bad);
  // The refusal of the first may be here already.
  if (error != 0) mismatch(format("%s: ibv_post_send: error %d", kCases[index].name, error));
}

uint32_t Refusals::index_of(uint32_t qp_number) const {
  for (uint32_t i = 0; i < kCases.size(); ++i)
    if (session_.endpoint.queue_pair(i).qp->qp_num == qp_number) return i;
  mismatch(format("refusals: completion of an unknown QP number 0x%x", qp_number));
}

void Refusals::take_requests() {
  std::array<std::vector<ibv_wc_status>, kCases.size()> found;
  uint32_t missing = 2 * static_cast<uint32_t>(kCases.size());
  while (missing > 0)
    completions_.wait(
        [&](const ibv_wc& completion, bool receive) {
          auto& list = found[index_of(completion.qp_num)];
          if (receive || completion.wr_id % 2 != list.size())
            mismatch("refusals: a completion that is not due");
          list.push_back(completion.status);
          --missing;
        },
        [] { return std::string("refusals: completions of requests"); });
  for (uint32_t i = 0; i < kCases.size(); ++i) {
    const ibv_wc_status behind = kCases[i].refused ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
    if (found[i][1] != behind)
      mismatch(
          format("%s: the request behind it: %s", kCases[i].name, ibv_wc_status_str(found[i][1])));
    std::printf("%s: requester: %s\n", kCases[i].name, ibv_wc_status_str(found[i][0]));
  }
}

void Refusals::take_receives() {
  std::array<ibv_wc_status, kCases.size()> found{};
  uint32_t missing = static_cast<uint32_t>(kCases.size());
  while (missing > 0)
    completions_.wait(
        [&](const ibv_wc& completion, bool receive) {
          const uint32_t index = index_of(completion.qp_num);
          if (!receive || completion.wr_id != index) mismatch("refusals: a wrong completion");
          found[index] = completion.status;
          --missing;
        },
        [] { return std::string("refusals: completions of receives"); });
  for (uint32_t i = 0; i < kCases.size(); ++i)
    std::printf("%s: responder: %s\n", kCases[i].name, ibv_wc_status_str(found[i]));
}

void Refusals::check_memory() const {
  if (const auto at = first_difference({kRegionKey}, 0, regions_))
    mismatch(format("refusals: byte %zu of the region of %s was written", *at % kBytes,
                    kCases[*at / kBytes].name));
}

}  // namespace

void run_refusals(Session& session) {
  Refusals(session).run();
}

}  // namespace rc_verify
