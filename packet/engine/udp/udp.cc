// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/udp.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/socket_room.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// Bursts read from a socket before it is closed: more than a full buffer of small packets.
constexpr int kLastBursts = 1000;

constexpr size_t kMaxSegments = 60;
constexpr size_t kMaxMessageBytes = 65000;
/// A shorter payload is copied sooner than the kernel takes two more pieces.
constexpr size_t kLeastPiece = 2048;

UdpSocketOptions socket_options(const UdpConfig& config) {
  return {config.interface_index, config.socket_buffer_bytes, config.segmentation};
}

Unexpected<EngineError> cannot_watch(const Gid& address, int why) {
  const char* const advice =
      why == ENOSPC ? ". What to do: raise fs.epoll.max_user_watches with sysctl" : "";
  return Unexpected<EngineError>(
      {why == ENOSPC ? ENOMEM : why,
       "cannot wait for packets to " + address.to_string() + ": " + std::strerror(why) + advice});
}

}  // namespace

UdpEngine::UdpEngine(const UdpConfig& config)
    : config_(config),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      sender_(socket_options(config), config.max_source_ports, config.segmentation, config.patience,
              counters_) {
  packets_.reserve(kUsualPacketsAtOnce);
  answers_.reserve(kUsualPacketsAtOnce);
  if (config_.sharing != nullptr) {
    timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    const bool is_watched = watch(timer_.get(), kTimerId, EPOLLIN) &&
                            watch(config_.sharing->wait_fd(), kSharingId, EPOLLIN);
    if (!is_watched) epoll_.reset();  // no address can be opened
  }
}

UdpEngine::~UdpEngine() {
  leave();
}

void UdpEngine::leave() {
  for (Receiver& receiver : receivers_) pass_on_rest(receiver);
  receivers_.clear();
  busy_ = 0;
  packets_.clear();
  if (config_.sharing != nullptr) config_.sharing->finish();
}

void UdpEngine::abandon() {
  receivers_.clear();
  if (config_.sharing != nullptr) config_.sharing->abandon();
}

/// While the program does not know the order of the sockets, the kernel may put packets for others
/// into ours; they would be lost with it. So it gets the order first, and we pass on what is there.
void UdpEngine::pass_on_rest(Receiver& receiver) {
  if (config_.sharing == nullptr || !receiver.fd || receiver.local.is_multicast()) return;
  if (receiver.calibration) {
    if (config_.sharing->has_company()) search_before_leaving(receiver);
    receiver.calibration->stop(clock_now());
    receiver.calibration.reset();
  }
  read_rest(receiver);
  receiver.fd.reset();
}

/// Forwards what has arrived for other processes.
void UdpEngine::read_rest(Receiver& receiver) try {
  for (int burst = 0; burst < kLastBursts; ++burst) {
    packets_.clear();
    read_receiver(receiver);
    if (!expect_more_) break;
  }
  packets_.clear();
} catch (const std::bad_alloc&) {
  packets_.clear();
}

/// False and errno, if fs.epoll.max_user_watches allows no more for instance.
bool UdpEngine::watch(int fd, uint32_t id, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u32 = id;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

UdpEngine::Receiver* UdpEngine::find_receiver(const Gid& address) {
  const auto found = std::ranges::find_if(
      receivers_, [&](const Receiver& r) { return r.fd && r.local == address; });
  return found != receivers_.end() ? &*found : nullptr;
}

/// Null and errno: no memory, or nothing would tell of what comes to the socket.
UdpEngine::Receiver* UdpEngine::add_receiver(const Gid& address, FileDescriptor fd) try {
  // Reuse the place of a group that was left: epoll remembers receivers by their index.
  auto place = std::ranges::find_if(receivers_, [](const Receiver& r) { return !r.fd; });
  if (place == receivers_.end()) place = receivers_.emplace(place);
  if (!watch(fd.get(), static_cast<uint32_t>(place - receivers_.begin()), EPOLLIN)) return nullptr;
  *place = {address, std::move(fd), nullptr};
  calls_until_look_ = 0;
  return &*place;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return nullptr;
}

Expected<FileDescriptor, EngineError> UdpEngine::open_receive_socket(const Gid& local) const {
  const bool ipv4 = local.is_ipv4();
  FileDescriptor spare;
  if (config_.sharing != nullptr) spare = config_.sharing->spare_sockets().take(ipv4);
  if (!spare) return urxe::open_receive_socket(local, socket_options(config_));
  auto bound = bind_receive_socket(spare.get(), local, socket_options(config_));
  if (bound) return spare;
  config_.sharing->spare_sockets().give_back(ipv4, std::move(spare));
  return Unexpected<EngineError>(std::move(bound.error()));
}

Expected<void, EngineError> UdpEngine::open_address(const Gid& local) {
  if (find_receiver(local) != nullptr) return {};
  const bool can_wait = epoll_ && (config_.sharing == nullptr || config_.sharing->wait_fd() >= 0);
  if (!can_wait) return Unexpected<EngineError>({EMFILE, "no file descriptor for epoll"});
  auto fd = open_receive_socket(local);
  if (!fd) return Unexpected<EngineError>(std::move(fd.error()));
  const int socket = fd->get();
  sender_.open_address(local, socket);
  reader_.set_receive_room(granted_receive_room(socket));
  Receiver* const receiver = add_receiver(local, std::move(*fd));
  if (receiver == nullptr) {
    const int why = errno;
    sender_.close_address(local);
    return cannot_watch(local, why);
  }
  if (config_.sharing != nullptr) meet_others(*receiver);
  return {};
}

void UdpEngine::close_address(const Gid& local) {
  Receiver* const receiver = find_receiver(local);
  if (receiver == nullptr) return;
  if (config_.sharing != nullptr && config_.sharing->spare_sockets().are_needed()) return;
  const Uncancelled uncancelled;
  packets_.clear();
  sender_.close_address(local);
  watch_blocked_sockets();
  if (receiver->calibration) {
    receiver->calibration->stop(clock_now());
    receiver->calibration.reset();
    read_rest(*receiver);
    tick();
  }
  receiver->fd.reset();
}

Expected<void, EngineError> UdpEngine::join_group(const Gid& group) {
  if (find_receiver(group) != nullptr) return {};
  if (!epoll_) return Unexpected<EngineError>({EMFILE, "no file descriptor for epoll"});
  auto fd = open_group_socket(group, socket_options(config_));
  if (!fd) return Unexpected<EngineError>(std::move(fd.error()));
  if (add_receiver(group, std::move(*fd)) == nullptr) return cannot_watch(group, errno);
  return {};
}

void UdpEngine::leave_group(const Gid& group) {
  Receiver* const receiver = find_receiver(group);
  if (receiver != nullptr) receiver->fd.reset();
}

Expected<uint16_t, EngineError> UdpEngine::claim_source_port(const Gid& local, uint16_t wanted) {
  auto port = sender_.claim_source_port(local, wanted);
  watched_blocked_.reserve(sender_.sockets());
  return port;
}

void UdpEngine::release_source_port(const Gid& local, uint16_t port) {
  sender_.release_source_port(local, port);
  watch_blocked_sockets();
}

EnginePromises UdpEngine::promises() const {
  EnginePromises promises;
  if (sender_.segments()) {
    promises.segments_per_message = kMaxSegments;
    promises.message_bytes = kMaxMessageBytes;
    promises.identification = Identification::kBySegment;
  }
  promises.elsewhere_from = kLeastPiece;
  promises.receive_buffer = receive_buffer_bytes(socket_options(config_));
  return promises;
}

size_t UdpEngine::transmit(TxBatch& batch) {
  const size_t taken = sender_.transmit(batch);
  watch_blocked_sockets();
  return taken;
}

std::span<const RxPacket> UdpEngine::receive() try {
  packets_.clear();
  if (!sender_.blocked_fds().empty()) {
    sender_.flush();
    watch_blocked_sockets();
  }
  if (calls_until_look_-- == 0) look_around();
  if (config_.sharing != nullptr && config_.sharing->has_returned()) {
    config_.sharing->take_returned(packets_);
  }
  if (!receivers_.empty()) read_receiver(receivers_[busy_]);
  if (packets_.empty() && config_.sharing != nullptr) config_.sharing->take_requests(packets_);
  counters_.rx_packets += packets_.size();
  // A caller that gets nothing goes to sleep, and comes back when any socket has become readable.
  if (packets_.empty() && returned_packets_) calls_until_look_ = 0;
  returned_packets_ = !packets_.empty();
  return packets_;
} catch (const std::bad_alloc&) {
  return packets_;  // packets for which there is no memory are lost
}

void UdpEngine::read_receiver(Receiver& receiver) {
  const auto datagrams = reader_.read(receiver.fd.get(), receiver.local, !expect_more_);
  expect_more_ = !datagrams.empty();
  counters_.rx_datagrams += datagrams.size();
  for (const PacketRun& datagram : datagrams) take(receiver, datagram);
}

void UdpEngine::take(Receiver& receiver, const PacketRun& datagram) {
  // Each process has its own copy of a packet to a group: nothing is forwarded.
  if (config_.sharing == nullptr || receiver.local.is_multicast()) {
    datagram.append_to(packets_);
    return;
  }
  Probe probe;
  if (datagram.bytes[0] == kProbeOpcode && decode_probe(datagram.bytes, probe)) {
    take_probe(receiver, datagram.flow, probe);
    return;
  }
  if (config_.sharing->sort(datagram, packets_)) went_astray(receiver);
  if (config_.sharing->has_waiting()) start_ticking();
}

int UdpEngine::receive_fd(const Gid& local) const {
  const auto found =
      std::ranges::find_if(receivers_, [&](const Receiver& r) { return r.fd && r.local == local; });
  return found != receivers_.end() ? found->fd.get() : -1;
}

void UdpEngine::sort(const PacketRun& packets, std::vector<RxPacket>& own) {
  (void)config_.sharing->sort(packets, own);  // they did not go astray: this is where they come
  if (config_.sharing->has_waiting()) start_ticking();
}

UdpCounters UdpEngine::counters() const {
  UdpCounters counters = counters_;
  counters.rx_syscalls += reader_.syscalls();
  if (config_.sharing != nullptr) {
    counters.sharing = config_.sharing->counters();
    counters.rx_syscalls += counters.sharing.rx_syscalls;
  }
  for (const Receiver& receiver : receivers_) {
    if (!receiver.calibration) continue;
    const CalibrationCounters& one = receiver.calibration->counters();
    counters.calibration.searches += one.searches;
    counters.calibration.by_others += one.by_others;
    counters.calibration.programs += one.programs;
  }
  return counters;
}

EngineCounters UdpEngine::totals() const {
  const UdpCounters c = counters();
  EngineCounters totals;
  totals.send_lost = c.tx_no_socket + c.tx_buffer_full + c.tx_message_size + c.tx_unreachable +
                     c.tx_not_permitted + c.tx_failed;
  totals.receive_lost = c.sharing.forward_lost + c.sharing.gsi_over_quota;
  totals.forwarded = c.sharing.forwarded;
  totals.not_owner = c.sharing.not_owner;
  totals.not_copied = c.sharing.gsi_not_copied;
  return totals;
}

}  // namespace urxe
