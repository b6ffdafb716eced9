// SPDX-License-Identifier: BSD-2-Clause
// A device with three RC queue pairs, one of UC and one of UD, fed hostile packets whose ICRC is
// right. An input is a list of commands, each a byte (which command) and its arguments: packets
// whose numbers are near those that the queue pair expects, requests and receives posted, time,
// state changes, raw bytes.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "tests/sim/posting.h"
#include "transport/device.h"

namespace {

using namespace urxe;  // NOLINT: a single-file program

constexpr size_t kReliable = 3;
constexpr size_t kQps = kReliable + 2;  // then UC, then UD
constexpr uint32_t kQKey = 5;
constexpr size_t kGuard = 64;
constexpr uint32_t kBytes = 16384;
constexpr uint8_t kGuardByte = 0xee;
constexpr uint64_t kTargetVa = 0x10000;
constexpr uint32_t kQueueDepth = 16;
constexpr int kMaxCommands = 400;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

/// The input, read from the front; zeros when it has ended.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool ended() const { return at_ == end_; }
  uint8_t byte() { return ended() ? uint8_t{0} : *at_++; }
  uint16_t word() {
    const uint8_t high = byte();
    return static_cast<uint16_t>(high << 8 | byte());
  }
  std::vector<uint8_t> bytes(size_t count) {
    count = std::min(count, static_cast<size_t>(end_ - at_));
    std::vector<uint8_t> taken(at_, at_ + count);
    at_ += count;
    return taken;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

/// Memory with guard bytes around it.
struct Guarded {
  alignas(8) std::array<uint8_t, kBytes + 2 * kGuard> bytes;
  Guarded() { bytes.fill(kGuardByte); }
  uint8_t* data() { return bytes.data() + kGuard; }
  void check() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuardByte; };
    require(std::all_of(bytes.begin(), bytes.begin() + kGuard, is_guard) &&
                std::all_of(bytes.end() - kGuard, bytes.end(), is_guard),
            "guard bytes are intact");
  }
};

struct Connection {
  QueuePair* qp = nullptr;
  std::deque<uint64_t> sends;  ///< wr_ids posted and not completed
  std::deque<uint64_t> receives;
};

class Harness {
 public:
  explicit Harness(uint8_t options);
  void run(Input& input);

 private:
  void command(Input& input);
  void packet(Input& input);
  Headers headers(Input& input, const Connection& connection);
  Psn psn(Input& input, const Connection& connection) const;
  void post_send(Input& input);
  void post_receive(Input& input);
  void modify(Input& input);
  void raw(Input& input);
  void change_memory(Input& input);
  void transmit();
  void poll();
  void take_completion(const ibv_wc& wc);
  void connect(Connection& connection);
  Connection& pick(Input& input) {
    const uint8_t which = input.byte();
    return connections_[which < 0xc0 ? which % kReliable : kReliable + which % 2];
  }
  void deliver(const Headers& headers, const std::vector<uint8_t>& payload);

  Flow from_peer_;
  Device device_;
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  Guarded local_;
  Guarded target_;
  Guarded read_only_;
  MemoryRegion* local_region_ = nullptr;
  MemoryRegion* target_region_ = nullptr;
  MemoryRegion* read_only_region_ = nullptr;
  std::array<Connection, kQps> connections_;
  Instant now_{1};
  uint64_t next_wr_id_ = 1;
  ibv_mtu mtu_ = IBV_MTU_256;
  uint8_t rd_atomic_ = 1;
};

Gid gid(uint8_t last) {
  const uint8_t address[4] = {192, 0, 2, last};
  return Gid::from_ipv4(address);
}

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {gid(1)};
  return config;
}

Harness::Harness(uint8_t options)
    : device_(config()),
      mtu_(static_cast<ibv_mtu>(1 + options % 5)),
      rd_atomic_(static_cast<uint8_t>(options >> 5)) {
  from_peer_.source = gid(2);
  from_peer_.destination = gid(1);
  pd_ = device_.alloc_pd().value();
  // Small, so that it overflows now and then.
  cq_ = device_.create_cq(kQueueDepth * 3, nullptr).value();
  local_region_ =
      device_
          .register_memory(pd_, local_.data(), kBytes, reinterpret_cast<uint64_t>(local_.data()),
                           IBV_ACCESS_LOCAL_WRITE)
          .value();
  target_region_ = device_
                       .register_memory(pd_, target_.data(), kBytes, kTargetVa,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
                       .value();
  read_only_region_ =
      device_.register_memory(pd_, read_only_.data(), kBytes, kTargetVa, IBV_ACCESS_REMOTE_READ)
          .value();
  for (size_t i = 0; i < kQps; ++i) {
    QpInit init;
    init.qpn = Qpn{static_cast<uint32_t>(0x10 + i)};
    init.pd = pd_;
    init.send_cq = init.recv_cq = cq_;
    init.cap = {kQueueDepth, kQueueDepth, 3, 3, 64};
    init.sq_sig_all = i != 1;
    if (i >= kReliable) init.type = i == kReliable ? IBV_QPT_UC : IBV_QPT_UD;
    connections_[i].qp = device_.create_qp(init).value();
    connect(connections_[i]);
  }
}

void Harness::connect(Connection& connection) {
  sim::ConnectOptions options;
  options.destination = gid(2);
  options.dest_qpn = Qpn{connection.qp->qpn.value() + 0x100};
  options.mtu = mtu_;
  options.sq_psn = 0xfffff0;
  options.rq_psn = 0xfffff8;
  options.qkey = kQKey;
  options.timeout = 10;
  options.retry_cnt = 3;
  options.max_rd_atomic = rd_atomic_;
  options.max_dest_rd_atomic = rd_atomic_;
  sim::connect(device_, *connection.qp, options, now_);
}

void Harness::run(Input& input) {
  for (int i = 0; i < kMaxCommands && !input.ended(); ++i) {
    command(input);
    poll();
    local_.check();
    target_.check();
    require(std::all_of(read_only_.bytes.begin(), read_only_.bytes.end(),
                        [](uint8_t byte) { return byte == kGuardByte; }),
            "memory without write access is as it was");
  }
  transmit();
  for (Connection& connection : connections_) {
    sim::change_state(device_, *connection.qp, IBV_QPS_ERR, now_);
  }
  transmit();
  poll();
}

void Harness::command(Input& input) {
  switch (input.byte() % 10) {
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
    default:
      return packet(input);
  }
}

Psn Harness::psn(Input& input, const Connection& connection) const {
  const QueuePair& qp = *connection.qp;
  const uint8_t anchor = input.byte();
  const auto delta = static_cast<uint32_t>(static_cast<int8_t>(input.byte()));
  switch (anchor % 4) {
    case 0:
      return qp.responder.expected_psn + delta;
    case 1:
      return qp.requester.oldest_unacked + delta;
    case 2:
      return qp.requester.next_psn + delta;
    default:
      return Psn{(static_cast<uint32_t>(anchor) << 16) + delta};
  }
}

Headers Harness::headers(Input& input, const Connection& connection) {
  Headers headers;
  headers.bth.opcode = Opcode(connection.qp->service, static_cast<Operation>(input.byte() & 0x1f));
  headers.bth.dest_qp = connection.qp->qpn;
  headers.bth.psn = psn(input, connection);
  const uint8_t flags = input.byte();
  headers.bth.ack_req = (flags & 1) != 0;
  headers.bth.solicited = (flags & 2) != 0;
  const RKey keys[] = {target_region_->rkey, read_only_region_->rkey, local_region_->rkey,
                       RKey{input.byte()}};
  const RKey rkey = keys[flags >> 6];
  const uint64_t va = kTargetVa + static_cast<uint64_t>(static_cast<int16_t>(input.word()));
  uint32_t length = input.word();
  if ((flags & 4) != 0) length <<= 16;
  headers.reth = {va, rkey, length};
  headers.atomic = {va, rkey, length, flags};
  headers.aeth = {input.byte(), Msn{flags}};
  headers.invalidate = rkey;
  headers.deth = {QKey{kQKey + (flags >> 5 & 1U)}, Qpn{0x10}};
  // What no service has: the marks of the way to another process of this host.
  if (connection.qp->service == Service::kUd && (flags & 8) != 0) {
    headers.bth.opcode = (flags & 16) != 0 ? kDrainQueryOpcode : kDrainAnswerOpcode;
  }
  return headers;
}

void Harness::deliver(const Headers& headers, const std::vector<uint8_t>& payload) {
  TxBatch batch(TxBatch::Limits{8192, 1, 1, 8000, Identification::kZero});
  Flow flow = from_peer_;
  if (headers.bth.opcode.service() == Service{6}) flow.source = flow.destination;
  uint8_t* out = batch.append(flow, headers, payload.size());
  if (out == nullptr) return;
  std::copy(payload.begin(), payload.end(), out);
  batch.commit();
  device_.receive({batch.bytes(batch.messages()[0]), flow, batch.identification(0)}, now_);
}

void Harness::packet(Input& input) {
  const Connection& connection = pick(input);
  const Headers all = headers(input, connection);
  const uint32_t mtu = 128U << mtu_;
  const uint8_t size = input.byte();
  // Mostly lengths that mean something: the path MTU, what the RETH says, a few bytes.
  const std::array<uint32_t, 4> sizes = {mtu, std::min(all.reth.dma_length, mtu), size & 0x1fU,
                                         mtu + (size & 0x1fU)};
  const bool may = opcode_info(all.bth.opcode).has_payload;
  if (opcode_info(all.bth.opcode).name.empty()) return;
  deliver(all, std::vector<uint8_t>(may ? std::min(sizes[size >> 6], 4096U) : 0, size));
}

void Harness::raw(Input& input) {
  const uint8_t options = input.byte();
  std::vector<uint8_t> bytes = input.bytes(input.byte());
  if ((options & 1) != 0 && bytes.size() >= 8) {
    const size_t covered = bytes.size() - 4;
    store_le32(bytes.data() + covered, icrc(from_peer_, 0, {bytes.data(), covered}));
  }
  device_.receive({bytes, from_peer_, uint16_t{0}}, now_);
}

void Harness::post_send(Input& input) {
  constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND,
                                        IBV_WR_SEND_WITH_IMM,
                                        IBV_WR_RDMA_WRITE,
                                        IBV_WR_RDMA_WRITE_WITH_IMM,
                                        IBV_WR_RDMA_READ,
                                        IBV_WR_ATOMIC_CMP_AND_SWP,
                                        IBV_WR_ATOMIC_FETCH_AND_ADD,
                                        IBV_WR_SEND_WITH_INV};
  Connection& connection = pick(input);
  const uint8_t opcode = input.byte();
  sim::SendRequest request;
  const Service service = connection.qp->service;
  const uint8_t opcodes = service == Service::kUd ? 2 : service == Service::kUc ? 4 : 8;
  request.opcode = kOpcodes[opcode % opcodes];
  request.wr_id = next_wr_id_++;
  request.flags = input.byte() & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
  uint32_t length = input.word() % (kBytes + 8);
  if (opcodes == 8 && (opcode % 8 == 5 || opcode % 8 == 6)) length = 8;
  request.sges = {{reinterpret_cast<uint64_t>(local_.data()), length, local_region_->lkey}};
  request.remote_addr = kTargetVa;
  // To the peer, or to a process of this host.
  request.datagram = {{gid(1), gid((opcode & 0x80) != 0 ? 1 : 2)}, Qpn{0x100}, QKey{kQKey}};
  if (connection.qp->state() == IBV_QPS_RESET || connection.qp->state() == IBV_QPS_INIT) return;
  if (sim::post_send(device_, *connection.qp, request)) connection.sends.push_back(request.wr_id);
}

void Harness::post_receive(Input& input) {
  Connection& connection = pick(input);
  const Sge sge{reinterpret_cast<uint64_t>(local_.data()), input.word() % (kBytes + 8),
                local_region_->lkey};
  if (connection.qp->state() == IBV_QPS_RESET) return;
  if (sim::post_receive(device_, *connection.qp, next_wr_id_, {&sge, 1})) {
    connection.receives.push_back(next_wr_id_++);
  }
}

void Harness::modify(Input& input) {
  Connection& connection = pick(input);
  constexpr ibv_qp_state kStates[] = {IBV_QPS_ERR, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPS_RESET};
  const ibv_qp_state state = kStates[input.byte() % 4];
  if (state != IBV_QPS_RESET) {
    sim::change_state(device_, *connection.qp, state, now_);
    return;
  }
  poll();  // nothing of before may come after
  sim::change_state(device_, *connection.qp, IBV_QPS_RESET, now_);
  connection.sends.clear();
  connection.receives.clear();
  connect(connection);
}

void Harness::change_memory(Input& input) {
  // Keys that packets on their way hold become stale.
  const int access = (input.byte() & 1) != 0
                         ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                         : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                               IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  require(device_.reregister_memory(*target_region_, pd_, target_.data(), kBytes, kTargetVa, access)
              .has_value(),
          "a good reregistration succeeds");
}

void Harness::transmit() {
  TxBatch batch(TxBatch::Limits{});
  device_.advance(now_);
  int rounds = 0;
  for (bool more = true; more;) {
    require(++rounds < 1000, "transmission ends");
    batch.clear();
    more = device_.transmit(batch, now_, AckPolicy::kAll);
    for (const TxBatch::Message& message : batch.messages()) {
      const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
      require(view.has_value(), "what is sent is valid");
      const bool datagram = view->headers.bth.opcode.service() == Service::kUd;
      require(view->payload.size() <= (128U << (datagram ? IBV_MTU_4096 : mtu_)),
              "no payload beyond the path MTU");
    }
  }
  while (device_.take_notified() != nullptr) {
  }
  while (device_.take_event()) {
  }
}

void Harness::take_completion(const ibv_wc& wc) {
  for (Connection& connection : connections_) {
    if (connection.qp->qpn.value() != wc.qp_num) continue;
    const bool is_receive = std::find(connection.receives.begin(), connection.receives.end(),
                                      wc.wr_id) != connection.receives.end();
    std::deque<uint64_t>& posted = is_receive ? connection.receives : connection.sends;
    // Unsignaled ones before it have no completion; overflow loses some.
    while (!posted.empty() && posted.front() != wc.wr_id) posted.pop_front();
    require(!posted.empty(), "a completion is of something posted, once, in order");
    posted.pop_front();
    return;
  }
  require(false, "a completion is of a queue pair");
}

void Harness::poll() {
  ibv_wc wcs[16];
  for (int count = 0; (count = cq_->poll(16, wcs)) > 0;) {
    for (int i = 0; i < count; ++i) take_completion(wcs[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Harness harness(input.byte());
  harness.run(input);
  return 0;
}
