// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/engine/forwarding_engine.h"
#include "packet/engine/shm/links.h"
#include "packet/engine/shm/own_packets.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/slots/slots.h"

namespace urxe {

struct ShmConfig {
  const Slot* slot = nullptr;    ///< this process's; outlives the engine
  uint32_t interface_index = 0;  ///< the device's
  /// How long a closing engine waits for room for the packets that still wait: far longer than
  /// another process that takes its packets needs. One that is stopped loses them.
  Duration last_wait = milliseconds(100);
  /// How long packets wait for room if another process takes nothing, before they are lost.
  Duration patience = kUsualPatience;
};

/// Wraps an engine, and carries packets between processes of one user on one host through memory
/// instead: packets to an address of this host that the process with the slot of the destination
/// queue pair has open, once the two have a link (links.h), or that are for this process itself.
/// Everything else goes by the inner engine: packets to QP1 and to groups, to other hosts, to
/// processes that have no link. It has one lane, around the inner engine's first.
///
/// Packets are as the inner engine's: the same batches and identifications. Those that go through
/// memory need no ICRC, and have none unless the batch comes with them; the others get theirs here.
class ShmEngine final : public ForwardingEngine, public ForwardingLane {
 public:
  /// More than one receive() returns: it must not allocate.
  static constexpr size_t kPacketsReserved = 4 * kUsualPacketsAtOnce;

  ShmEngine(std::unique_ptr<PacketEngine> inner, const ShmConfig& config);
  ~ShmEngine() override;
  ShmEngine(const ShmEngine&) = delete;
  ShmEngine& operator=(const ShmEngine&) = delete;

  [[nodiscard]] size_t lanes() const override { return 1; }
  [[nodiscard]] EngineLane& lane(size_t /*index*/) override { return *this; }
  [[nodiscard]] EnginePromises promises() const override {
    EnginePromises promises = inner().promises();
    promises.integrity = promises.integrity || links_ != nullptr;
    if (links_ != nullptr) {
      promises.elsewhere_from = std::min(promises.elsewhere_from, kLongestCopied);
    }
    return promises;
  }
  Expected<void, EngineError> open_address(const Gid& local) override;
  /// The links keep the address: what the peer sends to it comes as before.
  void close_address(const Gid& local) override;
  void leave() override;
  void abandon() override;
  /// Looks at the rings every time, and at the inner engine rarely while packets come through
  /// memory. Also sends packets that waited for room in a ring.
  std::span<const RxPacket> receive() override;
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] EngineCounters totals() const override;
  [[nodiscard]] int wait_fd() const override;
  [[nodiscard]] bool begin_wait() override;
  void end_wait() override;
  [[nodiscard]] bool reads_memory() const override { return took_memory_; }

  [[nodiscard]] const ShmCounters& counters() const { return counters_; }

 private:
  /// Payloads of fewer bytes are not worth the steps that a scattered message takes, if they go to
  /// the inner engine after all.
  static constexpr size_t kLongestCopied = 2048;

  [[nodiscard]] bool send(const TxBatch& batch, const TxBatch::Message& message);
  [[nodiscard]] bool send_to_self(const TxBatch::Message& message, const uint8_t* memory);
  [[nodiscard]] bool take_own();
  void forget_closed();
  void hand_on(const PacketRun& run, bool numbered, bool sealed);
  void try_again();
  void send_rest();
  void look_around();
  [[nodiscard]] bool must_read_sockets_first(Link& link);
  [[nodiscard]] bool read_sockets_first();
  bool take_from_links(bool inner_was_read);
  void take_from(Link& link, size_t& room);
  [[nodiscard]] bool take(Link& link, const RingReader::Record& record);
  [[nodiscard]] bool is_inners_turn();
  std::span<const RxPacket> receive_from_inner();
  void flush();

  ShmConfig config_;
  bool gathers_for_inner_;
  ShmCounters counters_;
  FileDescriptor epoll_;          ///< watches the inner engine, the bell, and what the links need
  FileDescriptor bell_;           ///< other processes ring it while this one sleeps
  std::vector<Gid> addresses_;    ///< opened, at most LinkEnd::kAddresses
  std::vector<Gid> closed_;       ///< of these: another host may have them now
  std::unique_ptr<Links> links_;  ///< null: not possible, or over
  OwnPackets own_;
  std::vector<RxPacket> packets_;
  std::vector<TxBatch::Message> left_;  ///< of the batch at hand, without room in a link
  size_t first_ = 0;                    ///< the link to be read first
  bool sleeps_ = false;                 ///< between begin_wait() and end_wait()
  bool took_memory_ = false;            ///< the last receive() did
  bool inner_has_more_ = true;          ///< it returned packets the last time, or nobody knows
  uint32_t calls_until_look_ = 0;
  uint32_t calls_without_inner_ = 0;   ///< and what counts as calls
  uint32_t looks_in_vain_ = 0;         ///< at the inner engine, in a row, up to a limit
  uint32_t quiet_calls_ = UINT32_MAX;  ///< since packets came through memory
};

}  // namespace urxe
