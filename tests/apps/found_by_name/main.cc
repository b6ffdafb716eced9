// SPDX-License-Identifier: BSD-2-Clause
// urxe_found_by_name [DEVICE]
//
// Uses verbs as collective communication libraries do: it is not linked with libibverbs, but loads
// it when it runs and looks each function up by name and version. Writes with an immediate between
// two queue pairs of the device, and checks the data. Reads what such libraries read in sysfs.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kBytes = 1 << 20;
constexpr uint32_t kImmediate = 0x12345678;

[[noreturn]] void fail(const std::string& what) {
  std::printf("failed: %s (%s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void expect(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

void* library() {
  static void* const handle = dlopen("libibverbs.so.1", RTLD_NOW);
  expect(handle != nullptr, "dlopen libibverbs.so.1");
  return handle;
}

template <class Function>
Function find(const char* name, const char* version) {
  void* const found = dlvsym(library(), name, version);
  expect(found != nullptr, std::string(name) + " of " + version);
  return reinterpret_cast<Function>(found);
}

#define FIND(name) find<decltype(&(name))>(#name, "IBVERBS_1.1")

ibv_context* open_device(const char* name) {
  int count = 0;
  ibv_device** const list = FIND(ibv_get_device_list)(&count);
  expect(list != nullptr && count > 0, "no devices");
  ibv_device* chosen = list[0];
  for (int i = 0; i < count; ++i) {
    if (name != nullptr && std::strcmp(FIND(ibv_get_device_name)(list[i]), name) == 0) {
      chosen = list[i];
    }
  }
  ibv_context* const context = FIND(ibv_open_device)(chosen);
  expect(context != nullptr, "ibv_open_device");
  FIND(ibv_free_device_list)(list);
  return context;
}

/// Registers a dma-buf that does not exist: the error tells whether there are dma-bufs at all.
/// EOPNOTSUPP and EPROTONOSUPPORT mean no; any other error would mean yes.
void probe_dma_bufs(ibv_pd* pd) {
  using RegisterDmaBuf = ibv_mr* (*)(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
  errno = 0;
  ibv_mr* const mr =
      find<RegisterDmaBuf>("ibv_reg_dmabuf_mr", "IBVERBS_1.12")(pd, 0, 0, 0, /*fd=*/-1, 0);
  expect(mr == nullptr, "ibv_reg_dmabuf_mr without a buffer succeeds");
  expect(errno == EOPNOTSUPP || errno == EPROTONOSUPPORT, "dma-bufs seem to be supported");
}

std::string read_line(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "r");
  expect(file != nullptr, path);
  std::array<char, 256> line{};
  const bool has_line = std::fgets(line.data(), line.size(), file) != nullptr;
  std::fclose(file);
  return has_line ? line.data() : "";
}

void read_sysfs(const ibv_device* device) {
  const std::string path = device->ibdev_path;
  char* const real = realpath((path + "/device").c_str(), nullptr);
  expect(real != nullptr, "realpath");
  const std::string bus = real;
  std::free(real);
  double speed = 0;
  int width = 0;
  const std::string speed_line = read_line(bus + "/max_link_speed");
  expect(std::sscanf(speed_line.c_str(), "%lf GT/s", &speed) == 1 && speed > 0, "max_link_speed");
  const std::string width_line = read_line(bus + "/max_link_width");
  expect(std::sscanf(width_line.c_str(), "%d", &width) == 1 && width > 0, "max_link_width");
  expect(read_line(path + "/tc/1/traffic_class").empty(), "a traffic class for all queue pairs");
}

struct Side {
  ibv_cq* cq;
  ibv_qp* qp;
  ibv_mr* mr;
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kBytes);

  Side(ibv_context* context, ibv_pd* pd)
      : cq(FIND(ibv_create_cq)(context, 16, nullptr, nullptr, 0)), qp(nullptr), mr(nullptr) {
    expect(cq != nullptr, "ibv_create_cq");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {4, 4, 1, 1, 0};
    qp = FIND(ibv_create_qp)(pd, &init);
    expect(qp != nullptr, "ibv_create_qp");
    using Register = ibv_mr* (*)(ibv_pd*, void*, size_t, int);
    mr = find<Register>("ibv_reg_mr", "IBVERBS_1.1")(
        pd, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    expect(mr != nullptr, "ibv_reg_mr");
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    expect(FIND(ibv_destroy_qp)(qp) == 0, "ibv_destroy_qp");
    expect(FIND(ibv_dereg_mr)(mr) == 0, "ibv_dereg_mr");
    expect(FIND(ibv_destroy_cq)(cq) == 0, "ibv_destroy_cq");
  }

  void modify(ibv_qp_attr attr, int mask) const {
    expect(FIND(ibv_modify_qp)(qp, &attr, mask) == 0, "ibv_modify_qp");
  }

  void connect(uint32_t peer, const ibv_gid& gid) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
    attr.ah_attr.grh.hop_limit = 255;
    attr.ah_attr.port_num = 1;
    modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 20;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }

  [[nodiscard]] ibv_wc wait() const {
    ibv_wc completion{};
    int count = 0;
    while (count == 0) count = ibv_poll_cq(cq, 1, &completion);
    expect(count == 1, "ibv_poll_cq");
    expect(completion.status == IBV_WC_SUCCESS, FIND(ibv_wc_status_str)(completion.status));
    return completion;
  }
};

void write(Side& from, Side& to) {
  for (size_t i = 0; i < kBytes; ++i) from.bytes[i] = static_cast<unsigned char>(i * 40503 >> 8);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad_receive = nullptr;
  expect(ibv_post_recv(to.qp, &receive, &bad_receive) == 0, "ibv_post_recv");
  ibv_sge element{reinterpret_cast<uintptr_t>(from.bytes.data()), kBytes, from.mr->lkey};
  ibv_send_wr send{};
  ibv_send_wr* bad_send = nullptr;
  send.sg_list = &element;
  send.num_sge = 1;
  send.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  send.send_flags = IBV_SEND_SIGNALED;
  send.imm_data = kImmediate;
  send.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(to.bytes.data());
  send.wr.rdma.rkey = to.mr->rkey;
  expect(ibv_post_send(from.qp, &send, &bad_send) == 0, "ibv_post_send");
  (void)from.wait();
  const ibv_wc arrived = to.wait();
  expect(arrived.imm_data == kImmediate && arrived.byte_len == kBytes, "the completion");
  expect(from.bytes == to.bytes, "the data");
}

}  // namespace

int main(int argc, char** argv) {
  expect(FIND(ibv_fork_init)() == 0, "ibv_fork_init");
  ibv_context* const context = open_device(argc > 1 ? argv[1] : nullptr);
  read_sysfs(context->device);
  ibv_gid gid{};
  expect(FIND(ibv_query_gid)(context, 1, 0, &gid) == 0, "ibv_query_gid");
  ibv_pd* const pd = FIND(ibv_alloc_pd)(context);
  expect(pd != nullptr, "ibv_alloc_pd");
  probe_dma_bufs(pd);
  {
    Side one(context, pd);
    Side other(context, pd);
    one.connect(other.qp->qp_num, gid);
    other.connect(one.qp->qp_num, gid);
    write(one, other);
    write(other, one);
  }
  expect(FIND(ibv_dealloc_pd)(pd) == 0, "ibv_dealloc_pd");
  expect(FIND(ibv_close_device)(context) == 0, "ibv_close_device");
  std::printf("done\n");
  return 0;
}
