// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "packet/base/time.h"

namespace urxe::sim {

/// What the network does to packets. Rates are per million packets.
struct NetworkPlan {
  Duration latency{};
  Duration jitter{};  ///< added at random; reorders where it exceeds the gaps
  uint32_t picoseconds_per_byte = 0;
  uint32_t queue_bytes = 0;     ///< of the bottleneck; 0: no limit
  uint32_t receive_buffer = 0;  ///< bytes a host buffers before its device reads; 0: no limit
  uint32_t loss = 0;
  uint32_t burst_loss = 0;  ///< chance that a run of packets is lost
  uint32_t burst_length = 0;
  uint32_t duplicate = 0;
  uint32_t reorder = 0;  ///< chance of an extra delay
  Duration reorder_delay{};
  uint32_t corrupt = 0;

  /// Packets of one host for another arrive in the order of sending, none twice.
  [[nodiscard]] bool keeps_order() const {
    return jitter.ns == 0 && reorder == 0 && duplicate == 0;
  }
};

/// Everything about one run, drawn from its seed.
struct Plan {
  uint64_t seed = 0;
  // Topology.
  uint32_t hosts = 2;
  uint32_t connections = 1;
  bool ipv6 = false;
  // Services, of the connections; the others are RC.
  uint32_t uc_percent = 0;
  uint32_t ud_percent = 0;
  uint32_t xrc_percent = 0;
  uint32_t groups = 0;                   ///< multicast
  uint32_t paced_percent = 0;            ///< queue pairs with a rate limit
  uint32_t shared_receives_percent = 0;  ///< of RC, UC and UD queue pairs
  bool alternate_paths = false;          ///< reliable connections have one
  bool cut = false;  ///< the primary paths fail, and others finish what they began
  // Queue pairs.
  ibv_mtu mtu = IBV_MTU_1024;
  bool psn_near_wrap = false;
  uint32_t sq_depth = 16;
  uint32_t rq_depth = 16;
  uint32_t srq_depth = 16;         ///< more than there are queue pairs to hold on to one
  uint32_t on_demand_percent = 0;  ///< regions that are accessed with care
  uint32_t max_sge = 4;
  uint32_t max_inline = 64;
  bool sq_sig_all = false;
  bool shared_cq = false;  ///< one completion queue a host
  bool use_notifications = false;
  uint8_t timeout = 14;
  uint8_t retry_cnt = 7;
  uint8_t min_rnr_timer = 1;
  uint8_t max_rd_atomic = 1;
  uint8_t max_dest_rd_atomic = 1;
  // Device.
  Duration min_ack_timeout{};
  uint32_t max_window = 256;  ///< in units of 4 KiB
  uint32_t segments_per_message = 1;
  // Traffic.
  uint32_t requests = 50;     ///< each side
  uint32_t max_send = 4096;   ///< bytes of a SEND
  uint32_t max_rdma = 16384;  ///< bytes of a READ or WRITE
  uint32_t signaled_percent = 50;
  uint32_t late_receives_percent = 0;
  uint32_t operations = 0;  ///< which kinds dominate; see traffic
  // Driving.
  uint32_t receive_batch = 16;
  uint32_t transmit_packets = 64;
  uint32_t urgent_only_percent = 50;
  uint32_t deschedule_percent = 0;
  Duration deschedule_max{};

  NetworkPlan network;
  /// Faults are so frequent that a queue pair may run out of retries.
  bool retries_may_run_out = false;

  /// Several lines, "name value".
  [[nodiscard]] std::string describe() const;
};

Plan draw_plan(uint64_t seed);

}  // namespace urxe::sim
