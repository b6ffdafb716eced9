// SPDX-License-Identifier: BSD-2-Clause
// urxe_multicast DEVICE GID-INDEX GROUP receive QUEUE-PAIRS DATAGRAMS [INTERFACE]
// urxe_multicast DEVICE GID-INDEX GROUP send DATAGRAMS
//
// The receiver attaches its queue pairs to the group, says "ready", and ends when each of them has
// received all datagrams, once and whole. With INTERFACE the host joins the group on it: verbs
// leave that to whoever attaches, and most devices do not see to it themselves. Datagrams are
// numbered and their bytes follow from the number. Tells what went wrong, and ends with 1.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kQKey = 0x1234567;
constexpr uint32_t kMulticastQpn = 0xffffff;
constexpr uint32_t kPayload = 700;
constexpr uint32_t kGrh = 40;
constexpr uint32_t kSlot = 1024;
constexpr int kDepth = 512;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "urxe_multicast: %s\n", what.c_str());
  std::exit(1);
}

template <class T>
T* need(T* object, const char* what) {
  if (object == nullptr) fail(std::string(what) + ": " + std::strerror(errno));
  return object;
}

void need_zero(int result, const char* what) {
  if (result != 0) fail(std::string(what) + ": " + std::strerror(result));
}

uint8_t byte_of(uint32_t number, uint32_t i) {
  return static_cast<uint8_t>(number * 31 + i * 7);
}

/// ::ffff:a.b.c.d for an IPv4 group.
ibv_gid parse_group(const char* text) {
  ibv_gid gid{};
  if (inet_pton(AF_INET, text, &gid.raw[12]) == 1) {
    gid.raw[10] = gid.raw[11] = 0xff;
  } else if (inet_pton(AF_INET6, text, gid.raw) != 1) {
    fail(std::string("not a group: ") + text);
  }
  return gid;
}

class Endpoint {
 public:
  Endpoint(ibv_context* context, ibv_pd* pd) : pd_(pd), memory_(size_t{kSlot} * kDepth) {
    cq = need(ibv_create_cq(context, 2 * kDepth, nullptr, nullptr, 0), "ibv_create_cq");
    mr_ = need(ibv_reg_mr(pd, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE), "reg_mr");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_UD;
    init.cap = {kDepth, kDepth, 1, 1, 0};
    qp = need(ibv_create_qp(pd, &init), "ibv_create_qp");
    bring_up();
  }

  void post_receive(uint64_t slot) {
    ibv_sge sge = sge_at(slot, kSlot);
    ibv_recv_wr wr{slot, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    need_zero(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
  }

  void send(ibv_ah* group, uint32_t number) {
    const uint64_t slot = number % kDepth;
    uint8_t* bytes = at(slot);
    std::memcpy(bytes, &number, sizeof number);
    for (uint32_t i = sizeof number; i < kPayload; ++i) bytes[i] = byte_of(number, i);
    ibv_sge sge = sge_at(slot, kPayload);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {group, kMulticastQpn, kQKey};
    ibv_send_wr* bad = nullptr;
    need_zero(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
  }

  ibv_wc wait() const {
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
    }
    if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
    return wc;
  }

  uint8_t* at(uint64_t slot) { return memory_.data() + slot * kSlot; }

  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;

 private:
  void bring_up() const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = kQKey;
    const int init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
    need_zero(ibv_modify_qp(qp, &attr, init), "INIT");
    attr.qp_state = IBV_QPS_RTR;
    need_zero(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
    attr.qp_state = IBV_QPS_RTS;
    need_zero(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
  }
  [[nodiscard]] ibv_sge sge_at(uint64_t slot, uint32_t length) {
    return {reinterpret_cast<uintptr_t>(at(slot)), length, mr_->lkey};
  }

  ibv_pd* pd_;
  std::vector<uint8_t> memory_;
  ibv_mr* mr_ = nullptr;
};

/// The datagram's number.
uint32_t check(const uint8_t* bytes, const ibv_wc& wc, const ibv_gid& group) {
  if (wc.byte_len != kGrh + kPayload) fail("a datagram of another length");
  const bool ipv4 = group.raw[0] != 0xff;
  const size_t width = ipv4 ? 4 : 16;
  if (std::memcmp(bytes + kGrh - width, &group.raw[16 - width], width) != 0) {
    fail("the GRH names another group");
  }
  uint32_t number = 0;
  std::memcpy(&number, bytes + kGrh, sizeof number);
  for (uint32_t i = sizeof number; i < kPayload; ++i) {
    if (bytes[kGrh + i] != byte_of(number, i)) fail("wrong bytes");
  }
  return number;
}

void receive_all(Endpoint& endpoint, const ibv_gid& group, uint32_t datagrams) {
  std::set<uint32_t> numbers;
  while (numbers.size() < datagrams) {
    const ibv_wc wc = endpoint.wait();
    const uint32_t number = check(endpoint.at(wc.wr_id), wc, group);
    if (!numbers.insert(number).second) fail("a datagram came twice");
    endpoint.post_receive(wc.wr_id);
  }
  ibv_wc extra{};
  if (ibv_poll_cq(endpoint.cq, 1, &extra) != 0) fail("more datagrams than were sent");
}

ibv_context* open_named(const char* name) {
  ibv_device** list = need(ibv_get_device_list(nullptr), "ibv_get_device_list");
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::strcmp(ibv_get_device_name(*at), name) == 0) {
      return need(ibv_open_device(*at), "ibv_open_device");
    }
  }
  fail(std::string("no device ") + name);
}

/// Until the process ends.
void join_on(const char* interface, const ibv_gid& group) {
  const auto index = static_cast<int>(if_nametoindex(interface));
  if (index == 0) fail(std::string("no interface ") + interface);
  const bool ipv4 = group.raw[0] != 0xff;
  const int fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
  int result = 0;
  if (ipv4) {
    ip_mreqn membership{};
    std::memcpy(&membership.imr_multiaddr, &group.raw[12], 4);
    membership.imr_ifindex = index;
    result = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership);
  } else {
    ipv6_mreq membership{};
    std::memcpy(&membership.ipv6mr_multiaddr, group.raw, 16);
    membership.ipv6mr_interface = static_cast<unsigned>(index);
    result = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &membership, sizeof membership);
  }
  if (result != 0) fail(std::string("cannot join on ") + interface + ": " + std::strerror(errno));
}

void receive(ibv_context* context, ibv_pd* pd, const ibv_gid& group, int qps, uint32_t datagrams) {
  std::vector<Endpoint> endpoints;
  endpoints.reserve(static_cast<size_t>(qps));
  for (int i = 0; i < qps; ++i) {
    Endpoint& endpoint = endpoints.emplace_back(context, pd);
    for (int slot = 0; slot < kDepth; ++slot) endpoint.post_receive(static_cast<uint64_t>(slot));
    need_zero(ibv_attach_mcast(endpoint.qp, &group, 0), "ibv_attach_mcast");
  }
  std::printf("ready\n");
  std::fflush(stdout);
  for (Endpoint& endpoint : endpoints) receive_all(endpoint, group, datagrams);
  for (Endpoint& endpoint : endpoints) {
    need_zero(ibv_detach_mcast(endpoint.qp, &group, 0), "ibv_detach_mcast");
  }
}

void send(ibv_context* context, ibv_pd* pd, const ibv_gid& group, uint8_t gid_index,
          uint32_t datagrams) {
  Endpoint endpoint(context, pd);
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.sgid_index = gid_index;
  attr.grh.dgid = group;
  attr.grh.hop_limit = 1;
  ibv_ah* handle = need(ibv_create_ah(pd, &attr), "ibv_create_ah");
  for (uint32_t number = 0; number < datagrams; ++number) {
    endpoint.send(handle, number);
    endpoint.wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool receives = (argc == 7 || argc == 8) && std::string(argv[4]) == "receive";
  const bool sends = argc == 6 && std::string(argv[4]) == "send";
  if (!receives && !sends) fail("wrong arguments");
  ibv_context* context = open_named(argv[1]);
  ibv_pd* pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
  const ibv_gid group = parse_group(argv[3]);
  const auto datagrams = static_cast<uint32_t>(std::atoi(argv[receives ? 6 : 5]));
  if (receives) {
    if (argc == 8) join_on(argv[7], group);
    receive(context, pd, group, std::atoi(argv[5]), datagrams);
  } else {
    send(context, pd, group, static_cast<uint8_t>(std::atoi(argv[2])), datagrams);
  }
}
