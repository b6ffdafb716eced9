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

/// The room that a packet of `bytes` takes in the receiver's socket buffer, as Linux counts
/// (measured on 6.18: a datagram of 16 B takes 832, of 1040 B 2304, of 4112 B 8448; a segmented one
/// of 15 times 4112 B takes 62512). An upper bound; `joins`: the packet is a further segment of a
/// datagram.
constexpr uint32_t receive_room(size_t bytes, bool joins) {
  return static_cast<uint32_t>(joins ? bytes + 64 : 2 * bytes + 768);
}

/// A window of so many bytes is wide: if a peer takes its time for an ACK, there is still room.
inline constexpr uint32_t kWideWindow = 512 * 1024;

/// The state shared by the queue pairs that send to one peer, since they share its receive buffer:
/// the window, the round-trip time, and the line of those that wait for room. The window is counted
/// in bytes of the receiver's buffer (receive_room()). It grows with acknowledgements and halves,
/// at most once per round trip, with loss. Queue pairs take turns: the one whose turn it is may
/// send a number of packets in a row, so that they share datagrams, system calls and ACKs. (In
/// transport/, "path" means this. "Primary path" and "alternate path" are the specification's
/// terms, of path migration and of the CM's messages; the addresses and ports of a packet are its
/// flow.)
class Path {
 public:
  /// `in_flight_of_all`: the sum that this path's in_flight() is part of; null: none.
  explicit Path(uint32_t max_window, uint64_t* in_flight_of_all = nullptr)
      : socket_window_(std::max(max_window, kMinWindow)), in_flight_of_all_(in_flight_of_all) {}

  /// Whether somebody may begin a turn. The packets of one turn may go beyond the window.
  [[nodiscard]] bool has_room() const { return in_flight_ < window_; }
  [[nodiscard]] uint32_t window() const { return window_; }
  [[nodiscard]] uint32_t in_flight() const { return in_flight_; }
  /// Whether there will still be room after a whole turn.
  [[nodiscard]] bool has_room_for_turn() const { return in_flight_ + turn() < window_; }
  /// The room that one turn may use.
  [[nodiscard]] uint32_t turn() const { return std::min(window_ / 4, kMaxTurn); }
  void take(uint32_t room) {
    in_flight_ += room;
    if (in_flight_of_all_ != nullptr) *in_flight_of_all_ += room;
  }
  void give_back(uint32_t room) {
    in_flight_ -= room;
    if (in_flight_of_all_ != nullptr) *in_flight_of_all_ -= room;
  }

  /// An answer has come through memory of both processes, where nothing is lost for want of room.
  /// The window may grow to `max_window`, until packets are lost: these went another way.
  void on_answer_through_memory(uint32_t max_window, Instant now) {
    if (max_window > max_window_ && !is_lossy(now)) max_window_ = max_window;
  }
  /// Packets that took `room` were acknowledged.
  void on_acknowledged(uint32_t room);
  /// Halves the window. False: not again for the same loss.
  bool on_loss(Instant now);
  /// One packet of `mtu` bytes was lost, and those behind it were not: halves the window only if
  /// more than some percent are lost.
  bool on_single_loss(uint32_t mtu, Instant now);
  void on_round_trip(Duration sample);
  /// A packet is known to have been lost: not only is there no answer.
  void note_loss(Instant now) { last_known_loss_ = now; }
  /// Whether packets are known to have been lost lately, and a round trip was measured: silence is
  /// then rather one more loss than a peer that takes its time.
  [[nodiscard]] bool is_lossy(Instant now) const {
    return smoothed_.ns != 0 && now - last_known_loss_ < kLossesAreRecent;
  }
  /// A packet that was sent at `sent` was answered.
  void on_answer(Instant sent, Instant now) {
    newest_answered_ = std::max(newest_answered_, sent);
    last_answer_ = now;
  }
  /// Whether a packet that was sent at `sent` is still behind others in the queues of the path:
  /// there are answers, recent ones, to earlier packets only. If it were lost, later ones would be
  /// answered.
  [[nodiscard]] bool is_behind_others(Instant sent, Instant now) const {
    return sent > newest_answered_ && last_answer_ > sent && now - last_answer_ < probe_timeout();
  }
  /// 0: none was measured.
  [[nodiscard]] Duration round_trip() const { return smoothed_; }
  /// A bound of the round-trip time, from what was measured; 0: nothing was.
  [[nodiscard]] Duration round_trip_bound() const;
  /// How long to wait for an answer before a probe.
  [[nodiscard]] Duration probe_timeout() const;
  /// The same, if it is known that packets are lost and one sent in vain costs little.
  [[nodiscard]] Duration repair_timeout() const;

  /// Whether the peer has shown that it keeps what comes behind a gap.
  [[nodiscard]] bool keeps_what_follows() const { return keeps_what_follows_; }
  void set_keeps_what_follows(bool keeps) { keeps_what_follows_ = keeps; }

  // The line. A queue pair with nothing in flight that comes late must not wait until all the
  // others had their turn: there are two lines, and the turns go to them alternately.

  /// Whether the queue pair, which has no turn, may begin one now. If not it is in line afterwards.
  bool begin_turn(QueuePair& qp, bool nothing_in_flight);
  /// The queue pair has ended its turn, or had nothing to send in it: the next one has its turn, if
  /// there is room. True: that is the same queue pair again.
  bool end_turn(ChannelAdapter& ca, QueuePair& qp);
  /// There may be room now: activates the next one in line.
  void wake_next(ChannelAdapter& ca);
  /// The queue pair does not wait any more.
  void leave_line(ChannelAdapter& ca, QueuePair& qp);
  [[nodiscard]] bool somebody_waits() const { return !fresh_.empty() || !waiting_.empty(); }

  uint32_t references = 0;

 private:
  static constexpr uint32_t kInitialWindow = 128 * 1024;
  static constexpr uint32_t kMinWindow = 16 * 1024;
  static constexpr uint32_t kMaxTurn = 64 * 1024;
  static constexpr Duration kLossesAreRecent = seconds(1);
  static constexpr uint32_t kGrowth = 8192;  ///< a window, without loss, after the slow start

  uint32_t socket_window_;  ///< the largest window if the peer receives by a socket
  uint32_t max_window_ = socket_window_;
  uint32_t window_ = std::min(kInitialWindow, max_window_);
  uint32_t slow_start_threshold_ = UINT32_MAX;
  uint32_t acknowledged_ = 0;  ///< since the window last grew by kGrowth
  uint32_t in_flight_ = 0;     ///< includes READ responses asked for
  uint64_t* in_flight_of_all_;
  uint32_t loss_debt_ = 0;  ///< grows with single losses, shrinks with what is acknowledged
  bool keeps_what_follows_ = false;
  Instant last_loss_{INT64_MIN / 2};  ///< that halved the window
  Instant last_known_loss_{INT64_MIN / 2};
  Duration smoothed_{};
  Duration variation_{};
  Instant newest_answered_{INT64_MIN / 2};  ///< when the newest answered packet was sent
  Instant last_answer_{INT64_MIN / 2};
  IntrusiveList<QueuePair, struct WaitingTag> fresh_;    ///< have nothing in flight
  IntrusiveList<QueuePair, struct WaitingTag> waiting_;  ///< have had a turn
  QueuePair* called_ = nullptr;                          ///< was activated and has its turn next
  bool fresh_was_last_ = false;
};

/// The paths of one device, by the peer's address and the upper bits of its queue pair number: for
/// urxe peers these name the process, and so the receive buffer.
class PathTable {
 public:
  Path* acquire(const Gid& destination, uint32_t qpn, uint32_t max_window);
  void release(Path* path);
  /// The sum of Path::in_flight() of all.
  [[nodiscard]] uint64_t in_flight() const { return in_flight_; }

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
  uint64_t in_flight_ = 0;
};

}  // namespace urxe
