// SPDX-License-Identifier: BSD-2-Clause
// urxe_raw_frames DEVICE receive [BUFFER_BYTES] RULE...: makes a queue pair for raw packets with
// flow steering rules, prints "ready", and then one line for each completion: "STATUS CSUM HEX",
// where CSUM is "ok" or "-", until it is killed. A rule is
//   all, multicast, sniffer       of that type
//   any                           NORMAL, without specifications
//   udp:PORT, tcp:PORT            NORMAL, IPv4 and that destination port
//   udp6:PORT                     NORMAL, IPv6 and that destination port
//   vlan:ID                       NORMAL, that VLAN
//   mac:XX:XX:XX:XX:XX:XX         NORMAL, that destination address
// and may begin with "drop@" or "PRIORITY@". Sleeps on completion events ("poll" before the rules:
// polls).
//
// urxe_raw_frames DEVICE send [csum] HEX...: sends each frame and prints the completion's status.
#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr uint8_t kPortNumber = 1;
constexpr int kDepth = 256;

[[noreturn]] void fail(const std::string& what) {
  std::printf("cannot %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void require(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

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

/// A device with one queue pair, ready to send.
struct End {
  explicit End(const char* device) : context(open_named(device)) {
    require(context != nullptr, "open the device");
    pd = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, kDepth, nullptr, channel, 0);
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RAW_PACKET;
    init.send_cq = init.recv_cq = cq;
    init.cap = {16, kDepth, 1, 1, 0};
    qp = ibv_create_qp(pd, &init);
    require(qp != nullptr, "create the queue pair");
    move(IBV_QPS_INIT, IBV_QP_PORT);
    move(IBV_QPS_RTR, 0);
    move(IBV_QPS_RTS, 0);
  }
  void move(ibv_qp_state state, int mask) const {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = kPortNumber;
    require(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE) == 0, "modify the queue pair");
  }

  ibv_context* context;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
};

/// A flow's attributes, and its specifications one behind the other.
class Rule {
 public:
  explicit Rule(std::string text) {
    if (const auto at = text.find('@'); at != std::string::npos) {
      const std::string option = text.substr(0, at);
      text = text.substr(at + 1);
      if (option == "drop") {
        add(spec_of<ibv_flow_spec_action_drop>(IBV_FLOW_SPEC_ACTION_DROP));
      } else {
        attr_.priority = static_cast<uint16_t>(std::stoi(option));
      }
    }
    const auto colon = text.find(':');
    set(text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1));
  }
  ibv_flow* create(ibv_qp* qp) {
    attr_.port = kPortNumber;
    std::vector<uint8_t> bytes(sizeof attr_);
    std::memcpy(bytes.data(), &attr_, sizeof attr_);
    bytes.insert(bytes.end(), specs_.begin(), specs_.end());
    return ibv_create_flow(qp, reinterpret_cast<ibv_flow_attr*>(bytes.data()));
  }

 private:
  template <class Spec>
  static Spec spec_of(ibv_flow_spec_type type) {
    Spec spec{};
    spec.type = type;
    spec.size = sizeof spec;
    return spec;
  }
  template <class Spec>
  void add(const Spec& spec) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&spec);
    specs_.insert(specs_.end(), bytes, bytes + sizeof spec);
    ++attr_.num_of_specs;
  }
  void set(const std::string& kind, const std::string& value) {
    if (kind == "all") {
      attr_.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    } else if (kind == "multicast") {
      attr_.type = IBV_FLOW_ATTR_MC_DEFAULT;
    } else if (kind == "sniffer") {
      attr_.type = IBV_FLOW_ATTR_SNIFFER;
    } else if (kind == "vlan" || kind == "mac") {
      set_ethernet(kind, value);
    } else if (kind != "any") {
      set_port(kind, value);
    }
  }
  void set_ethernet(const std::string& kind, const std::string& value) {
    auto eth = spec_of<ibv_flow_spec_eth>(IBV_FLOW_SPEC_ETH);
    if (kind == "vlan") {
      eth.val.vlan_tag = htons(static_cast<uint16_t>(std::stoi(value)));
      eth.mask.vlan_tag = htons(0xfff);
    } else {
      for (size_t i = 0; i < 6; ++i) {
        eth.val.dst_mac[i] = static_cast<uint8_t>(std::stoi(value.substr(i * 3, 2), nullptr, 16));
        eth.mask.dst_mac[i] = 0xff;
      }
    }
    add(eth);
  }
  void set_port(const std::string& kind, const std::string& value) {
    if (kind == "udp6") {
      add(spec_of<ibv_flow_spec_ipv6>(IBV_FLOW_SPEC_IPV6));
    } else {
      add(spec_of<ibv_flow_spec_ipv4>(IBV_FLOW_SPEC_IPV4));
    }
    auto spec =
        spec_of<ibv_flow_spec_tcp_udp>(kind == "tcp" ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP);
    spec.val.dst_port = htons(static_cast<uint16_t>(std::stoi(value)));
    spec.mask.dst_port = 0xffff;
    add(spec);
  }

  ibv_flow_attr attr_{};
  std::vector<uint8_t> specs_;
};

class Receiver {
 public:
  Receiver(const char* device, size_t buffer_bytes)
      : end_(device), bytes_(buffer_bytes), memory_(buffer_bytes * kDepth) {
    mr_ = ibv_reg_mr(end_.pd, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    require(mr_ != nullptr, "register memory");
    for (uint64_t i = 0; i < kDepth; ++i) post(i);
  }
  void steer(const char* rule) const {
    require(Rule(rule).create(end_.qp) != nullptr, std::string("create the rule ") + rule);
  }
  [[noreturn]] void run(bool polls) {
    require(ibv_req_notify_cq(end_.cq, 0) == 0, "arm the completion queue");
    std::printf("ready\n");
    std::fflush(stdout);
    for (;;) {
      if (!polls) await();
      ibv_wc wc{};
      while (ibv_poll_cq(end_.cq, 1, &wc) > 0) take(wc);
    }
  }

 private:
  void post(uint64_t index) {
    ibv_sge sge{reinterpret_cast<uint64_t>(memory_.data() + index * bytes_),
                static_cast<uint32_t>(bytes_), mr_->lkey};
    ibv_recv_wr wr{};
    wr.wr_id = index;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    require(ibv_post_recv(end_.qp, &wr, &bad) == 0, "post a receive");
  }
  void await() const {
    ibv_cq* cq = nullptr;
    void* ignored = nullptr;
    require(ibv_get_cq_event(end_.channel, &cq, &ignored) == 0, "wait for an event");
    ibv_ack_cq_events(cq, 1);
    require(ibv_req_notify_cq(cq, 0) == 0, "arm the completion queue");
  }
  void take(const ibv_wc& wc) {
    const bool ok = wc.status == IBV_WC_SUCCESS;
    std::printf("%s %s ", ibv_wc_status_str(wc.status),
                ok && (wc.wc_flags & IBV_WC_IP_CSUM_OK) != 0 ? "ok" : "-");
    const uint8_t* const frame = memory_.data() + wc.wr_id * bytes_;
    for (uint32_t i = 0; ok && i < wc.byte_len; ++i) std::printf("%02x", frame[i]);
    std::printf("\n");
    std::fflush(stdout);
    post(wc.wr_id);
  }

  End end_;
  size_t bytes_;
  std::vector<uint8_t> memory_;
  ibv_mr* mr_ = nullptr;
};

void send(const End& end, const std::string& hex, unsigned flags) {
  std::vector<uint8_t> frame;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    frame.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  ibv_mr* mr = ibv_reg_mr(end.pd, frame.data(), frame.size(), IBV_ACCESS_LOCAL_WRITE);
  require(mr != nullptr, "register memory");
  ibv_sge sge{reinterpret_cast<uint64_t>(frame.data()), static_cast<uint32_t>(frame.size()),
              mr->lkey};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED | flags;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(end.qp, &wr, &bad) == 0, "post a send");
  ibv_wc wc{};
  while (ibv_poll_cq(end.cq, 1, &wc) == 0) {
  }
  std::printf("%s\n", ibv_wc_status_str(wc.status));
  ibv_dereg_mr(mr);
}

}  // namespace

int main(int argc, char** argv) {
  require(argc > 3, "run without DEVICE receive|send ARGUMENT...");
  const std::string what = argv[2];
  int next = 3;
  if (what == "receive") {
    size_t bytes = 16384;
    bool polls = false;
    if (std::isdigit(*argv[next]) != 0 && std::strchr(argv[next], '@') == nullptr) {
      bytes = static_cast<size_t>(std::stoul(argv[next++]));
    }
    if (std::strcmp(argv[next], "poll") == 0) polls = ++next != 0;
    Receiver receiver(argv[1], bytes);
    for (; next < argc; ++next) receiver.steer(argv[next]);
    receiver.run(polls);
  }
  const End end(argv[1]);
  unsigned flags = 0;
  if (std::strcmp(argv[next], "csum") == 0) {
    flags = IBV_SEND_IP_CSUM;
    ++next;
  }
  for (; next < argc; ++next) send(end, argv[next], flags);
  return 0;
}
