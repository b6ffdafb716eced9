// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "transport/device/device.h"

namespace urxe::test {

/// The two hosts of a Pair, and the network between them.
struct PairOptions {
  uint32_t connections = 1;
  uint32_t lanes = 1;                   ///< of each device; the connections have them in turn
  Duration latency = microseconds(10);  ///< one way
  Duration service[2] = {microseconds(1), microseconds(1)};  ///< to take one packet from the socket
  size_t receive_buffer = 0;  ///< of each socket, as Linux counts; 0: no limit
  uint32_t segments = 15;     ///< of a datagram, at most
  double loss = 0;            ///< of all packets, each way
  uint64_t seed = 1;          ///< chooses those that are lost
  uint32_t sq_depth = 8;
  sim::ConnectOptions connect;

  PairOptions() { connect.mtu = IBV_MTU_4096; }
};

/// Two devices in virtual time with connected queue pairs, one each side a connection. Side 0
/// posts. The network loses what the options say; a socket buffer that is full does. Each host is
/// one processor: it takes datagrams from its socket in bursts, which takes time, then lets its
/// device transmit: of several lanes each, in an order that the seed chooses.
class Pair {
 public:
  explicit Pair(const PairOptions& options);

  /// Side 0 of connection `index` posts a request of `length` bytes. False: its queue is full.
  bool post(uint32_t index, ibv_wr_opcode opcode, uint32_t length);
  /// Runs until `done()`; false: an hour of virtual time was not enough.
  bool run_until(const std::function<bool()>& done);
  /// Runs for that time.
  void run_for(Duration duration);

  /// Of the first lane, as device().
  [[nodiscard]] const Counters& counters(int side) const {
    return hosts_[side]->lanes[0]->counters();
  }
  [[nodiscard]] Device& device(int side) { return *hosts_[side]->lanes[0]; }
  /// The lane of a connection.
  [[nodiscard]] Device& lane(int side, uint32_t index) {
    return *hosts_[side]->lanes[index % options_.lanes];
  }
  [[nodiscard]] QueuePair& qp(int side, uint32_t index) { return *hosts_[side]->qps[index]; }
  [[nodiscard]] uint64_t succeeded() const { return succeeded_; }
  [[nodiscard]] uint64_t failed() const { return failed_; }
  /// Successes of one connection.
  [[nodiscard]] uint64_t succeeded(uint32_t index) const { return by_connection_[index]; }
  /// Packets that did not fit a socket's buffer.
  [[nodiscard]] uint64_t overflowed() const { return overflowed_; }
  [[nodiscard]] Instant now() const { return now_; }
  /// Called for each completion of side 0, with the connection's index.
  std::function<void(uint32_t)> on_completion;
  /// Where side 0 writes and reads; all connections use the same memory.
  std::vector<uint8_t> local, remote;

 private:
  struct Datagram {
    std::vector<uint8_t> bytes;
    Flow flow;
    size_t segment_size = 0;
    size_t segments = 0;
    size_t first = 0;  ///< of the segments, in the datagram that was sent
    [[nodiscard]] size_t room() const;
  };
  struct Host {
    Host(const PairOptions& options, int side, std::vector<uint8_t>& memory);
    ~Host();
    [[nodiscard]] Device& lane_for(const uint8_t* packet) const;
    [[nodiscard]] bool doorbell_pending() const;
    [[nodiscard]] Instant next_deadline() const;

    std::vector<std::unique_ptr<Device>> lanes;
    TxBatch batch;
    PdId pd;
    CompletionQueue* cq = nullptr;
    MemoryRegion* region = nullptr;
    std::vector<QueuePair*> qps;
    std::deque<Datagram> socket;
    size_t buffered = 0;
    Instant busy_until{};
  };

  void connect(uint32_t index);
  void arrive(int side, Datagram datagram);
  void drive(int side);
  void send(int side);
  void send(int side, Device& lane);
  void carry(int side, Datagram datagram);
  void poll(int side);
  [[nodiscard]] Instant next_turn(int side) const;
  bool step(Instant until);

  PairOptions options_;
  std::unique_ptr<Host> hosts_[2];
  std::multimap<Instant, std::pair<int, Datagram>> network_;
  std::mt19937_64 random_;
  Instant now_{1'000'000'000};
  uint64_t succeeded_ = 0;
  uint64_t failed_ = 0;
  uint64_t overflowed_ = 0;
  std::vector<uint64_t> by_connection_;
};

}  // namespace urxe::test
