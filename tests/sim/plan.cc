// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/plan.h"

#include <algorithm>

#include "tests/sim/failure.h"
#include "tests/support/random.h"

namespace urxe::sim {
namespace {

void draw_services(Plan& plan, Random& random) {
  if (random.percent(35)) return;
  plan.uc_percent = random.range32(0, 60);
  plan.ud_percent = random.range32(0, 100 - plan.uc_percent) / 2;
  plan.xrc_percent = random.range32(0, 100 - plan.uc_percent - plan.ud_percent);
  plan.groups = random.range32(0, 2);
}

void draw_receives(Plan& plan, Random& random) {
  plan.rq_depth = random.percent(20) ? random.range32(1, 3) : random.range32(4, 64);
  plan.srq_depth = plan.connections * 2 + random.range32(1, random.percent(50) ? 4 : 64);
  plan.shared_receives_percent = random.percent(50) ? 0 : random.range32(1, 100);
}

void draw_queue_pairs(Plan& plan, Random& random) {
  plan.ipv6 = random.percent(40);
  plan.mtu = static_cast<ibv_mtu>(random.range(IBV_MTU_256, IBV_MTU_4096));
  plan.psn_near_wrap = random.percent(60);
  plan.connections = random.percent(40) ? 1 : random.range32(2, random.percent(30) ? 16 : 5);
  plan.hosts = plan.connections > 2 && random.percent(20) ? 3 : 2;
  plan.sq_depth = random.percent(20) ? random.range32(1, 3) : random.range32(4, 64);
  draw_receives(plan, random);
  plan.max_sge = random.range32(1, random.percent(20) ? 32 : 5);
  plan.max_inline = random.percent(30) ? 0 : random.range32(1, 512);
  plan.sq_sig_all = random.percent(25);
  plan.shared_cq = random.percent(40);
  plan.use_notifications = random.percent(40);
  plan.paced_percent = random.percent(75) ? 0 : random.range32(1, 100);
  plan.on_demand_percent = random.percent(60) ? 0 : random.range32(1, 100);
  plan.retry_cnt = 7;
  plan.min_rnr_timer = static_cast<uint8_t>(random.range(1, 16));
  plan.max_rd_atomic = static_cast<uint8_t>(random.percent(30) ? 1 : random.range(1, 16));
  plan.max_dest_rd_atomic = static_cast<uint8_t>(
      random.percent(70) ? plan.max_rd_atomic : random.range(plan.max_rd_atomic, 32));
}

void draw_traffic(Plan& plan, Random& random) {
  const uint32_t mtu = 128U << plan.mtu;
  plan.requests = random.range32(10, plan.connections > 4 ? 40 : 150);
  plan.max_rdma = std::min<uint32_t>(random.percent(50) ? 4 * mtu : 30 * mtu,
                                     plan.connections > 4 ? 20000 : 60000);
  if (plan.connections == 1 && random.percent(20)) {
    // Long messages: a READ becomes several requests.
    plan.max_rdma = 150 * std::min(mtu, 1024U);
    plan.requests = std::min(plan.requests, 40U);
  }
  plan.max_send = std::min<uint32_t>(random.percent(50) ? 2 * mtu : 12 * mtu,
                                     std::max<uint32_t>(mtu + 10, 160000 / plan.rq_depth));
  plan.signaled_percent = random.range32(0, 100);
  plan.late_receives_percent = random.percent(40) ? random.range32(1, 60) : 0;
  plan.operations = random.range32(0, 6);
}

void draw_driving(Plan& plan, Random& random) {
  plan.max_window = random.percent(70) ? 256 : random.range32(4, 256);
  plan.segments_per_message = random.percent(50) ? 1 : random.range32(2, 16);
  plan.receive_batch = random.percent(30) ? 1 : random.range32(2, 64);
  plan.transmit_packets = random.percent(30) ? random.range32(1, 4) : random.range32(5, 128);
  plan.urgent_only_percent = random.range32(0, 100);
  plan.deschedule_percent = random.percent(50) ? 0 : random.range32(1, 30);
  plan.deschedule_max = microseconds(static_cast<int64_t>(random.range(1, 300)));
}

void draw_faults(NetworkPlan& network, Random& random, uint32_t most) {
  if (random.percent(70)) network.loss = random.range32(0, most);
  if (random.percent(40)) network.duplicate = random.range32(0, most * 2);
  if (random.percent(40)) network.reorder = random.range32(0, most * 2);
  if (random.percent(40)) network.corrupt = random.range32(0, most);
}

void draw_network(Plan& plan, Random& random) {
  NetworkPlan& network = plan.network;
  network.latency = microseconds(static_cast<int64_t>(random.range(1, 40)));
  network.jitter = random.percent(60) ? Duration{} : network.latency;
  network.picoseconds_per_byte =
      random.percent(30) ? 0 : random.range32(20, random.percent(20) ? 8000 : 800);
  network.reorder_delay = microseconds(static_cast<int64_t>(random.range(1, 200)));
  const uint64_t kind = random.below(10);
  uint64_t round_trip_us = 2000;  // of a request, all waiting included, without a loss
  if (kind == 0) {
    // No faults at all.
  } else if (kind == 1) {
    draw_faults(network, random, 250000);
    network.burst_loss = random.range32(0, 20000);
    network.burst_length = random.range32(2, 200);
    plan.retries_may_run_out = true;
    plan.retry_cnt = static_cast<uint8_t>(random.range(0, 7));
  } else if (kind <= 3) {
    // A bottleneck: the losses are our own.
    network.picoseconds_per_byte = random.range32(80, 2000);
    network.queue_bytes = random.range32(24, 400) * 1024;
    if (random.percent(50)) network.receive_buffer = random.range32(64, 208) * 1024;
    draw_faults(network, random, 5000);
    round_trip_us = 20000;
  } else {
    draw_faults(network, random, 20000);
  }
  // Windows are counted in bytes: the smaller the packets, the more of them wait at a slow host
  // (of 256 bytes, 15 connections, two thousand for 40 ms).
  if (plan.connections > 4) {
    round_trip_us = std::max<uint64_t>(2 * round_trip_us, 64000 >> (plan.mtu - IBV_MTU_256));
  }
  if (network.picoseconds_per_byte > 1000) round_trip_us *= 8;
  uint8_t shortest = 0;
  while ((4096ULL << shortest) < round_trip_us * 1000) ++shortest;
  plan.timeout = static_cast<uint8_t>(random.range(shortest, std::max<int>(shortest, 17)));
  if (plan.retries_may_run_out) plan.timeout = static_cast<uint8_t>(random.range(4, 14));
  if (random.percent(20)) plan.min_ack_timeout = milliseconds(1);
}

}  // namespace

Plan draw_plan(uint64_t seed) {
  Random random(Random::mix(seed * Random::kGoldenRatio + 1));
  Plan plan;
  plan.seed = seed;
  draw_services(plan, random);
  draw_queue_pairs(plan, random);
  draw_traffic(plan, random);
  draw_driving(plan, random);
  draw_network(plan, random);
  plan.alternate_paths = random.percent(25);
  plan.cut = plan.alternate_paths && !plan.retries_may_run_out && random.percent(50);
  return plan;
}

std::string Plan::describe() const {
  const NetworkPlan& n = network;
  return text(
             "hosts %u connections %u uc %u%% ud %u%% xrc %u%% groups %u alternate %d cut %d paced "
             "%u%% %s mtu %u "
             "psn_near_wrap "
             "%d\n",
             hosts, connections, uc_percent, ud_percent, xrc_percent, groups, alternate_paths, cut,
             paced_percent, ipv6 ? "ipv6" : "ipv4", 128U << mtu, psn_near_wrap) +
         text(
             "sq_depth %u rq_depth %u srq_depth %u shared_receives %u%% on_demand %u%% max_sge %u "
             "max_inline %u sq_sig_all %d shared_cq %d notifications %d\n",
             sq_depth, rq_depth, srq_depth, shared_receives_percent, on_demand_percent, max_sge,
             max_inline, sq_sig_all, shared_cq, use_notifications) +
         text(
             "timeout %u min_ack_timeout_ns %lld retry_cnt %u min_rnr_timer %u max_rd_atomic %u "
             "max_dest_rd_atomic %u max_window %u segments %u\n",
             timeout, static_cast<long long>(min_ack_timeout.ns), retry_cnt, min_rnr_timer,
             max_rd_atomic, max_dest_rd_atomic, max_window, segments_per_message) +
         text(
             "requests %u max_send %u max_rdma %u signaled %u%% late_receives %u%% operations %u "
             "receive_batch %u transmit_packets %u urgent_only %u%% deschedule %u%% %lld ns\n",
             requests, max_send, max_rdma, signaled_percent, late_receives_percent, operations,
             receive_batch, transmit_packets, urgent_only_percent, deschedule_percent,
             static_cast<long long>(deschedule_max.ns)) +
         text(
             "latency_ns %lld jitter_ns %lld ps_per_byte %u queue_bytes %u receive_buffer %u "
             "loss %u burst %u x %u duplicate %u reorder %u (%lld ns) corrupt %u (per million) "
             "retries_may_run_out %d\n",
             static_cast<long long>(n.latency.ns), static_cast<long long>(n.jitter.ns),
             n.picoseconds_per_byte, n.queue_bytes, n.receive_buffer, n.loss, n.burst_loss,
             n.burst_length, n.duplicate, n.reorder, static_cast<long long>(n.reorder_delay.ns),
             n.corrupt, retries_may_run_out);
}

}  // namespace urxe::sim
