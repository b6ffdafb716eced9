// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/udp/message_headers.h"
#include "packet/engine/udp/send_backlog.h"
#include "packet/engine/udp/send_sockets.h"
#include "packet/engine/udp/udp_counters.h"
#include "packet/host/socket_address.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// The sending half of a UdpEngine.
class UdpSender {
 public:
  /// `counters` outlives this. `segmentation`: try the kernel's.
  UdpSender(const UdpSocketOptions& options, size_t max_source_ports, bool segmentation,
            Duration patience, UdpCounters& counters);

  void open_address(const Gid& local, int receiver);
  void close_address(const Gid& local);
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted);
  void release_source_port(const Gid& local, uint16_t port);
  [[nodiscard]] bool segments() const { return segments_; }

  /// As EngineLane::transmit(). Messages for which a socket buffer has no room are kept, within
  /// bounds per socket; flush() sends them, or transmit() ahead of the next batch. Those of other
  /// sockets do not wait for them. What is beyond the bounds stays in the batch.
  size_t transmit(TxBatch& batch);
  void flush();
  /// The sockets whose buffers are full: each has a backlog.
  [[nodiscard]] std::span<const int> blocked_fds() const { return blocked_fds_; }
  /// The number of sockets that it sends from.
  [[nodiscard]] size_t sockets() const;

 private:
  using Messages = std::span<const TxBatch::Message>;
  /// How far a run of messages has got.
  struct Progress {
    size_t done = 0;  ///< messages sent, delayed or lost
    enum class Stop : uint8_t { kEnd, kBufferFull, kSegmentationFailed } why = Stop::kEnd;
  };

  bool send_express(const TxBatch& batch);
  int find_socket(const Flow& flow);
  SendSockets* find_address(const Gid& local);
  Progress::Stop send_batch(TxBatch& batch);
  Progress send(Messages messages, const uint8_t* memory);
  Progress send_run(int fd, Messages run, const uint8_t* memory);
  int send_one(int fd, const TxBatch::Message& message, const uint8_t* memory);
  int send_burst(int fd, Messages burst, const uint8_t* memory);
  bool segmentation_is_to_blame(int fd, const TxBatch::Message& message, const uint8_t* memory,
                                int errno_value);
  void count_sent(Messages messages);
  void count_lost(const TxBatch::Message& message, int errno_value);
  void delay(int fd, Messages messages, const uint8_t* memory);
  [[nodiscard]] bool gives_up(SendBacklog& backlog) const;
  [[nodiscard]] bool is_blocked(int fd) const;
  void prepare_backlogs();
  SendBacklog* block(int fd);
  void unblock(size_t index);
  void flush(int fd, SendBacklog& backlog);
  void forget_closed_sockets();
  void lose_if_closed(size_t index);

  UdpSocketOptions options_;
  size_t max_source_ports_;
  bool segments_;
  Duration patience_;  ///< with a socket that takes nothing
  UdpCounters& counters_;
  HeldPorts ports_;
  std::vector<SendSockets> addresses_;
  std::vector<int> blocked_fds_;
  std::vector<std::unique_ptr<SendBacklog>> backlogs_;  ///< of blocked_fds_, in the same order
  std::vector<std::unique_ptr<SendBacklog>> spares_;    ///< for those that will be blocked

  std::vector<TxBatch::Message> left_;  ///< of the batch at hand, without room

  // The socket that was used last.
  Gid last_source_;
  uint16_t last_port_ = 0;
  int last_fd_ = -1;

  /// The flow of the last single packet that needs no control message: a short cut for latency.
  struct Express {
    Flow flow;
    SocketAddress to;
    int fd = -1;
  } express_;

  MessageHeaders headers_;
};

}  // namespace urxe
