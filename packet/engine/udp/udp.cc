// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/udp.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace urxe {
namespace {

// What the epoll events carry, besides the index of a receiver.
constexpr uint32_t kForwardId = 0xffffffff;
constexpr uint32_t kBlockedId = 0xfffffffe;
constexpr uint32_t kTimerId = 0xfffffffd;
constexpr uint32_t kFirstServiceId = 0x80000000;  ///< and the number of a listening socket

// receive() looks at all sockets once in so many calls: soon where there are several addresses,
// rarely where only strays from another process can come.
constexpr unsigned kLookIntervalOne = 16;
constexpr unsigned kLookIntervalSeveral = 4;
/// Read from a socket before it is closed; more than a full buffer of small packets.
constexpr int kLastBursts = 1000;

constexpr size_t kMaxSegments = 60;
constexpr size_t kMaxMessageBytes = 65000;
constexpr size_t kUsualPacketsAtOnce = 1024;

UdpSocketOptions socket_options(const UdpConfig& config) {
  return {config.interface_index, config.socket_buffer_bytes, config.segmentation};
}

}  // namespace

UdpEngine::UdpEngine(const UdpConfig& config)
    : config_(config),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      sender_(socket_options(config), config.max_source_ports, config.segmentation, counters_) {
  packets_.reserve(kUsualPacketsAtOnce);
  if (config_.sharing) {
    forward_reader_.emplace();
    forward_queue_.emplace(config_.sharing->forward_fd, counters_.sharing);
    gsi_.emplace(*config_.sharing, config_.interface_index, *forward_queue_, counters_.sharing);
    timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    watch(timer_.get(), kTimerId, EPOLLIN);
    watch(config_.sharing->forward_fd, kForwardId, EPOLLIN);
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
  if (forward_queue_) finish_forwarding();
}

void UdpEngine::abandon() {
  receivers_.clear();
  if (forward_queue_) forward_queue_->clear();
}

/// While the others' view of the group is out of date, the kernel may put their packets into our
/// socket; with the socket they would go.
void UdpEngine::pass_on_rest(Receiver& receiver) {
  if (!config_.sharing || !receiver.fd || receiver.local.is_multicast()) return;
  receiver.calibration.reset();
  for (int burst = 0; burst < kLastBursts; ++burst) {
    packets_.clear();
    read_receiver(receiver);
    if (!expect_more_) break;
  }
  receiver.fd.reset();
}

void UdpEngine::watch(int fd, uint32_t id, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u32 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

UdpEngine::Receiver* UdpEngine::find_receiver(const Gid& address) {
  const auto found = std::ranges::find_if(
      receivers_, [&](const Receiver& r) { return r.fd && r.local == address; });
  return found != receivers_.end() ? &*found : nullptr;
}

UdpEngine::Receiver& UdpEngine::add_receiver(const Gid& address, FileDescriptor fd) {
  // The place of a group that was left, or a new one: places have numbers that epoll remembers.
  auto place = std::ranges::find_if(receivers_, [](const Receiver& r) { return !r.fd; });
  if (place == receivers_.end()) place = receivers_.emplace(place);
  *place = {address, std::move(fd), nullptr, {}};
  watch(place->fd.get(), static_cast<uint32_t>(place - receivers_.begin()), EPOLLIN);
  calls_until_look_ = 0;
  return *place;
}

Expected<void, EngineError> UdpEngine::open_address(const Gid& local) {
  if (find_receiver(local) != nullptr) return {};
  if (!epoll_) return Unexpected<EngineError>({EMFILE, "no file descriptor for epoll"});
  auto fd = open_receive_socket(local, socket_options(config_));
  if (!fd) return Unexpected<EngineError>(std::move(fd.error()));
  sender_.open_address(local, fd->get());
  Receiver& receiver = add_receiver(local, std::move(*fd));
  if (config_.sharing) meet_others(receiver);
  return {};
}

Expected<void, EngineError> UdpEngine::join_group(const Gid& group) {
  if (find_receiver(group) != nullptr) return {};
  if (!epoll_) return Unexpected<EngineError>({EMFILE, "no file descriptor for epoll"});
  auto fd = open_group_socket(group, socket_options(config_));
  if (!fd) return Unexpected<EngineError>(std::move(fd.error()));
  add_receiver(group, std::move(*fd));
  return {};
}

void UdpEngine::leave_group(const Gid& group) {
  Receiver* const receiver = find_receiver(group);
  if (receiver != nullptr) receiver->fd.reset();
}

Expected<void, Errno> UdpEngine::listen(ServiceId service, const std::optional<Gid>& local) {
  if (!gsi_) return {};
  auto opened = gsi_->directory().listen(service, local);
  if (!opened) return Unexpected<Errno>(opened.error());
  for (const uint32_t number : *opened) {
    watch(gsi_->directory().socket(number), kFirstServiceId + number, EPOLLIN);
  }
  return {};
}

void UdpEngine::stop_listening(ServiceId service, const std::optional<Gid>& local) {
  if (gsi_) gsi_->directory().stop_listening(service, local);
}

Expected<uint16_t, EngineError> UdpEngine::claim_source_port(const Gid& local, uint16_t wanted) {
  return sender_.claim_source_port(local, wanted);
}

void UdpEngine::release_source_port(const Gid& local, uint16_t port) {
  sender_.release_source_port(local, port);
  watch_blocked_socket();
}

TxBatch::Limits UdpEngine::batch_limits() const {
  TxBatch::Limits limits;
  if (sender_.segments()) {
    limits.segments_per_message = kMaxSegments;
    limits.message_bytes = kMaxMessageBytes;
    limits.identification = Identification::kBySegment;
  }
  return limits;
}

size_t UdpEngine::receive_buffer() const {
  return receive_buffer_bytes(socket_options(config_));
}

void UdpEngine::transmit(TxBatch& batch) {
  sender_.transmit(batch);
  if (sender_.blocked_fd() != watched_blocked_fd_) watch_blocked_socket();
}

void UdpEngine::watch_blocked_socket() {
  if (watched_blocked_fd_ >= 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched_blocked_fd_, nullptr);
  }
  watched_blocked_fd_ = sender_.blocked_fd();
  if (watched_blocked_fd_ >= 0) watch(watched_blocked_fd_, kBlockedId, EPOLLOUT);
}

std::span<const RxPacket> UdpEngine::receive() {
  packets_.clear();
  if (sender_.has_backlog()) {
    sender_.flush();
    if (sender_.blocked_fd() != watched_blocked_fd_) watch_blocked_socket();
  }
  if (receivers_.empty()) return {};
  if (calls_until_look_-- == 0) look_around();
  if (!returned_.empty()) take_returned();
  read_receiver(receivers_[busy_]);
  counters_.rx_packets += packets_.size();
  // Who finds nothing goes to sleep, and is back when something has come: perhaps elsewhere.
  if (packets_.empty() && returned_packets_) calls_until_look_ = 0;
  returned_packets_ = !packets_.empty();
  return packets_;
}

/// Asks for all sockets at once which of them have something.
void UdpEngine::look_around() {
  const bool several = receivers_.size() > 1;
  if (ticking_) tick();
  calls_until_look_ = ticking_ ? 0 : several ? kLookIntervalSeveral : kLookIntervalOne;
  if (!several && !config_.sharing) return;
  std::array<epoll_event, 16> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  ++counters_.rx_syscalls;
  if (forward_reader_) forward_reader_->rewind();
  size_t next = receivers_.size() * 2;
  for (int i = 0; i < count; ++i) {
    const uint32_t id = events[static_cast<size_t>(i)].data.u32;
    if (id == kForwardId) {
      read_forwarded(config_.sharing->forward_fd);
    } else if (id >= kFirstServiceId && id < kTimerId) {
      read_forwarded(gsi_->directory().socket(id - kFirstServiceId));
    } else if (id < receivers_.size()) {
      // The next one after the busy one, so that each has its turn; the busy one itself comes last.
      next = std::min(next, id > busy_ ? id : id + receivers_.size());
    }
  }
  if (next < receivers_.size() * 2) busy_ = next % receivers_.size();
}

void UdpEngine::read_receiver(Receiver& receiver) {
  const auto datagrams = reader_.read(receiver.fd.get(), receiver.local, !expect_more_);
  expect_more_ = !datagrams.empty();
  counters_.rx_datagrams += datagrams.size();
  for (const ReceivedDatagram& datagram : datagrams) take(receiver, datagram);
}

void UdpEngine::take(Receiver& receiver, const ReceivedDatagram& datagram) {
  const auto bytes = datagram.bytes;
  // Each process has its own copy of what comes to a group: nothing is passed on.
  const bool is_group = receiver.local.is_multicast();
  Probe probe;
  if (bytes[0] == kProbeOpcode && config_.sharing && !is_group && decode_probe(bytes, probe)) {
    take_probe(receiver, datagram.flow, probe);
    return;
  }
  for (size_t at = 0; at < bytes.size();) {
    const auto packet = bytes.subspan(at, std::min(datagram.segment_size, bytes.size() - at));
    if (config_.sharing && !is_group) {
      const uint32_t own = config_.sharing->slot;
      const uint32_t owner = owner_slot(packet, own);
      if (owner == kGsiOwner) {
        at = take_gsi(datagram, at);
        continue;
      }
      if (owner != own) {
        // Packets for one process that came together go on together.
        size_t end = at + packet.size();
        while (end < bytes.size() && owner_slot(bytes.subspan(end), own) == owner) {
          end += std::min(datagram.segment_size, bytes.size() - end);
        }
        pass_on(receiver, owner,
                {datagram.flow, datagram.segment_size, bytes.subspan(at, end - at)});
        at = end;
        continue;
      }
    }
    packets_.push_back({packet, datagram.flow, std::nullopt});
    at += packet.size();
  }
}

UdpCounters UdpEngine::counters() const {
  UdpCounters counters = counters_;
  counters.rx_syscalls += reader_.syscalls();
  return counters;
}

EngineCounters UdpEngine::totals() const {
  const UdpCounters& c = counters_;
  EngineCounters totals;
  totals.send_lost = c.tx_no_socket + c.tx_buffer_full + c.tx_message_size + c.tx_unreachable +
                     c.tx_not_permitted + c.tx_failed;
  totals.receive_lost = c.sharing.forward_lost + c.sharing.lost_in_opening;
  totals.forwarded = c.sharing.forwarded;
  totals.not_owner = c.sharing.not_owner;
  totals.not_copied = c.sharing.gsi_not_copied;
  return totals;
}

}  // namespace urxe
