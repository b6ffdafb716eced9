// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/engine.h"
#include "packet/engine/raw/change_watch.h"
#include "packet/engine/raw/link_route.h"
#include "packet/engine/raw/raw_counters.h"
#include "packet/engine/raw/raw_sender.h"
#include "packet/engine/raw/rx_ring.h"
#include "packet/engine/udp/udp.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

struct RawConfig {
  UdpConfig udp;            ///< `interface_index` must be an Ethernet interface's (is_ethernet())
  size_t ring_blocks = 64;  ///< 64 KiB each, for 14 frames; 1 at least
};

/// RoCEv2 over a packet socket of the device's interface: the UDP engine with a shortcut, which
/// needs CAP_NET_RAW. Packets for this process that come in by the interface are read in place from
/// a ring; packets to a neighbour whose address the kernel knows are sent as frames. Everything
/// else goes by the UDP engine within: packets to and from this host itself, QP1, multicast, other
/// interfaces, what comes for other processes. The UDP sockets also keep the kernel from answering
/// with ICMP errors.
class RawEngine final : public OneLaneEngine {
 public:
  static Expected<std::unique_ptr<RawEngine>, EngineError> open(const RawConfig& config);
  ~RawEngine() override;
  RawEngine(const RawEngine&) = delete;
  RawEngine& operator=(const RawEngine&) = delete;

  [[nodiscard]] EnginePromises promises() const override { return udp_.promises(); }
  Expected<void, EngineError> open_address(const Gid& local) override;
  void close_address(const Gid& local) override;
  [[nodiscard]] bool is_joining() const override { return udp_.is_joining(); }
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) override {
    return udp_.claim_source_port(local, wanted);
  }
  void release_source_port(const Gid& local, uint16_t port) override {
    udp_.release_source_port(local, port);
  }
  Expected<void, EngineError> join_group(const Gid& group) override;
  void leave_group(const Gid& group) override { udp_.leave_group(group); }
  void leave() override;
  void abandon() override;
  /// No system call while frames keep coming: it looks at the UDP engine's sockets rarely then.
  std::span<const RxPacket> receive() override;
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] bool has_unsent() const override {
    return udp_.has_unsent() || sender_.is_blocked();
  }
  [[nodiscard]] EngineCounters totals() const override;
  [[nodiscard]] bool reads_memory() const override { return took_frames_; }
  [[nodiscard]] bool begin_wait() override;
  [[nodiscard]] int wait_fd() const override { return epoll_.get(); }

  [[nodiscard]] RawCounters counters() const;
  [[nodiscard]] UdpCounters udp_counters() const { return udp_.counters(); }

 private:
  RawEngine(const RawConfig& config, FileDescriptor socket, RxRing ring, LinkRouteQuery routes,
            ChangeWatch changes, FileDescriptor epoll);

  void take_frames();
  void take(const ReceivedFrame& frame);
  void receive_by_udp();
  void look_around();
  void take_changes();
  void stop_raw();
  void watch_room();
  [[nodiscard]] uint32_t slot() const;
  [[nodiscard]] bool is_open(const Gid& address) const;
  [[nodiscard]] bool comes_in_frames(const Flow& flow);

  RawConfig config_;
  mutable RawCounters counters_;  ///< those of the socket are added when somebody asks
  UdpEngine udp_;
  FileDescriptor socket_;
  std::optional<RxRing> ring_;  ///< nullopt: the interface is gone, all goes by UDP
  LinkRouteQuery route_query_;
  ChangeWatch changes_;
  FileDescriptor epoll_;
  RawSender sender_;
  std::vector<Gid> addresses_;     ///< that were opened
  std::vector<RxPacket> packets_;  ///< returned by receive()
  Instant now_{};                  ///< at the last look around
  bool watches_room_ = false;
  bool took_frames_ = false;  ///< the last receive() did
  uint32_t calls_until_look_ = 0;
  uint32_t calls_to_udp_ = 0;  ///< receive()s that look at UDP, because it may have something
};

}  // namespace urxe
