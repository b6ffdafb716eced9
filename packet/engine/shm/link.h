// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/shm/memory.h"
#include "packet/engine/shm/ring.h"
#include "packet/engine/udp/send_backlog.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// Packets that a ShmEngine has carried through memory.
struct ShmCounters {
  uint64_t sent_packets = 0;
  uint64_t sent_bytes = 0;
  uint64_t received_packets = 0;
  uint64_t received_bytes = 0;
  uint64_t delayed = 0;       ///< packets kept until the ring had room
  uint64_t backlog_lost = 0;  ///< packets that found no room, to a peer that took nothing
  uint64_t broken_links = 0;  ///< closed because the peer wrote something that no urxe writes
  uint64_t wakeups = 0;       ///< processes woken
};

/// Wakes a process that sleeps on the eventfd that it has passed to this one. Whether `fd` is one:
/// a write to anything else might block or raise a signal.
bool is_bell(int fd);

/// A process of this host to which packets go, and from which they come, through memory.
///
/// A link is asked for, then up; when its connection ends it is read until its ring is empty.
class Link {
 public:
  enum class State : uint8_t { kAsked, kUp, kEnding, kEnded };

  /// `number`: the end of the memory that this process has. `addresses`: those that it has opened,
  /// of which it tells the peer. `counters` outlive this.
  Link(uint32_t slot, FileDescriptor connection, LinkMemory memory, unsigned number,
       const std::vector<Gid>& addresses, Duration patience, ShmCounters& counters);

  [[nodiscard]] uint32_t slot() const { return slot_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int connection() const { return connection_.get(); }
  /// Tells the peer of another address. At most LinkEnd::kAddresses in all; one that is ending
  /// needs no more.
  void add_address(const Gid& address);

  /// The other process has the memory and can be woken by `bell`.
  void come_up(FileDescriptor bell, uint32_t interface_index, Instant now);
  /// The connection is over: nothing more is sent, and the rest in the ring is read.
  void end();
  /// Nothing is read any more, either.
  void give_up() { state_ = State::kEnded; }

  // Sending:

  /// Whether both processes have the addresses of the flow open.
  [[nodiscard]] bool reaches(const Flow& flow, uint32_t interface_index);
  /// Whether packets go through memory by now; if not, they go by UDP. They must not overtake
  /// those that went by UDP before. So the receiver reads its sockets until they are empty before
  /// it begins to read the ring; and the sender begins to write to it only when no packet was for
  /// the peer for 0.1 ms, or when the link has been up for 2 ms and no packet waits for room in a
  /// socket (`udp_waits`), or after 50 ms in any case.
  [[nodiscard]] bool may_send() const { return may_send_; }
  /// Asks the same for a packet that is to be sent now.
  [[nodiscard]] bool begin_to_send(Instant now, bool udp_waits);
  /// Sends packets whose flow the link reaches, or keeps them until there is room. False: there is
  /// no room to keep them, and none for what follows until try_again(). If the peer has taken
  /// nothing for long, they are lost instead. `asleep`: nobody is going to call flush() unless the
  /// peer wakes this process.
  [[nodiscard]] bool send(const TxBatch::Message& message, const uint8_t* memory, bool asleep);
  void try_again() {
    if (backlog_ != nullptr) backlog_->try_again();
  }
  [[nodiscard]] bool has_waiting() const { return backlog_ != nullptr && !backlog_->empty(); }
  /// Sends packets that waited, as far as there is room now.
  void flush();

  // Receiving:

  [[nodiscard]] bool has_next() const {
    return (state_ == State::kUp || state_ == State::kEnding) && reader_.has_next();
  }
  [[nodiscard]] RingReader::Result read(RingReader::Record& record) {
    const auto result = reader_.read(record);
    if (result == RingReader::Result::kRecord) mapped_to_read_.use(reader_.end_of_last());
    return result;
  }
  [[nodiscard]] const Gid* peer_address(uint8_t index) { return peer_addresses_.at(index); }
  [[nodiscard]] const Gid* own_address(uint8_t index) const {
    return index < addresses_.size() ? &addresses_[index] : nullptr;
  }
  /// Frees what was read. The packets are no longer valid.
  void free();
  /// Whether the ring may be read: the sockets were empty after its first record was there.
  [[nodiscard]] bool sockets_were_empty() const { return sockets_were_empty_; }
  void note_sockets_empty() { sockets_were_empty_ = true; }

  // Sleeping. The order is: the sleeper says that it sleeps, a fence, the sleeper looks a last
  // time. And on the other side: a change, a fence, a look whether the peer sleeps.

  void say_asleep();
  void say_awake();
  /// After say_asleep() and a fence: whether there is something to do.
  [[nodiscard]] bool has_work();

 private:
  [[nodiscard]] bool write(const TxBatch::Message& message, const uint8_t* memory);
  [[nodiscard]] bool delay(const TxBatch::Message& message, const uint8_t* memory);
  void wake_peer(std::atomic<uint32_t>& word);

  uint32_t slot_;
  State state_ = State::kAsked;
  FileDescriptor connection_;
  FileDescriptor bell_;  ///< the peer's
  LinkMemory memory_;
  std::vector<Gid> addresses_;  ///< this process's, by their numbers in the memory
  Duration patience_;           ///< with a peer that takes nothing
  ShmCounters& counters_;
  LinkEnd& own_;
  LinkEnd& peer_;
  RingWriter writer_;
  RingReader reader_;
  MappedAhead mapped_to_write_;
  MappedAhead mapped_to_read_;
  PeerAddresses peer_addresses_;
  uint32_t peer_interface_ = 0;
  bool sockets_were_empty_ = false;
  bool may_send_ = false;
  Instant up_since_{};
  Instant last_by_udp_{};
  std::unique_ptr<SendBacklog> backlog_;
};

}  // namespace urxe
