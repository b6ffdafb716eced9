// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/spare_sockets.h"
#include "packet/sharing/forwarding/forward_queue.h"
#include "packet/sharing/forwarding/forwarding.h"
#include "packet/sharing/gsi/gsi_sharing.h"
#include "packet/sharing/sharing_counters.h"
#include "packet/sharing/slots/slots.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// This process's part in sharing the addresses of an interface with the other processes of its
/// user; README.md in this folder tells the whole story.
///
/// An engine gives it every datagram that arrives at a shared address. It hands back the packets
/// that belong to this process and forwards the others to the processes that own them. It also
/// receives what other processes forward to this one. The consumer of the connection manager says
/// here which services the process listens for.
///
/// Not thread-safe. It outlives the engine that uses it.
class AddressSharing {
 public:
  /// `slot` outlives this.
  AddressSharing(const Slot& slot, uint32_t interface_index);
  AddressSharing(const AddressSharing&) = delete;
  AddressSharing& operator=(const AddressSharing&) = delete;

  // For the consumer of the connection manager:

  /// From now on requests for `service` that any process of the host receives on `local`, or
  /// (nullopt) on any address of the interface, come to this process. EADDRINUSE: a process,
  /// perhaps this one, listens for it there; otherwise as ServiceDirectory::listen().
  Expected<void, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  // The same in steps; other calls may come in between, but not for that service. Only enter()
  // waits for other processes, see HolderTable::take(), and may run beside any other call.
  Expected<ServiceEntry, Errno> prepare_listening(ServiceId service,
                                                  const std::optional<Gid>& local);
  void start_listening(ServiceEntry entry);
  /// Undoes listen(). Does nothing if the process does not listen there.
  void stop_listening(ServiceId service, const std::optional<Gid>& local);

  /// To be called before an engine opens the address. Without a spare socket for it, its socket
  /// belongs to the user that the process has then, whose other programs must share the directory.
  /// Errors as SharingDirectory::check_alone().
  Expected<void, EngineError> follow_user(const Gid& local);

  // For the engine:

  /// The sockets for addresses, if the process has become another user.
  [[nodiscard]] SpareSockets& spare_sockets() { return spare_sockets_; }
  [[nodiscard]] uint32_t slot() const { return slot_.number(); }
  /// Whether other processes may share the addresses now.
  [[nodiscard]] bool has_company() const { return slot_.has_company(); }
  [[nodiscard]] ProgramPace program_pace(const Gid& local) const {
    return slot_.program_pace(local);
  }
  /// The slot's socket: other processes send to it.
  [[nodiscard]] int forward_fd() const { return slot_.forward_fd(); }
  /// Answers a probe of the process with the slot `to`. Never blocks. An answer that cannot be sent
  /// is lost.
  void answer(uint32_t to, const ProbeAnswer& answer) const;

  /// Appends to `own` the packets of `datagram` that are this process's, and forwards the others.
  /// Those in `own` point into the datagram. Returns true if a packet was for a queue pair of
  /// another process: the kernel should have given it to that process directly.
  [[nodiscard]] bool sort(const PacketRun& datagram, std::vector<RxPacket>& own);

  /// `is_direct(flow)` returns whether this process receives the flow's datagrams by itself, too,
  /// if their first packet is for it. Those that other processes forward are dropped then. Null: it
  /// receives none by itself.
  void set_direct(std::function<bool(const Flow&)> is_direct) { direct_ = std::move(is_direct); }

  /// Reads datagrams that other processes have sent to this one: appends forwarded packets to
  /// `own`, and answers to probes to `answers`. Never blocks. Packets of the call before are no
  /// longer valid. Does not always read all of them; wait_fd() is then still readable.
  void receive(std::vector<RxPacket>& own, std::vector<ProbeAnswer>& answers);
  /// Whether receive() has read requests to QP1 that have not been taken. They have a socket of
  /// their own, and other messages to QP1 reach this process through others. So the engine reads
  /// its own sockets first: a request must not overtake an earlier message of its sender, such as
  /// the RTU of the previous connection.
  [[nodiscard]] bool has_requests() const { return !requests_.empty(); }
  /// Whether they may be taken: forward_fd() has been empty since they were read, or they have
  /// waited for that during one more call of receive().
  [[nodiscard]] bool may_take_requests() const { return has_requests() && !requests_wait_; }
  /// Appends them to `own`. They are valid until the next call of receive().
  void take_requests(std::vector<RxPacket>& own);
  /// As receive(), but reads only forward_fd().
  void receive_at_slot(std::vector<RxPacket>& own, std::vector<ProbeAnswer>& answers);
  /// Readable while receive() would find something.
  [[nodiscard]] int wait_fd() const { return epoll_.get(); }

  /// Whether packets wait for room at their owner's socket, or requests for a listener. While they
  /// do, the engine calls retry() about every millisecond.
  [[nodiscard]] bool has_waiting() const { return gsi_.has_waiting() || queue_.has_waiting(); }
  /// Whether packets wait for room at their owner's socket: the sooner retry() is called, the
  /// better.
  [[nodiscard]] bool is_congested() const { return queue_.has_waiting(); }
  void retry(Instant now);
  /// Whether retry() has found requests to be this process's after all.
  [[nodiscard]] bool has_returned() const { return !returned_.empty(); }
  /// Appends them to `own`. They are valid until the next call.
  void take_returned(std::vector<RxPacket>& own);

  /// The engine is about to end: waits a few milliseconds for packets that still wait for room in
  /// their owners' sockets.
  void finish();
  /// Drops the waiting packets: in a forked child they belong to the parent.
  void abandon() { queue_.clear(); }

  [[nodiscard]] const SharingCounters& counters() const { return counters_; }

 private:
  [[nodiscard]] bool watch(int fd, uint32_t id, uint32_t more = 0) const;
  void watch_services();
  size_t take_gsi(const PacketRun& datagram, size_t at, std::vector<RxPacket>& own);
  [[nodiscard]] bool forward(uint32_t slot, const PacketRun& packets);
  bool read(ForwardReader& reader, int fd, std::vector<RxPacket>& own,
            std::vector<ProbeAnswer>& answers);
  void take_forwarded(const PacketRun& packets, std::vector<RxPacket>& own);
  void retry_forwarding(Instant now);

  const Slot& slot_;
  SharingCounters counters_;
  std::function<bool(const Flow&)> direct_;
  ForwardReader reader_;            ///< of forward_fd()
  ForwardReader requests_reader_;   ///< of the socket for requests
  std::vector<RxPacket> requests_;  ///< that have been read, and not taken
  bool requests_wait_ = false;      ///< until forward_fd() is empty
  ForwardQueue queue_;
  GsiSharing gsi_;
  Beacon beacon_;
  SpareSockets spare_sockets_;
  std::optional<Beacon> later_beacon_;  ///< for another user, which the process has become
  bool watches_services_ = false;
  FileDescriptor epoll_;  ///< watches all sockets that other processes send to
  Instant retry_forwarding_at_{};
  std::deque<GsiSharing::Returned> returned_;  ///< to be taken
  std::deque<GsiSharing::Returned> taken_;     ///< those that take_returned() handed out
};

}  // namespace urxe
