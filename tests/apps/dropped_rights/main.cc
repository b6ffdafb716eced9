// SPDX-License-Identifier: BSD-2-Clause
// urxe_dropped_rights DEVICE server|client PORT after-open|after-create|never USER
//
// Becomes USER (a number) at that moment, for good, then exchanges messages with the other program
// over an RC queue pair. What can be asked of the device before can be asked afterwards, too.
#include <grp.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/apps/rc_verify/control.h"
#include "tests/apps/rc_verify/failure.h"
#include "tests/apps/verbs_pointers.h"

namespace {

using rc_verify::Control;
using rc_verify::format;
using rc_verify::mismatch;
using rc_verify::setup_failed;
using rc_verify::system_failed;

constexpr int kMessages = 20000;
constexpr uint8_t kPort = 1;
constexpr uint32_t kPsn = 0xfffff0;

struct Address {
  ibv_gid gid;
  uint32_t qp_number;
};

verbs::ContextPtr open_device(const std::string& name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  verbs::ContextPtr context;
  for (int i = 0; i < count; ++i) {
    if (name == ibv_get_device_name(list[i])) context.reset(ibv_open_device(list[i]));
  }
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

void become(uid_t user) {
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0) {
    system_failed("cannot become another user");
  }
}

/// What the device says of itself; the same whoever asks.
std::string describe(ibv_context* context) {
  ibv_port_attr port{};
  ibv_device_attr device{};
  ibv_gid gid{};
  std::array<ibv_gid_entry, 64> table{};
  if (ibv_query_port(context, kPort, &port) != 0) system_failed("ibv_query_port");
  if (ibv_query_device(context, &device) != 0) system_failed("ibv_query_device");
  if (ibv_query_gid(context, kPort, 0, &gid) != 0) system_failed("ibv_query_gid");
  const ssize_t entries = ibv_query_gid_table(context, table.data(), table.size(), 0);
  if (entries <= 0) system_failed("ibv_query_gid_table");
  int devices = 0;
  ibv_device** list = ibv_get_device_list(&devices);
  if (list != nullptr) ibv_free_device_list(list);
  std::string text =
      format("port state %d MTU %d, %zd GIDs, %d devices, GID 0", static_cast<int>(port.state),
             static_cast<int>(port.active_mtu), entries, devices);
  for (const uint8_t byte : gid.raw) text += format(" %02x", byte);
  return text;
}

class Endpoint {
 public:
  explicit Endpoint(ibv_context* context)
      : pd_(ibv_alloc_pd(context)), cq_(ibv_create_cq(context, 64, nullptr, nullptr, 0)) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {16, 16, 1, 1, 0};
    qp_.reset(ibv_create_qp(pd_.get(), &init));
    if (!qp_) system_failed("ibv_create_qp");
    mr_.reset(ibv_reg_mr(pd_.get(), buffer_.data(), buffer_.size(), IBV_ACCESS_LOCAL_WRITE));
    if (!mr_) system_failed("ibv_reg_mr");
    if (ibv_query_gid(context, kPort, 0, &own_.gid) != 0) system_failed("ibv_query_gid");
    own_.qp_number = qp_->qp_num;
  }

  void connect(Control& control) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = kPort;
    modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    post_receive();
    const Address peer = control.exchange(std::vector{own_})[0];
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer.qp_number;
    attr.rq_psn = kPsn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = kPort;
    attr.ah_attr.grh.dgid = peer.gid;
    attr.ah_attr.grh.hop_limit = 64;
    modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = kPsn;
    attr.timeout = 18;  // an end may be without a processor for seconds
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    control.barrier(1);
  }

  /// Each side sends when it has received; `begins` sends first.
  void exchange(bool begins) {
    if (begins) post_send(0);
    for (int i = 0; i < kMessages; ++i) {
      wait_for_message(i);
      post_receive();
      if (!begins || i + 1 < kMessages) post_send(begins ? i + 1 : i);
    }
  }

 private:
  void modify(ibv_qp_attr attr, int mask) {
    const int failed = ibv_modify_qp(qp_.get(), &attr, mask);
    if (failed != 0) setup_failed(format("ibv_modify_qp: %s", std::strerror(failed)));
  }

  void post_receive() {
    ibv_sge sge{reinterpret_cast<uint64_t>(buffer_.data()), sizeof(int), mr_->lkey};
    ibv_recv_wr wr{};
    wr.wr_id = 1;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(qp_.get(), &wr, &bad) != 0) setup_failed("ibv_post_recv");
  }

  void post_send(int number) {
    std::memcpy(buffer_.data() + sizeof number, &number, sizeof number);
    ibv_sge sge{reinterpret_cast<uint64_t>(buffer_.data() + sizeof number), sizeof number,
                mr_->lkey};
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp_.get(), &wr, &bad) != 0) setup_failed("ibv_post_send");
  }

  void wait_for_message(int number) {
    for (;;) {
      ibv_wc wc{};
      const int count = ibv_poll_cq(cq_.get(), 1, &wc);
      if (count < 0) system_failed("ibv_poll_cq");
      if (count == 0) continue;
      if (wc.status != IBV_WC_SUCCESS) mismatch(ibv_wc_status_str(wc.status));
      if (wc.wr_id == 1) break;
    }
    int received = 0;
    std::memcpy(&received, buffer_.data(), sizeof received);
    if (received != number) mismatch(format("message %d came as number %d", received, number));
  }

  std::array<uint8_t, 64> buffer_{};
  verbs::PdPtr pd_;
  verbs::CqPtr cq_;
  verbs::QpPtr qp_;
  verbs::MrPtr mr_;
  Address own_{};
};

void run(char** argv) {
  const bool is_server = std::string(argv[2]) == "server";
  const auto port = static_cast<uint16_t>(std::atoi(argv[3]));
  const std::string when = argv[4];
  const auto user = static_cast<uid_t>(std::atoi(argv[5]));
  const verbs::ContextPtr context = open_device(argv[1]);
  if (!context) system_failed("cannot open the device");
  const std::string before = describe(context.get());
  if (when == "after-open") become(user);
  Endpoint endpoint(context.get());
  if (when == "after-create") become(user);
  const std::string after = describe(context.get());
  if (before != after) mismatch("before: " + before + "; after: " + after);
  Control control = is_server ? Control::accept_one(port) : Control::connect_to("127.0.0.1", port);
  endpoint.connect(control);
  endpoint.exchange(!is_server);
  control.barrier(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: urxe_dropped_rights DEVICE server|client PORT WHEN USER\n");
    return 2;
  }
  try {
    run(argv);
    return 0;
  } catch (const rc_verify::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return static_cast<int>(failure.outcome());
  }
}
