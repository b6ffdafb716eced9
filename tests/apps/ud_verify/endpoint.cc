// SPDX-License-Identifier: BSD-2-Clause
#include "endpoint.h"

#include <arpa/inet.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/apps/rc_verify/failure.h"

namespace ud_verify {
namespace {

using rc_verify::format;
using rc_verify::mismatch;
using rc_verify::setup_failed;
using rc_verify::system_failed;
using Clock = std::chrono::steady_clock;

constexpr int kPollsBeforeLook = 2000;

void check_modify(int error, const char* state) {
  if (error != 0) setup_failed(format("ibv_modify_qp to %s: error %d", state, error));
}

}  // namespace

Endpoint::Endpoint(const Options& options, rc_verify::Control& control, uint32_t qkey)
    : options_(options),
      control_(control),
      receive_memory_(size_t{kReceives} * kSlot),
      send_memory_(size_t{kReceives} * kSlot) {
  open(options.device);
  pd_.reset(ibv_alloc_pd(context_.get()));
  if (!pd_) system_failed("ibv_alloc_pd");
  receive_mr_.reset(ibv_reg_mr(pd_.get(), receive_memory_.data(), receive_memory_.size(),
                               IBV_ACCESS_LOCAL_WRITE));
  send_mr_.reset(ibv_reg_mr(pd_.get(), send_memory_.data(), send_memory_.size(), 0));
  if (!receive_mr_ || !send_mr_) system_failed("ibv_reg_mr");
  create_queue_pair();
  bring_up(qkey);
  for (uint64_t slot = 0; slot < kReceives; ++slot) post_receive(slot);
}

void Endpoint::open(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) system_failed("ibv_get_device_list");
  for (int i = 0; i < count && !context_; ++i) {
    if (name.empty() || name == ibv_get_device_name(devices[i]))
      context_.reset(ibv_open_device(devices[i]));
  }
  ibv_free_device_list(devices);
  if (!context_) setup_failed("cannot open RDMA device " + name);
}

void Endpoint::create_queue_pair() {
  ibv_device_attr attributes{};
  if (ibv_query_device(context_.get(), &attributes) != 0) system_failed("ibv_query_device");
  const int entries = static_cast<int>(kReceives);
  send_cq_.reset(ibv_create_cq(context_.get(), entries, nullptr, nullptr, 0));
  receive_cq_.reset(ibv_create_cq(context_.get(), entries, nullptr, nullptr, 0));
  if (!send_cq_ || !receive_cq_) system_failed("ibv_create_cq");
  address_.pieces = std::min(static_cast<uint32_t>(attributes.max_sge), kMostPieces);
  ibv_qp_init_attr init{};
  init.send_cq = send_cq_.get();
  init.recv_cq = receive_cq_.get();
  init.qp_type = IBV_QPT_UD;
  init.cap = {kReceives, kReceives, address_.pieces, 1, options_.in_line};
  qp_.reset(ibv_create_qp(pd_.get(), &init));
  if (!qp_) system_failed("ibv_create_qp");
  address_.in_line = init.cap.max_inline_data;
}

void Endpoint::bring_up(uint32_t qkey) {
  if (ibv_query_gid(context_.get(), kPort, static_cast<int>(options_.gid_index), &address_.gid) !=
      0)
    setup_failed(format("there is no GID %u", options_.gid_index));
  address_.qp_number = qp_->qp_num;
  address_.qkey = qkey;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qkey = qkey;
  const int init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
  check_modify(ibv_modify_qp(qp_.get(), &attr, init), "INIT");
  attr.qp_state = IBV_QPS_RTR;
  check_modify(ibv_modify_qp(qp_.get(), &attr, IBV_QP_STATE), "RTR");
  attr.qp_state = IBV_QPS_RTS;
  check_modify(ibv_modify_qp(qp_.get(), &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

verbs::AhPtr Endpoint::handle_for(const ibv_gid& gid) const {
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = kPort;
  attr.grh.dgid = gid;
  attr.grh.sgid_index = static_cast<uint8_t>(options_.gid_index);
  attr.grh.hop_limit = kHopLimit;
  attr.grh.traffic_class = kTrafficClass;
  verbs::AhPtr handle(ibv_create_ah(pd_.get(), &attr));
  if (!handle) system_failed("ibv_create_ah");
  return handle;
}

void Endpoint::post_receive(uint64_t slot) {
  std::memset(receive_buffer(slot), kUntouched, kSlot);
  ibv_sge place{reinterpret_cast<uintptr_t>(receive_buffer(slot)), kSlot, receive_mr_->lkey};
  ibv_recv_wr request{slot, nullptr, &place, 1};
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(qp_.get(), &request, &bad);
  if (error != 0) mismatch(format("ibv_post_recv: error %d", error));
}

void Endpoint::send(ibv_ah* handle, uint32_t qp_number, uint32_t qkey, const Datagram& datagram) {
  uint8_t* bytes = send_memory_.data() + size_t{send_slot_++ % kReceives} * kSlot;
  std::copy(datagram.bytes.begin(), datagram.bytes.end(), bytes);
  std::vector<ibv_sge> list;
  const auto length = static_cast<uint32_t>(datagram.bytes.size());
  const uint32_t pieces = std::clamp(length, 1U, datagram.pieces);
  for (uint32_t i = 0; i < pieces; ++i) {
    const uint32_t from = length * i / pieces;
    list.push_back({reinterpret_cast<uintptr_t>(bytes + from), length * (i + 1) / pieces - from,
                    datagram.in_line ? ~0U : send_mr_->lkey});
  }
  ibv_send_wr request{};
  request.sg_list = list.data();
  request.num_sge = static_cast<int>(list.size());
  request.opcode = datagram.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  if (datagram.in_line) request.send_flags |= IBV_SEND_INLINE;
  request.imm_data = htonl(datagram.immediate.value_or(0));
  request.wr.ud = {handle, qp_number, qkey};
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp_.get(), &request, &bad);
  if (error != 0) mismatch(format("ibv_post_send: error %d", error));
}

ibv_wc Endpoint::wait(ibv_cq* queue, const char* what) {
  const auto start = Clock::now();
  ibv_wc completion{};
  for (int polls = 1; ibv_poll_cq(queue, 1, &completion) == 0; ++polls) {
    if (polls % kPollsBeforeLook != 0) continue;
    if (control_.peer_gone(0)) rc_verify::peer_lost(format("the peer ended; waited for %s", what));
    if (Clock::now() - start > std::chrono::seconds(options_.stall_seconds))
      mismatch(format("%s did not come in %u s", what, options_.stall_seconds));
    ::sched_yield();
  }
  if (completion.status != IBV_WC_SUCCESS)
    mismatch(format("%s: %s", what, ibv_wc_status_str(completion.status)));
  return completion;
}

void Endpoint::wait_sent() {
  const ibv_wc completion = wait(send_cq_.get(), "a send completion");
  if (completion.opcode != IBV_WC_SEND)
    mismatch(format("a send completion has opcode %d", completion.opcode));
}

ibv_wc Endpoint::wait_received() {
  return wait(receive_cq_.get(), "a datagram");
}

bool Endpoint::received_more() {
  ibv_wc completion{};
  return ibv_poll_cq(receive_cq_.get(), 1, &completion) != 0;
}

}  // namespace ud_verify
