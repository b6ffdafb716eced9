// SPDX-License-Identifier: BSD-2-Clause
// urxe_port_watch DEVICE [receive]: opens the device and prints what happens to its port 1, until
// it is killed: each asynchronous event ("event NAME PORT"), and whenever it is another one than
// before the port as the verbs tell it ("port STATE MTU INDEX=GID ..."). With "receive" a queue
// pair waits for a message, and its completions are told, too ("completion STATUS").
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "tests/apps/verbs_pointers.h"

namespace {

constexpr int kLookEveryMs = 20;
constexpr uint8_t kPort = 1;

ibv_context* open_named(const char* name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (std::strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

std::string to_text(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

/// The GIDs by ibv_query_gid_table(); "?" where ibv_query_gid() says something else of one.
std::string describe_gids(ibv_context* context) {
  std::array<ibv_gid_entry, 256> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  if (count < 0) return " no-table";
  std::string text;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    text += " " + std::to_string(entry.gid_index) + "=" + to_text(entry.gid);
    ibv_gid gid{};
    const int index = static_cast<int>(entry.gid_index);
    if (ibv_query_gid(context, kPort, index, &gid) != 0 ||
        std::memcmp(&gid, &entry.gid, sizeof gid) != 0) {
      text += "?";
    }
  }
  return text;
}

std::string describe_port(ibv_context* context) {
  ibv_port_attr attr{};
  if (ibv_query_port(context, kPort, &attr) != 0) return "no port";
  return std::string(ibv_port_state_str(attr.state)) + " " +
         std::to_string(128 << attr.active_mtu) + describe_gids(context);
}

void print_event(ibv_context* context) {
  ibv_async_event event{};
  if (ibv_get_async_event(context, &event) != 0) return;
  std::printf("event %s %d\n", ibv_event_type_str(event.event_type), event.element.port_num);
  ibv_ack_async_event(&event);
}

/// An RC queue pair in RTR, whose peer is itself, with one receive. It only waits, and hears of its
/// completion by the channel.
class Receiver {
 public:
  explicit Receiver(ibv_context* context)
      : channel_(ibv_create_comp_channel(context)),
        pd_(ibv_alloc_pd(context)),
        cq_(ibv_create_cq(context, 4, nullptr, channel_.get(), 0)),
        mr_(ibv_reg_mr(pd_.get(), buffer_.data(), buffer_.size(), IBV_ACCESS_LOCAL_WRITE)) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 1, 1, 1, 0};
    qp_.reset(ibv_create_qp(pd_.get(), &init));
    ibv_req_notify_cq(cq_.get(), 0);
    if (qp_ != nullptr && is_ready(context)) std::printf("receiving\n");
  }

  [[nodiscard]] int fd() const { return channel_->fd; }
  void print_completions() {
    ibv_cq* cq = nullptr;
    void* user = nullptr;
    if (ibv_get_cq_event(channel_.get(), &cq, &user) != 0) return;
    ibv_ack_cq_events(cq, 1);
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) > 0) {
      std::printf("completion %s\n", ibv_wc_status_str(wc.status));
    }
  }

 private:
  bool is_ready(ibv_context* context) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = kPort;
    const int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (ibv_modify_qp(qp_.get(), &attr, to_init) != 0) return false;
    ibv_sge sge{reinterpret_cast<uint64_t>(buffer_.data()), static_cast<uint32_t>(buffer_.size()),
                mr_->lkey};
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(qp_.get(), &wr, &bad) != 0) return false;
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_256;
    attr.dest_qp_num = qp_->qp_num;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = kPort;
    attr.ah_attr.grh.hop_limit = 64;
    if (ibv_query_gid(context, kPort, 0, &attr.ah_attr.grh.dgid) != 0) return false;
    const int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(qp_.get(), &attr, to_rtr) == 0;
  }

  std::array<uint8_t, 64> buffer_{};
  verbs::ChannelPtr channel_;
  verbs::PdPtr pd_;
  verbs::CqPtr cq_;
  verbs::MrPtr mr_;
  verbs::QpPtr qp_;
};

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool receives = argc == 3 && std::strcmp(argv[2], "receive") == 0;
  ibv_context* context = argc == 2 || receives ? open_named(argv[1]) : nullptr;
  if (context == nullptr) {
    std::fprintf(stderr, "usage: urxe_port_watch DEVICE [receive]\n");
    return 1;
  }
  const auto receiver = receives ? std::make_unique<Receiver>(context) : nullptr;
  std::string shown;
  for (;;) {
    const std::string now = describe_port(context);
    if (now != shown) std::printf("port %s\n", now.c_str());
    shown = now;
    pollfd fds[2] = {{context->async_fd, POLLIN, 0},
                     {receiver != nullptr ? receiver->fd() : -1, POLLIN, 0}};
    if (poll(fds, 2, kLookEveryMs) <= 0) continue;
    if (fds[0].revents != 0) print_event(context);
    if (fds[1].revents != 0) receiver->print_completions();
  }
}
