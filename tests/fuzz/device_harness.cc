// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/device_harness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"

namespace urxe::fuzz {
namespace {

constexpr int kMaxCommands = 400;
constexpr uint32_t kLongestDatagram = 4096;
constexpr uint32_t kQKey = 0x11111111;

/// A kind of queue pair.
struct Kind {
  ibv_qp_type type = IBV_QPT_RC;
  bool shared = false;      ///< receives come from the basic shared queue
  bool unsignaled = false;  ///< only requests that ask for it have a completion
};
constexpr Kind kKinds[] = {
    {},
    {IBV_QPT_RC, false, true},
    {},
    {IBV_QPT_UC, false, false},
    {IBV_QPT_UD, false, false},
    {IBV_QPT_XRC_SEND, false, false},
    {IBV_QPT_XRC_RECV, false, false},
    {IBV_QPT_RC, true, false},
    {IBV_QPT_UD, true, true},
};

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {harness_gid(1)};
  return config;
}

}  // namespace

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

void Guarded::check() const {
  const auto is_guard = [](uint8_t byte) { return byte == kGuardByte; };
  require(std::all_of(bytes.begin(), bytes.begin() + kGuard, is_guard) &&
              std::all_of(bytes.end() - kGuard, bytes.end(), is_guard),
          "guard bytes are intact");
}

void Guarded::check_untouched() const {
  require(std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == kGuardByte; }),
          "memory without write access is as it was");
}

Gid harness_gid(uint8_t last) {
  const uint8_t address[4] = {192, 0, 2, last};
  return Gid::from_ipv4(address);
}

Gid harness_group(uint8_t last) {
  const uint8_t address[4] = {239, 0, 2, last};
  return Gid::from_ipv4(address);
}

DeviceHarness::DeviceHarness(uint8_t options)
    : device_(config()),
      mtu_(static_cast<ibv_mtu>(1 + options % 5)),
      rd_atomic_(static_cast<uint8_t>(options >> 5)) {
  from_peer_.source = harness_gid(2);
  from_peer_.destination = harness_gid(1);
  pd_ = device_.alloc_pd().value();
  // Small, so that it overflows now and then.
  cq_ = device_.create_cq(kQueueDepth * 3, nullptr).value();
  domain_ = device_.alloc_domain().value();
  register_memory();
  require(device_.cm().listen(kHarnessService, ~uint64_t{0}, std::nullopt).has_value(),
          "it listens");
  agent_ = device_.mads().add({kHarnessAgent, {~uint64_t{0}, ~uint64_t{0}}}).value();
  for (size_t i = 0; i < kSrqs; ++i) create_srq(i);
  for (size_t i = 0; i < kQps; ++i) create_qp(i);
}

void DeviceHarness::register_memory() {
  local_region_ =
      device_
          .register_memory(pd_, local_.data(), kBytes, reinterpret_cast<uint64_t>(local_.data()),
                           IBV_ACCESS_LOCAL_WRITE)
          .value();
  target_region_ = device_
                       .register_memory(pd_, target_.data(), kBytes, kTargetVa,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
                                            IBV_ACCESS_MW_BIND | kAccessFlushGlobal)
                       .value();
  read_only_region_ =
      device_.register_memory(pd_, read_only_.data(), kBytes, kTargetVa, IBV_ACCESS_REMOTE_READ)
          .value();
  window_ = device_.alloc_window(pd_, IBV_MW_TYPE_2).value();
}

void DeviceHarness::create_srq(size_t index) {
  const bool xrc = index != 0;
  shared_[index].srq =
      device_
          .create_srq({pd_, kQueueDepth, 3, xrc ? domain_ : nullptr, xrc ? cq_ : nullptr, nullptr})
          .value();
}

void DeviceHarness::create_qp(size_t index) {
  const Kind& kind = kKinds[index];
  QpInit init;
  init.qpn = Qpn{static_cast<uint32_t>(0x10 + index)};
  init.type = kind.type;
  init.pd = pd_;
  init.cap = {kQueueDepth, kQueueDepth, 3, 3, 64};
  init.sq_sig_all = !kind.unsignaled;
  if (kind.type == IBV_QPT_XRC_RECV) {
    init.domain = domain_;
  } else {
    init.send_cq = cq_;
    if (kind.type != IBV_QPT_XRC_SEND) init.recv_cq = cq_;
  }
  if (kind.shared) init.srq = shared_[0].srq;
  connections_[index].qp = device_.create_qp(init).value();
  connect(connections_[index]);
}

void DeviceHarness::connect(Connection& connection) {
  sim::ConnectOptions options;
  options.destination = harness_gid(2);
  options.dest_qpn = Qpn{connection.qp->qpn.value() + 0x100};
  options.mtu = mtu_;
  options.sq_psn = 0xfffff0;
  options.rq_psn = 0xfffff8;
  options.timeout = 10;
  options.retry_cnt = 3;
  options.max_rd_atomic = rd_atomic_;
  options.max_dest_rd_atomic = rd_atomic_;
  options.qkey = kQKey;
  require(sim::connect(device_, *connection.qp, options, now_), "the queue pair connects");
}

void DeviceHarness::run(Input& input) {
  for (int i = 0; i < kMaxCommands && !input.ended(); ++i) {
    command(input);
    poll();
    local_.check();
    target_.check();
    read_only_.check_untouched();
  }
  transmit();
  for (Connection& connection : connections_) {
    sim::change_state(device_, *connection.qp, IBV_QPS_ERR, now_);
  }
  transmit();
  poll();
}

void DeviceHarness::transmit() {
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
      require(view->payload.size() <= (datagram ? kLongestDatagram : mtu()),
              "no payload beyond the path MTU");
    }
  }
  while (device_.take_notified() != nullptr) {
  }
  while (device_.take_event()) {
  }
}

/// A queue pair in RESET holds nothing.
void DeviceHarness::forget(Connection& connection) {
  connection.sends.clear();
  connection.receives.clear();
}

void DeviceHarness::take_completion(const ibv_wc& wc) {
  for (Shared& shared : shared_) {
    if (shared.receives.erase(wc.wr_id) != 0) return;
  }
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

void DeviceHarness::poll() {
  ibv_wc wcs[16];
  for (int count = 0; (count = cq_->poll(16, wcs)) > 0;) {
    for (int i = 0; i < count; ++i) take_completion(wcs[i]);
  }
}

}  // namespace urxe::fuzz
