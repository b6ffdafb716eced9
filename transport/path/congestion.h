// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "packet/wire/gid.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

/// The state shared by the queue pairs that send to one peer, since they share its receive buffer:
/// the window, the round-trip time, and the list of those that wait for room. The window grows with
/// acknowledgements and halves, at most once per round trip, with loss. (In transport/, "path"
/// means this. "Primary path" and "alternate path" are the specification's terms, of path migration
/// and of the CM's messages; the addresses and ports of a packet are its flow.)
class Path {
 public:
  explicit Path(uint32_t max_window) : max_window_(max_window) {}

  [[nodiscard]] bool has_room() const { return in_flight_ < window_; }
  [[nodiscard]] uint32_t room() const { return in_flight_ < window_ ? window_ - in_flight_ : 0; }
  [[nodiscard]] uint32_t window() const { return window_; }
  [[nodiscard]] uint32_t in_flight() const { return in_flight_; }
  void change_in_flight(int32_t packets) { in_flight_ += static_cast<uint32_t>(packets); }

  void on_acknowledged(uint32_t packets);
  /// Halves the window. False: not again for the same loss.
  bool on_loss(Instant now);
  void on_round_trip(Duration sample);
  /// How long to wait for an answer before a probe, from the measured round trips.
  [[nodiscard]] Duration probe_timeout() const;

  IntrusiveList<QueuePair, struct WaitingTag>
      waiting;  ///< queue pairs with requests that found no room
  uint32_t references = 0;

 private:
  static constexpr uint32_t kInitialWindow = 32;
  static constexpr uint32_t kMinWindow = 4;

  uint32_t max_window_;
  uint32_t window_ = std::min(kInitialWindow, max_window_);
  uint32_t slow_start_threshold_ = UINT32_MAX;
  uint32_t acknowledged_ = 0;  ///< since the window last grew by one
  uint32_t in_flight_ = 0;     ///< packets; includes READ responses asked for
  Instant last_loss_{INT64_MIN / 2};
  Duration smoothed_{};
  Duration variation_{};
};

/// Activates as many of the queue pairs that wait for room on the path as there is room for.
void wake_waiting(ChannelAdapter& ca, Path& path);

/// The paths of one device, by the peer's address and the upper bits of its queue pair number: for
/// urxe peers these name the process, and so the receive buffer.
class PathTable {
 public:
  Path* acquire(const Gid& destination, uint32_t qpn, uint32_t max_window);
  void release(Path* path);

 private:
  struct Key {
    Gid destination;
    uint32_t process;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::unique_ptr<Path>, Hash> paths_;
};

}  // namespace urxe
