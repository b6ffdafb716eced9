// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/engine.h"
#include "packet/engine/stall_watch.h"
#include "packet/engine/udp/datagram_reader.h"
#include "packet/engine/udp/udp_counters.h"
#include "packet/engine/udp/udp_sender.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/calibration/port_calibration.h"
#include "packet/wire/port_probe.h"

namespace urxe {

struct UdpConfig {
  uint32_t interface_index = 0;  ///< scope of link-local IPv6 addresses
  /// Asked for, for sending and receiving (ask_receive_room(), ask_send_room()).
  int socket_buffer_bytes = 4 << 20;
  /// Sockets to send from, per address; at most a quarter of the process's descriptors.
  size_t max_source_ports = 64;
  /// How long packets wait for room at a socket that takes none, before they are lost.
  Duration patience = kUsualPatience;
  bool segmentation = true;  ///< use the kernel's segmentation and coalescing if it has them
  /// Outlives the engine. Null: every packet that arrives is ours.
  AddressSharing* sharing = nullptr;
};

/// RoCEv2 over UDP sockets, which needs no privilege. One socket on port 4791 receives for each
/// address, and one for each multicast group; other sockets send, one per source port. Other
/// processes of the user can receive on the same addresses (UdpConfig::sharing).
class UdpEngine final : public OneLaneEngine {
 public:
  explicit UdpEngine(const UdpConfig& config);
  ~UdpEngine() override;
  UdpEngine(const UdpEngine&) = delete;
  UdpEngine& operator=(const UdpEngine&) = delete;

  /// The kernel's segmentation is no longer promised once it has failed.
  [[nodiscard]] EnginePromises promises() const override;
  /// If other processes share the port, begins to search for the order of the sockets.
  Expected<void, EngineError> open_address(const Gid& local) override;
  /// Keeps the socket if the process has become another user, to whom a new one would belong.
  void close_address(const Gid& local) override;
  [[nodiscard]] bool is_joining() const override { return searching_; }
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) override;
  void release_source_port(const Gid& local, uint16_t port) override;
  Expected<void, EngineError> join_group(const Gid& group) override;
  void leave_group(const Gid& group) override;
  void leave() override;
  void abandon() override;
  /// Mostly one system call if nothing has arrived: it reads the address that received last every
  /// time, the others every few calls. Also sends packets that waited for room in a socket buffer.
  std::span<const RxPacket> receive() override;
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] bool begin_wait() override {
    calls_until_look_ = 0;  // what ends the wait may be at any socket
    return config_.sharing != nullptr && config_.sharing->has_requests();
  }
  [[nodiscard]] int wait_fd() const override { return epoll_.get(); }

  [[nodiscard]] bool has_unsent() const override { return !sender_.blocked_fds().empty(); }
  [[nodiscard]] EngineCounters totals() const override;
  [[nodiscard]] UdpCounters counters() const;

  // For an engine that receives in other ways, too, and has this one for the rest:

  /// The socket that receives on an open address; -1: it is not open.
  [[nodiscard]] int receive_fd(const Gid& local) const;
  /// Appends to `own` those of the packets that are for this process, and forwards the others. Only
  /// with UdpConfig::sharing.
  void sort(const PacketRun& packets, std::vector<RxPacket>& own);

 private:
  // The data of epoll events: the index of a receiver, or one of these.
  static constexpr uint32_t kSharingId = 0xffffffff;
  static constexpr uint32_t kBlockedId = 0xfffffffe;
  static constexpr uint32_t kTimerId = 0xfffffffd;

  struct Receiver {
    Gid local;  ///< or a multicast group
    FileDescriptor fd;
    std::unique_ptr<PortCalibration> calibration;
  };

  [[nodiscard]] bool watch(int fd, uint32_t id, uint32_t events) const;
  void watch_blocked_sockets();
  void watch_room(int fd, bool on) const;
  void read_receiver(Receiver& receiver);
  void read_rest(Receiver& receiver);
  void pass_on_rest(Receiver& receiver);
  void take_from_others();
  void look_around();
  struct Readable {
    bool others = false;  ///< the sockets to which other processes send
    std::optional<size_t> receiver;
  };
  [[nodiscard]] Readable find_readable();
  void take(Receiver& receiver, const PacketRun& datagram);
  void take_probe(Receiver& receiver, const Flow& flow, const Probe& probe);
  void take_answers();
  void went_astray(Receiver& receiver);
  void start_ticking();
  void tick();
  void set_timer(Duration period);
  void meet_others(Receiver& receiver);
  void search_before_leaving(Receiver& receiver);
  [[nodiscard]] Receiver* find_receiver(const Gid& address);
  [[nodiscard]] Expected<FileDescriptor, EngineError> open_receive_socket(const Gid& local) const;
  [[nodiscard]] Receiver* add_receiver(const Gid& address, FileDescriptor fd);

  UdpConfig config_;
  UdpCounters counters_;
  FileDescriptor epoll_;
  FileDescriptor timer_;  ///< makes wait_fd() readable now and then while ticking_
  UdpSender sender_;
  DatagramReader reader_;
  std::vector<Receiver> receivers_;
  std::vector<RxPacket> packets_;     ///< returned by receive()
  std::vector<ProbeAnswer> answers_;  ///< to be taken
  size_t busy_ = 0;                   ///< index of the receiver that received last
  bool expect_more_ = false;          ///< the last read found something
  bool returned_packets_ = true;      ///< the last receive() returned some
  unsigned calls_until_look_ = 0;
  unsigned looks_for_requests_ = 0;   ///< since requests from other processes wait
  bool searching_ = false;            ///< a calibration is busy
  bool ticking_ = false;              ///< the same, or packets wait in config_.sharing
  Instant timer_due_{};               ///< when the timer becomes readable, while ticking_
  Instant next_tick_{};               ///< tick() has nothing to do before
  std::vector<int> watched_blocked_;  ///< wait_fd() tells when they have room again
};

}  // namespace urxe
