// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/dpdk.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/base/engine_error.h"
#include "packet/engine/dpdk/plugin/thread_registration.h"
#include "packet/engine/raw/frame.h"
#include "packet/host/clock.h"
#include "packet/host/random.h"

namespace urxe {
namespace {

/// Calls of receive() between two looks at the clock.
constexpr uint32_t kLookInterval = 64;
/// Between two calls of LinkServices::advance(), and looks at the link.
constexpr Duration kServiceInterval = milliseconds(50);
/// Small batches stay in the processor's cache until they have been copied.
constexpr size_t kBatchPackets = 64;
constexpr size_t kBatchBytes = size_t{320} * 1024;
/// Of ARP, as of IPv4 and UDP.
constexpr size_t kSmallestFrame = 14 + 28;

std::span<const uint8_t> bytes_of(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, const uint8_t*), rte_pktmbuf_data_len(frame)};
}

}  // namespace

Expected<std::unique_ptr<DpdkEngine>, EngineError> DpdkEngine::open(Eal& eal,
                                                                    const std::string& port,
                                                                    const PortWords& words,
                                                                    LinkChanged link_changed) {
  auto opened = Port::open(eal, port, words.mtu);
  if (!opened) return Unexpected<EngineError>(std::move(opened.error()));
  if (words.addresses.empty() && opened->interface_index() == 0) {
    return engine_failure(
        EADDRNOTAVAIL,
        "--dpdk-args: port " + port + " has no address: add -- address=192.0.2.1/24, for instance");
  }
  auto sleeper = Sleeper::open(opened->interrupt_fd());
  if (!sleeper) return Unexpected<EngineError>(std::move(sleeper.error()));
  const LinkIdentity identity{opened->mac(), words.addresses, words.gateways,
                              !words.addresses.empty()};
  return std::unique_ptr<DpdkEngine>(
      new DpdkEngine(*std::move(opened), identity, *std::move(sleeper), std::move(link_changed)));
}

DpdkEngine::DpdkEngine(Port port, const LinkIdentity& identity, Sleeper sleeper,
                       LinkChanged link_changed)
    : port_(std::move(port)),
      services_(identity, random_secret()),
      sender_(port_, services_, counters_),
      sleeper_(std::move(sleeper)),
      kernel_(port_.interface_index()),
      is_fixed_(identity.answers),
      link_changed_(std::move(link_changed)),
      now_(clock_now()) {
  packets_.reserve(held_.size());
}

DpdkEngine::~DpdkEngine() {
  DpdkEngine::leave();
}

void DpdkEngine::leave() {
  if (std::exchange(left_, true) || abandoned_) return;
  packets_.clear();
  for (const Gid& group : groups_) services_.leave(group);
  sender_.serve_link(now_);
  release_frames();
  rte_pktmbuf_free_bulk(early_.data(), static_cast<unsigned>(std::exchange(early_count_, 0)));
  sender_.drop_all();
  port_.close();
}

/// All of DPDK's memory is shared with the parent.
void DpdkEngine::abandon() {
  abandoned_ = true;
  forget_threads();
  held_count_ = early_count_ = 0;
  packets_.clear();
  sender_.abandon();
  port_.abandon();
}

Expected<void, EngineError> DpdkEngine::open_address(const Gid& local) {
  packets_.clear();
  if (std::ranges::find(addresses_, local) != addresses_.end()) return {};
  if (!is_fixed_) {
    const auto network = find_network(local, port_.interface_index());
    if (!network) {
      return engine_failure(
          EADDRNOTAVAIL,
          "the interface of the DPDK port does not have the address " + local.to_string());
    }
    services_.add_address(*network);
  } else if (!services_.is_own(local)) {
    return engine_failure(EADDRNOTAVAIL, "the address " + local.to_string() +
                                             " is not among those of --dpdk-args (address=)");
  }
  if (port_.interface_index() != 0) kernel_.silence(local);
  if (addresses_.empty()) services_.announce(clock_now());
  addresses_.push_back(local);
  sender_.serve_link(now_);
  return {};
}

void DpdkEngine::close_address(const Gid& local) {
  packets_.clear();
  std::erase(addresses_, local);
  if (is_fixed_) return;
  services_.remove_address(local);
  kernel_.stop_silencing(local);
}

bool DpdkEngine::find_hop(const Gid& destination) {
  if (left_ || abandoned_ || is_ours(destination) || destination.is_multicast()) return true;
  calls_until_look_ = 0;  // to ask again in time
  const bool asks = services_.resolve(destination, clock_now()).kind == NextHop::Kind::kAsking;
  sender_.serve_link(now_);
  return !asks;
}

Expected<void, EngineError> DpdkEngine::join_group(const Gid& group) {
  packets_.clear();
  if (std::ranges::find(groups_, group) != groups_.end()) return {};
  if (!is_fixed_ && !kernel_.join(group)) {
    const int errno_value = errno;
    return engine_failure(errno_value, "cannot join the group " + group.to_string() + ": " +
                                           std::strerror(errno_value));
  }
  groups_.push_back(group);
  services_.join(group, now_);
  sender_.serve_link(now_);
  return {};
}

void DpdkEngine::leave_group(const Gid& group) {
  if (std::erase(groups_, group) == 0) return;
  kernel_.leave(group);
  services_.leave(group);
  sender_.serve_link(now_);
}

bool DpdkEngine::is_ours(const Gid& destination) const {
  const auto& ours = destination.is_multicast() ? groups_ : addresses_;
  return std::ranges::find(ours, destination) != ours.end();
}

LaneLimits DpdkEngine::limits() const {
  return {.bytes = kBatchBytes, .packets = kBatchPackets};
}

EnginePromises DpdkEngine::promises() const {
  EnginePromises promises;
  promises.largest_packet = port_.mtu();
  promises.elsewhere_from = TxBatch::kLeastElsewhere;
  return promises;
}

void DpdkEngine::release_frames() {
  rte_pktmbuf_free_bulk(held_.data(), static_cast<unsigned>(std::exchange(held_count_, 0)));
}

std::span<const RxPacket> DpdkEngine::receive() {
  packets_.clear();
  if (left_ || abandoned_) return {};
  register_thread();
  release_frames();
  if (calls_until_look_-- == 0) look_around();
  for (size_t i = 0; i < Port::kBurst && sender_.has_local(); ++i) {
    take(sender_.take_local(), From::kOurselves);
  }
  for (size_t i = 0; i < early_count_; ++i) take(early_[i], From::kLink);
  early_count_ = 0;
  std::array<rte_mbuf*, Port::kBurst> frames;
  const uint16_t count = port_.receive(frames.data());
  for (uint16_t i = 0; i < count; ++i) take(frames[i], From::kLink);
  if (sender_.is_blocked()) sender_.flush();
  counters_.rx_packets += packets_.size();
  return packets_;
}

/// The packet in the frame is handed out, or else the frame is somebody else's or the link's.
void DpdkEngine::take(rte_mbuf* frame, From from) {
  held_[held_count_++] = frame;
  // A driver may have it in pieces; those of a RoCE packet fit into the first buffer.
  if (frame->nb_segs != 1 && rte_pktmbuf_linearize(frame) != 0) {
    ++counters_.rx_scattered;
    return;
  }
  const auto bytes = bytes_of(frame);
  const bool has_tag = (frame->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
  if (bytes.size() < kSmallestFrame || has_tag) return;
  if (const auto received = parse_frame(bytes, {})) {
    const Flow& flow = received->packets.flow;
    const bool is_forged =
        from == From::kLink && (is_ours(flow.source) || is_no_source(flow.source));
    if (!is_ours(flow.destination) || is_forged) {
      ++counters_.rx_refused;
      return;
    }
    packets_.push_back(
        {received->packets.bytes, received->packets.flow, received->ipv4_identification});
    return;
  }
  services_.handle(bytes, now_);
  sender_.serve_link(now_);
}

/// What is due by the clock.
void DpdkEngine::look_around() {
  calls_until_look_ = kLookInterval;
  now_ = clock_now();
  if (now_ < next_service_) return;
  next_service_ = now_ + kServiceInterval;
  services_.advance(now_);
  follow_link();
  sender_.serve_link(now_);
}

void DpdkEngine::follow_link() {
  const bool is_up = port_.is_link_up();
  if (!is_up) {
    sender_.drop_backlog();
    port_.keep_connected(now_);
  }
  if (is_up && !was_up_) port_.note_connected();
  was_up_ = is_up;
  if (is_up == link_up_) return;
  link_up_ = is_up;
  if (is_up && !addresses_.empty()) services_.announce(now_);
  if (link_changed_) link_changed_(is_up);
}

bool DpdkEngine::begin_wait() {
  if (left_ || abandoned_) return false;
  calls_until_look_ = 0;
  sleeper_.begin(counters_.rx_packets != received_before_wait_, clock_now());
  received_before_wait_ = counters_.rx_packets;
  port_.arm_interrupt(true);
  if (early_count_ == 0) early_count_ = port_.receive(early_.data());
  return early_count_ != 0 || sender_.has_local();
}

void DpdkEngine::end_wait() {
  if (left_ || abandoned_) return;
  sleeper_.end();
  port_.arm_interrupt(false);
}

EngineCounters DpdkEngine::totals() const {
  const DpdkCounters& c = counters_;
  EngineCounters totals;
  totals.send_lost = c.tx_no_buffer + c.tx_queue_full + c.tx_link_down + c.tx_message_size +
                     c.tx_unreachable + c.tx_unresolved;
  totals.receive_lost = c.rx_no_room + c.rx_scattered + (left_ || abandoned_ ? 0 : port_.missed());
  totals.frame_sent_packets = c.tx_packets;
  totals.frame_received_packets = c.rx_packets;
  return totals;
}

}  // namespace urxe
