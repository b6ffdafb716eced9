// SPDX-License-Identifier: BSD-2-Clause
// What the harness does to its device as an application would.
#include <algorithm>

#include "tests/fuzz/device_harness.h"
#include "tests/sim/connect.h"
#include "tests/sim/posting.h"

namespace urxe::fuzz {

void DeviceHarness::command(Input& input) {
  const uint8_t what = input.byte();
  if (what % 16 == 9 && what >= 0x80) return mad(input);
  switch (what % 16) {
    case 0:
      return post_send(input);
    case 1:
      return post_receive(input);
    case 2:
      now_ = now_ + nanoseconds(int64_t{1000} << (input.byte() % 24));
      return device_.advance(now_);
    case 3:
      return transmit();
    case 4:
      return modify(input);
    case 5:
      return raw(input);
    case 6:
      return change_memory(input);
    case 10:
      return post_shared_receive(input);
    case 11:
      return modify_anything(input);
    case 12:
      return change_shared_queue(input);
    case 13:
      return any_packet(input);
    case 14:
      return change_group(input);
    case 15:
      return limit_rate(input);
    default:
      return packet(input);
  }
}

void DeviceHarness::post_send(Input& input) {
  constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND,
                                        IBV_WR_SEND_WITH_IMM,
                                        IBV_WR_RDMA_WRITE,
                                        IBV_WR_RDMA_WRITE_WITH_IMM,
                                        IBV_WR_RDMA_READ,
                                        IBV_WR_ATOMIC_CMP_AND_SWP,
                                        IBV_WR_ATOMIC_FETCH_AND_ADD,
                                        IBV_WR_SEND_WITH_INV,
                                        IBV_WR_BIND_MW,
                                        IBV_WR_LOCAL_INV};
  Connection& connection = pick(input);
  QueuePair& qp = *connection.qp;
  sim::SendRequest request;
  const uint8_t choice = input.byte();
  request.opcode = choice < 0xf0 ? kOpcodes[choice % std::size(kOpcodes)] : kWrFlush;
  request.wr_id = next_wr_id_++;
  request.flags = input.byte() & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
  uint32_t length = input.word() % (kBytes + 8);
  const bool atomic =
      request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool has_list = request.opcode != IBV_WR_BIND_MW && request.opcode != IBV_WR_LOCAL_INV &&
                        request.opcode != kWrFlush;
  if (atomic) length = 8;
  request.flush = {static_cast<uint8_t>(length & 0xf), static_cast<uint8_t>(length >> 4 & 3)};
  request.flush_length = length;
  if (has_list) {
    request.sges = {{reinterpret_cast<uint64_t>(local_.data()), length, local_region_->lkey}};
  }
  request.remote_addr = kTargetVa;
  request.invalidate = window_->rkey;
  request.bind = {window_->rkey,
                  RKey(ibv_inc_rkey(window_->rkey.value())),
                  target_region_->lkey,
                  kTargetVa,
                  length,
                  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
  const Gid to = harness_gid(static_cast<uint8_t>(1 + length % 2));
  request.datagram = {{harness_gid(1), to}, Qpn{0x210}, QKey{length << 20}};
  request.remote_srqn = Srqn{length};
  const ibv_qp_state state = qp.state();
  if (!takes_opcode(qp.type, request.opcode) || state == IBV_QPS_RESET || state == IBV_QPS_INIT ||
      state == IBV_QPS_RTR) {
    return;
  }
  if (sim::post_send(device_, qp, request)) connection.sends.push_back(request.wr_id);
}

void DeviceHarness::post_receive(Input& input) {
  Connection& connection = pick(input);
  const Sge sge{reinterpret_cast<uint64_t>(local_.data()), input.word() % (kBytes + 8),
                local_region_->lkey};
  QueuePair& qp = *connection.qp;
  if (qp.state() == IBV_QPS_RESET || qp.rq.capacity() == 0) return;
  if (sim::post_receive(device_, qp, next_wr_id_, {&sge, 1})) {
    connection.receives.push_back(next_wr_id_++);
  }
}

void DeviceHarness::post_shared_receive(Input& input) {
  Shared& shared = shared_[input.byte() % kSrqs];
  const Sge sge{reinterpret_cast<uint64_t>(local_.data()), input.word() % (kBytes + 8),
                local_region_->lkey};
  if (sim::post_receive(*shared.srq, next_wr_id_, {&sge, 1})) {
    shared.receives.insert(next_wr_id_++);
  }
}

void DeviceHarness::modify(Input& input) {
  const size_t index = input.byte() % kQps;
  Connection& connection = connections_[index];
  constexpr ibv_qp_state kStates[] = {IBV_QPS_ERR, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPS_RESET};
  const uint8_t what = input.byte();
  const ibv_qp_state state = kStates[what % 4];
  if (state != IBV_QPS_RESET) {
    sim::change_state(device_, *connection.qp, state, now_);
    return;
  }
  poll();  // nothing of before may come after
  forget(connection);
  if ((what & 0x80) != 0) {
    device_.destroy_qp(connection.qp);
    return create_qp(index);
  }
  sim::change_state(device_, *connection.qp, IBV_QPS_RESET, now_);
  connect(connection);
}

/// Any attributes to any state: most are refused, and then nothing may have changed.
void DeviceHarness::modify_anything(Input& input) {
  Connection& connection = pick(input);
  QueuePair& qp = *connection.qp;
  sim::ConnectOptions options;
  options.destination = harness_gid(static_cast<uint8_t>(2 + input.byte() % 2));
  options.dest_qpn = Qpn{qp.qpn.value() + 0x100};
  ibv_qp_attr attr = sim::rtr_attributes(options);
  attr.path_mtu = mtu_;
  attr.qp_state = static_cast<ibv_qp_state>(input.byte() % 8);
  attr.cur_qp_state = qp.state();
  attr.port_num = attr.alt_port_num = 1;
  attr.alt_ah_attr = attr.ah_attr;
  attr.alt_ah_attr.grh.dgid.raw[15] ^= 1;
  attr.path_mig_state = static_cast<ibv_mig_state>(input.byte() % 4);
  attr.qp_access_flags = input.byte();
  attr.timeout = attr.alt_timeout = attr.min_rnr_timer = input.byte();
  attr.retry_cnt = attr.rnr_retry = attr.max_rd_atomic = attr.max_dest_rd_atomic = input.byte();
  attr.sq_psn = attr.rq_psn = input.word();
  attr.qkey = input.word();
  attr.en_sqd_async_notify = 1;
  const int mask = input.word() << 8 | input.byte();
  const ibv_qp_state before = qp.state();
  poll();
  const bool changed = device_.modify_qp(qp, attr, mask, now_).has_value();
  require(changed || qp.state() == before, "a refused change changes no state");
  if (changed && qp.state() == IBV_QPS_RESET) forget(connection);
}

void DeviceHarness::change_shared_queue(Input& input) {
  const size_t index = input.byte() % kSrqs;
  Shared& shared = shared_[index];
  const uint8_t what = input.byte();
  if (what % 4 == 3) {
    poll();  // what it held goes with it
    if (!device_.destroy_srq(shared.srq)) {
      return require(index == 0, "an XRC queue is nobody's");
    }
    shared.receives.clear();
    return create_srq(index);
  }
  ibv_srq_attr attr{};
  attr.max_wr = input.byte();
  attr.srq_limit = input.byte();
  (void)device_.modify_srq(*shared.srq, attr, what % 4);
}

void DeviceHarness::change_group(Input& input) {
  QueuePair& qp = *pick(input).qp;
  const uint8_t what = input.byte();
  const Gid group = harness_group(what & 1);
  const auto changed =
      (what & 2) != 0 ? device_.detach_multicast(qp, group) : device_.attach_multicast(qp, group);
  require(!changed || qp.type == IBV_QPT_UD, "only datagrams go to groups");
}

void DeviceHarness::limit_rate(Input& input) {
  const Connection& connection = pick(input);
  const uint32_t rate_kbps = input.word() * uint32_t{input.byte()};
  (void)device_.set_rate_limit(*connection.qp, {rate_kbps, input.word(), input.byte()}, now_);
}

void DeviceHarness::change_memory(Input& input) {
  // Keys that packets on their way hold become stale. Refused while the window is bound to it.
  const int access = (input.byte() & 1) != 0 ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                                             : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                                   IBV_ACCESS_REMOTE_WRITE |
                                                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
  const bool bound = window_->region != nullptr;
  require(device_.reregister_memory(*target_region_, pd_, target_.data(), kBytes, kTargetVa, access)
                  .has_value() != bound,
          "a good reregistration succeeds");
}

}  // namespace urxe::fuzz
