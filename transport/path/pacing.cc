// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/pacing.h"

#include <algorithm>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {
namespace {

constexpr uint64_t kNsKbpsPerByte = 8'000'000;  // ns a byte at 1 kb/s
// Long enough for a driving thread that comes late, short enough for receive buffers.
constexpr Duration kDefaultBurst = milliseconds(1);
constexpr uint64_t kLargestDefaultBurst = 256 * 1024;  // bytes
constexpr uint32_t kLeastPackets = 2;
constexpr uint32_t kUdpHeader = 8;
constexpr uint32_t kHeaders = 80;  // a path MTU's, with room for the longest

uint64_t burst_bytes(const RateLimit& limit, uint32_t mtu) {
  if (limit.max_burst != 0) return limit.max_burst;
  const uint64_t packet = limit.typical_packet != 0 ? limit.typical_packet : mtu + kHeaders;
  const uint64_t bytes = limit.rate_kbps * static_cast<uint64_t>(kDefaultBurst.ns) / kNsKbpsPerByte;
  return std::clamp(bytes, kLeastPackets * packet, std::max(kLargestDefaultBurst, 2 * packet));
}

}  // namespace

void Pacer::set(const RateLimit& limit, uint32_t mtu, Instant now) {
  rate_kbps_ = limit.rate_kbps;
  full_at_ = now;
  remainder_ = 0;
  if (rate_kbps_ == 0) return;
  burst_.ns = static_cast<int64_t>(burst_bytes(limit, mtu) * kNsKbpsPerByte / rate_kbps_);
}

Duration Pacer::time_for(uint32_t bytes) const {
  return {static_cast<int64_t>(bytes * kNsKbpsPerByte / rate_kbps_)};
}

bool Pacer::admits(uint32_t bytes, Instant now) const {
  return full_at_ - now <= burst_ - std::min(time_for(bytes), burst_);
}

void Pacer::charge(uint32_t bytes, Instant now) {
  if (full_at_ < now) {
    full_at_ = now;
    remainder_ = 0;
  }
  const uint64_t cost = bytes * kNsKbpsPerByte + remainder_;
  full_at_.ns += static_cast<int64_t>(cost / rate_kbps_);
  remainder_ = cost % rate_kbps_;
}

Instant Pacer::retry_at(uint32_t bytes) const {
  const Duration needed = std::min(std::max(time_for(bytes), Duration{burst_.ns / 2}), burst_);
  return full_at_ - (burst_ - needed);
}

uint32_t datagram_bytes(const Flow& flow, Opcode opcode, uint32_t payload) {
  const uint32_t ip = flow.destination.is_ipv4() ? 20 : 40;
  return ip + kUdpHeader + static_cast<uint32_t>(packet_size(opcode, payload));
}

bool pacing_admits(ChannelAdapter& ca, QueuePair& qp, uint32_t bytes, Instant now) {
  if (!qp.pacer.is_limited() || qp.pacer.admits(bytes, now)) return true;
  if (!ca.pacing.contains(qp)) ca.pacing.set(qp, qp.pacer.retry_at(bytes));
  return false;
}

void set_rate_limit(ChannelAdapter& ca, QueuePair& qp, const RateLimit& limit, Instant now) {
  qp.attr.rate_limit = limit.rate_kbps;
  qp.pacer.set(limit, qp.mtu != 0 ? qp.mtu : 128U << ca.config.active_mtu, now);
  ca.pacing.remove(qp);
  if (qp.state() == IBV_QPS_RTS || qp.state() == IBV_QPS_SQD) ca.active.push_back(qp);
}

}  // namespace urxe
