// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/engine/raw/rx_ring.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/ethernet/frame_batch.h"
#include "packet/wire/ethernet/frame_match.h"
#include "packet/wire/ethernet/rx_frame.h"

namespace urxe {

/// Whole Ethernet frames of an interface, by packet sockets: for queue pairs for raw packets,
/// beside the engine of RoCE packets. The kernel gets a copy of all that arrives, as ever. Not
/// thread-safe, except that any thread may wait on the descriptors and call clear_error().
class FramePort {
 public:
  /// Frames that the port has lost.
  struct Counters {
    uint64_t send_lost = 0;
    uint64_t receive_lost = 0;
  };

  /// In the calling thread's network namespace. EPERM without CAP_NET_RAW. It receives nothing
  /// until subscribe().
  static Expected<std::unique_ptr<FramePort>, EngineError> open(uint32_t ifindex);
  ~FramePort();
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;

  /// Receives from now on at least the frames that somebody is interested in, and makes the
  /// interface take them. The first call allocates the ring: ENOMEM and the like.
  Expected<void, EngineError> subscribe(const FrameInterest& interest);

  /// Takes frames that have arrived, as many as one burst. Never blocks. VLAN tags are in their
  /// place, checksums are filled in, and frames that were joined are apart again. Valid until the
  /// next call.
  std::span<const RxFrame> receive();

  /// Sends what the socket's buffer has room for, and removes it from the batch. Frames that cannot
  /// be sent at all are lost and counted.
  void transmit(FrameBatch& batch);

  [[nodiscard]] Counters counters();
  /// Readable while receive() would return something.
  [[nodiscard]] int receive_fd() const { return receiver_.get(); }
  /// Writable when transmit() has room again.
  [[nodiscard]] int transmit_fd() const { return sender_.get(); }
  /// After POLLERR on the receiving descriptor: the link is down. Otherwise nobody could sleep.
  static void clear_error(int fd);
  /// For a forked child: the memory is the parent's.
  void abandon();

 private:
  FramePort(uint32_t ifindex, FileDescriptor receiver, FileDescriptor sender);

  Expected<void, EngineError> start();
  void set_membership(const FrameInterest& interest);
  void take(RxRing::Frame& frame);
  void take_segments(const RxRing::Frame& frame, FrameHeaders::Transport transport, RxFrame::To to);
  void count_lost_in_ring();

  /// What the interface must take: a type of packet_mreq, and an address.
  struct Membership {
    uint16_t type = 0;
    MacAddress address{};
    friend bool operator==(const Membership&, const Membership&) = default;
  };
  [[nodiscard]] bool change(int option, const Membership& membership) const;

  uint32_t ifindex_;
  FileDescriptor receiver_;
  FileDescriptor sender_;
  std::optional<RxRing> ring_;
  bool receives_ = false;
  std::vector<Membership> memberships_;
  std::vector<RxFrame> frames_;         ///< returned by receive()
  std::unique_ptr<uint8_t[]> scratch_;  ///< frames that were joined
  size_t scratch_used_ = 0;
  Counters counters_;
};

}  // namespace urxe
