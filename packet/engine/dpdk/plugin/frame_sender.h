// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "packet/base/time.h"
#include "packet/engine/dpdk/link/link_services.h"
#include "packet/engine/dpdk/plugin/dpdk_counters.h"
#include "packet/engine/dpdk/plugin/frame_queue.h"
#include "packet/engine/dpdk/plugin/port.h"
#include "packet/engine/stall_watch.h"
#include "packet/host/clock.h"

namespace urxe {

/// The sending half of a DpdkEngine: frames for the driver, in bursts; frames that the driver had
/// no room for; frames whose first hop is not known yet; and frames for this process itself.
class FrameSender {
 public:
  FrameSender(Port& port, LinkServices& services, DpdkCounters& counters)
      : port_(port), services_(services), counters_(counters) {}
  ~FrameSender() { drop_all(); }
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  /// Whether so many frames can be made and sent or kept, if the driver takes none.
  [[nodiscard]] bool has_room(size_t frames);
  /// Asks, after has_room() has returned false, whether the driver has taken nothing for long.
  [[nodiscard]] bool is_stalled() { return stall_.is_stalled(clock_now(), kUsualPatience); }
  /// An empty buffer; null, and counted, if there is none.
  [[nodiscard]] rte_mbuf* allocate();

  // Each of these takes over the frame.

  /// To be sent with the next flush().
  void add(rte_mbuf* frame);
  /// To be sent once the destination's first hop is known, whose address is then filled in.
  void add_unresolved(rte_mbuf* frame, const Gid& destination, Instant now);
  /// For this process.
  void add_local(rte_mbuf* frame);

  /// Gives the driver what waits for it, the oldest first.
  void flush();
  /// What LinkServices has to send, and what has waited for it.
  void serve_link(Instant now);
  /// The next frame for this process; null: none.
  [[nodiscard]] rte_mbuf* take_local();
  [[nodiscard]] bool has_local() const { return !local_.empty(); }

  /// Whether frames wait for room.
  [[nodiscard]] bool is_blocked() const { return !backlog_.empty(); }
  /// The link is down: nobody will take what waits for room.
  void drop_backlog();
  void drop_all();
  /// For a forked child: forgets all frames.
  void abandon();

 private:
  static constexpr size_t kSpare = 128;  ///< the largest message, to a group, and some
  static constexpr size_t kBacklog = 512;

  [[nodiscard]] bool refill();
  void send_control_frames();
  void retry_unresolved(Instant now);

  Port& port_;
  LinkServices& services_;
  DpdkCounters& counters_;
  std::array<rte_mbuf*, kSpare> spare_{};
  size_t spare_count_ = 0;
  std::array<rte_mbuf*, Port::kBurst> burst_{};
  size_t burst_count_ = 0;
  FrameQueue<kBacklog> backlog_;
  StallWatch stall_;  ///< of the driver
  FrameQueue<128> unresolved_;
  FrameQueue<512> local_;
  uint64_t resolutions_seen_ = 0;
};

}  // namespace urxe
