// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/raw/frame.h"
#include "packet/engine/raw/raw_counters.h"
#include "packet/engine/raw/route_cache.h"
#include "packet/engine/udp/send_backlog.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// The sending half of a RawEngine: sends the messages that can go as frames through its packet
/// socket, and leaves the others to UDP. The kernel then does for those what frames cannot have
/// done: it asks for the neighbour's address, reports errors, fragments nothing.
class RawSender {
 public:
  /// `counters` outlives this.
  RawSender(int fd, RouteCache::Find find, Duration patience, RawCounters& counters);

  /// Sends what can go as frames, and removes it from the batch. Messages for which the socket's
  /// buffer has no room are kept, within bounds; flush() sends them, or transmit() ahead of the
  /// next batch. Returns those that there is no room for at all: the caller puts them back. `now`
  /// may be a little late.
  [[nodiscard]] std::span<const TxBatch::Message> transmit(TxBatch& batch, Instant now);
  void flush(Instant now);
  /// The socket will never have room again: what waits for it is lost.
  void drop_waiting();
  /// Whether messages wait for room in the socket's buffer.
  [[nodiscard]] bool is_blocked() const { return backlog_ != nullptr && !backlog_->empty(); }
  /// Whether packets of the flow leave by the interface, as frames or until then by UDP.
  [[nodiscard]] bool reaches(const Flow& flow, Instant now) {
    return routes_.lookup(flow, now).link.kind != LinkRoute::Kind::kOther;
  }
  /// The kernel has reported a change.
  void forget_routes(Instant now) { routes_.forget(now); }
  /// Whether the interface turned out to be gone.
  [[nodiscard]] bool is_gone() const { return gone_; }

 private:
  static constexpr size_t kBurst = 64;
  static constexpr size_t kPieces = 768;  ///< of a burst
  struct Headers {
    VnetHeader vnet;
    std::array<uint8_t, kMaxFrameHeaderBytes> bytes;
  };

  [[nodiscard]] bool take(const TxBatch::Message& message, const uint8_t* memory, Instant now);
  [[nodiscard]] bool fits(const TxBatch::Message& message, const LinkRoute& route) const;
  void set_priority(uint8_t priority);
  [[nodiscard]] bool has_room_for(const TxBatch::Message& message) const;
  void add(const TxBatch::Message& message, const uint8_t* memory, const LinkRoute& route);
  void send_or_delay(const uint8_t* memory);
  [[nodiscard]] size_t send_prepared();
  void forget_prepared() { count_ = used_pieces_ = 0; }
  [[nodiscard]] int send_from(size_t first);
  void count_sent(size_t first, size_t count);
  void count_lost(const TxBatch::Message& message, int errno_value);
  void delay(const TxBatch::Message& message, const uint8_t* memory);

  int fd_;
  RouteCache routes_;
  RawCounters& counters_;
  std::unique_ptr<SendBacklog> backlog_;
  Duration patience_;                   ///< with a socket that takes nothing
  std::vector<TxBatch::Message> left_;  ///< of the batch at hand, without room
  unsigned refused_segments_ = 0;  ///< messages in a row; at kTolerated UDP has them from then on
  bool gone_ = false;

  uint8_t priority_ = 0;  ///< of what the socket sends, SO_PRIORITY

  // The messages that the next system call sends. They have the same priority.
  size_t count_ = 0;
  std::array<TxBatch::Message, kBurst> messages_{};
  std::array<Headers, kBurst> headers_{};
  size_t used_pieces_ = 0;
  std::array<iovec, kPieces> pieces_{};
  std::array<mmsghdr, kBurst> calls_{};
};

}  // namespace urxe
