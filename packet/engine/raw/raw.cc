// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/raw.h"

#include <linux/if_packet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "packet/engine/raw/packet_socket.h"
#include "packet/engine/raw/raw_filter.h"
#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"
#include "packet/sharing/forwarding/packet_owner.h"

namespace urxe {
namespace {

// The data of epoll events.
constexpr uint32_t kSocketId = 0;
constexpr uint32_t kUdpId = 1;
constexpr uint32_t kChangesId = 2;

/// What one receive() takes from the ring, unless a super-packet holds more.
constexpr size_t kFramesAtOnce = 64;
constexpr size_t kPacketsAtOnce = 512;
/// Calls of receive() between two looks at descriptors, each of which is a system call.
constexpr uint32_t kCallsBetweenLooks = 64;
/// In so many empty looks a UDP engine has looked at all its sockets.
constexpr uint32_t kLooksAtUdp = 3;
/// Calls for which UDP is looked at every time after packets came by it: some milliseconds.
constexpr uint32_t kCallsAfterUdp = 1024;

bool watch(int epoll, int fd, uint32_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = id;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

Unexpected<EngineError> raw_failed(const char* step, int errno_value) {
  return Unexpected<EngineError>({errno_value, std::string("the raw engine cannot ") + step + ": " +
                                                   std::strerror(errno_value)});
}

}  // namespace

Expected<std::unique_ptr<RawEngine>, EngineError> RawEngine::open(const RawConfig& config) {
  const uint32_t ifindex = config.udp.interface_index;
  auto routes = LinkRouteQuery::open(ifindex);
  if (!routes) return raw_failed("ask for routes", routes.error().value);
  auto changes = ChangeWatch::open(ifindex);
  if (!changes) return raw_failed("watch routes", changes.error().value);
  auto socket = open_packet_socket(
      {ifindex, config.udp.sharing->slot(), config.udp.socket_buffer_bytes, config.ring_blocks});
  if (!socket) return Unexpected<EngineError>(std::move(socket.error()));
  auto ring = RxRing::map(socket->get(), config.ring_blocks);
  if (!ring) return raw_failed("map its receive ring", ring.error().value);
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll || !watch(epoll.get(), socket->get(), kSocketId) ||
      !watch(epoll.get(), changes->fd(), kChangesId)) {
    return raw_failed("watch its descriptors", errno);
  }
  std::unique_ptr<RawEngine> engine(new RawEngine(config, std::move(*socket), std::move(*ring),
                                                  std::move(*routes), std::move(*changes),
                                                  std::move(epoll)));
  if (engine->udp_.wait_fd() < 0) return raw_failed("watch its UDP sockets", EMFILE);
  if (!watch(engine->epoll_.get(), engine->udp_.wait_fd(), kUdpId)) {
    return raw_failed("watch its UDP sockets", errno);
  }
  return engine;
}

RawEngine::RawEngine(const RawConfig& config, FileDescriptor socket, RxRing ring,
                     LinkRouteQuery routes, ChangeWatch changes, FileDescriptor epoll)
    : config_(config),
      udp_(config.udp),
      socket_(std::move(socket)),
      ring_(std::move(ring)),
      route_query_(std::move(routes)),
      changes_(std::move(changes)),
      epoll_(std::move(epoll)),
      sender_(
          socket_.get(), [this](const Flow& flow) { return route_query_.find(flow); },
          config.udp.patience, counters_),
      now_(clock_now()) {
  packets_.reserve(kUsualPacketsAtOnce);
  config_.udp.sharing->set_direct([this](const Flow& flow) { return comes_in_frames(flow); });
}

RawEngine::~RawEngine() {
  RawEngine::leave();
  config_.udp.sharing->set_direct(nullptr);
}

uint32_t RawEngine::slot() const {
  return config_.udp.sharing->slot();
}

bool RawEngine::is_open(const Gid& address) const {
  return std::ranges::find(addresses_, address) != addresses_.end();
}

/// From the moment that UDP leaves packets to the ring, the ring must have them: the packet socket
/// receives already.
Expected<void, EngineError> RawEngine::open_address(const Gid& local) {
  packets_.clear();
  auto opened = udp_.open_address(local);
  if (!opened || !ring_ || is_open(local)) return opened;
  addresses_.push_back(local);
  const uint32_t ifindex = config_.udp.interface_index;
  // Without the filter UDP has all packets to this address.
  if (!attach_udp_filter(udp_.receive_fd(local), slot(), ifindex)) addresses_.pop_back();
  return opened;
}

void RawEngine::close_address(const Gid& local) {
  packets_.clear();
  udp_.close_address(local);
  if (udp_.receive_fd(local) < 0) std::erase(addresses_, local);
}

Expected<void, EngineError> RawEngine::join_group(const Gid& group) {
  packets_.clear();
  return udp_.join_group(group);
}

void RawEngine::leave() {
  if (ring_) take_frames();  // parts of batches may be for other processes
  packets_.clear();
  udp_.leave();
  ring_.reset();
  socket_.reset();
}

void RawEngine::abandon() {
  if (ring_) ring_->abandon();
  ring_.reset();
  packets_.clear();
  udp_.abandon();
}

size_t RawEngine::transmit(TxBatch& batch) {
  if (batch.empty()) return 0;
  const size_t packets = batch.packets();
  std::span<const TxBatch::Message> left;
  const bool numbered = batch.limits().identification == Identification::kBySegment;
  if (ring_ && (batch.limits().segments_per_message == 1 || numbered)) {
    left = sender_.transmit(batch, now_);
    watch_room();
  }
  if (!batch.empty()) udp_.transmit(batch);
  if (!left.empty()) batch.put_back(left);
  return packets - batch.packets();
}

/// Has wait_fd() tell when the packet socket's buffer has room, while something waits for that.
void RawEngine::watch_room() {
  if (sender_.is_blocked() == watches_room_ || !ring_) return;
  watches_room_ = !watches_room_;
  epoll_event event{};
  event.events = watches_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u32 = kSocketId;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_.get(), &event);
}

std::span<const RxPacket> RawEngine::receive() {
  packets_.clear();
  if (ring_) {
    ring_->release();
    if (sender_.is_blocked()) {
      sender_.flush(now_);
      watch_room();
    }
  }
  if (calls_until_look_-- == 0) look_around();
  if (ring_) take_frames();
  if (calls_to_udp_ > 0 || udp_.has_unsent() || !ring_) receive_by_udp();
  return packets_;
}

void RawEngine::take_frames() {
  RxRing::Frame frame;
  took_frames_ = ring_->has_next();
  for (size_t frames = 0; frames < kFramesAtOnce && packets_.size() < kPacketsAtOnce; ++frames) {
    if (!ring_->next(frame)) return;
    ++counters_.rx_frames;
    if (!frame.whole) {
      ++counters_.rx_cut;
    } else if (const auto received = parse_frame(frame.bytes, frame.vnet)) {
      take(*received);
    } else {
      ++counters_.rx_refused;
    }
  }
}

void RawEngine::take(const ReceivedFrame& frame) {
  const PacketRun& run = frame.packets;
  // Packets to other addresses are for this host to route, or for another host of the link. This
  // host's packets to itself do not come from the link.
  const Gid& source = run.flow.source;
  if (!is_open(run.flow.destination) || is_open(source) || is_no_source(source)) {
    ++counters_.rx_refused;
    return;
  }
  std::optional<uint16_t> identification = frame.ipv4_identification;
  for (size_t at = 0; at < run.bytes.size(); at += run.segment_size) {
    const auto packet = run.packet_at(at);
    if (owner_slot(packet, slot()) != slot()) {
      udp_.sort({run.flow, run.segment_size, run.bytes.subspan(at), false}, packets_);
      break;
    }
    RxPacket& received = packets_.emplace_back(run.received_at(at));
    ++counters_.rx_packets;
    // Whether the others were 0 or counted up, the kernel that has joined them does not tell.
    received.ipv4_identification = std::exchange(identification, std::nullopt);
  }
}

void RawEngine::receive_by_udp() {
  const auto others = udp_.receive();
  if (!others.empty()) {
    calls_to_udp_ = kCallsAfterUdp;
    packets_.insert(packets_.end(), others.begin(), others.end());
  } else if (calls_to_udp_ > 0) {
    --calls_to_udp_;
  }
}

/// Asks epoll what there is beside frames.
void RawEngine::look_around() {
  calls_until_look_ = kCallsBetweenLooks;
  now_ = clock_now();
  std::array<epoll_event, 4> events;
  const int count = uncancelled::epoll_wait(epoll_.get(), events);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.u32 == kUdpId) calls_to_udp_ = std::max(calls_to_udp_, kLooksAtUdp);
    if (event.data.u32 == kChangesId) take_changes();
    if (event.data.u32 == kSocketId && (event.events & EPOLLERR) != 0) {
      // The link is down. Reading the error clears it; otherwise nobody could sleep any more.
      int ignored = 0;
      socklen_t size = sizeof ignored;
      getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &ignored, &size);
    }
  }
  if (sender_.is_gone()) stop_raw();
}

void RawEngine::take_changes() {
  const ChangeWatch::Changes changes = changes_.take();
  if (changes.any) sender_.forget_routes(now_);
  if (changes.interface_gone) stop_raw();
}

/// The interface is gone. If its addresses come back on another one, UDP carries their packets.
void RawEngine::stop_raw() {
  if (!ring_) return;
  for (const Gid& address : addresses_) detach_udp_filter(udp_.receive_fd(address));
  addresses_.clear();
  sender_.drop_waiting();
  (void)counters();  // the last ones of the socket
  ring_.reset();
  socket_.reset();  // epoll forgets it
}

bool RawEngine::begin_wait() {
  calls_until_look_ = 0;
  if (udp_.begin_wait()) {
    calls_to_udp_ = std::max(calls_to_udp_, kLooksAtUdp);
    return true;
  }
  return ring_ && ring_->has_next();
}

/// Whether this process has had a packet from its packet socket that another process has forwarded.
bool RawEngine::comes_in_frames(const Flow& flow) {
  if (!ring_ || !is_open(flow.destination)) return false;
  Flow back = flow;
  std::swap(back.source, back.destination);
  return sender_.reaches(back, now_);
}

RawCounters RawEngine::counters() const {
  tpacket_stats statistics{};
  socklen_t size = sizeof statistics;
  // Reading them sets them to 0.
  if (ring_ && getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0) {
    counters_.rx_ring_full += statistics.tp_drops;
  }
  return counters_;
}

EngineCounters RawEngine::totals() const {
  EngineCounters totals = udp_.totals();
  const RawCounters c = counters();
  totals.send_lost += c.tx_buffer_full + c.tx_message_size + c.tx_unreachable + c.tx_failed;
  totals.receive_lost += c.rx_ring_full + c.rx_cut;
  totals.frame_sent_packets = c.tx_packets;
  totals.frame_received_packets = c.rx_packets;
  return totals;
}

}  // namespace urxe
