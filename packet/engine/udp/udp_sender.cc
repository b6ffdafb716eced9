// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/udp_sender.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// Leaves most of the process's descriptors to the application: each port takes two.
size_t allowed_sockets(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    wanted = std::min<size_t>(wanted, limit.rlim_cur / 8);
  }
  return std::max<size_t>(wanted, 1);
}

}  // namespace

UdpSender::UdpSender(const UdpSocketOptions& options, size_t max_source_ports, bool segmentation,
                     Duration patience, UdpCounters& counters)
    : options_(options),
      max_source_ports_(allowed_sockets(max_source_ports)),
      segments_(segmentation && kernel_segments_udp()),
      patience_(patience),
      counters_(counters),
      headers_(options.scope) {
  left_.reserve(LaneLimits{}.packets);
}

void UdpSender::open_address(const Gid& local, int receiver) {
  if (find_address(local) == nullptr)
    addresses_.emplace_back(local, receiver, options_, max_source_ports_, ports_);
  prepare_backlogs();
}

void UdpSender::close_address(const Gid& local) {
  SendSockets* const address = find_address(local);
  if (address == nullptr) return;
  address->close();
  addresses_.erase(addresses_.begin() + (address - addresses_.data()));
  forget_closed_sockets();
}

SendSockets* UdpSender::find_address(const Gid& local) {
  const auto found = std::find_if(addresses_.begin(), addresses_.end(),
                                  [&](const SendSockets& a) { return a.local() == local; });
  return found == addresses_.end() ? nullptr : &*found;
}

Expected<uint16_t, EngineError> UdpSender::claim_source_port(const Gid& local, uint16_t wanted) {
  SendSockets* const address = find_address(local);
  if (address == nullptr) {
    return Unexpected<EngineError>(
        {EADDRNOTAVAIL, "no source port on " + local.to_string() + ": the address is not open"});
  }
  auto port = address->claim(wanted);
  if (port) prepare_backlogs();
  return port;
}

size_t UdpSender::sockets() const {
  size_t count = addresses_.size();  // they send from port 4791, too
  for (const SendSockets& address : addresses_) count += address.size();
  return count;
}

void UdpSender::release_source_port(const Gid& local, uint16_t port) {
  SendSockets* const address = find_address(local);
  if (address == nullptr) return;
  address->release(port);
  forget_closed_sockets();
}

void UdpSender::forget_closed_sockets() {
  last_fd_ = express_.fd = -1;
  for (size_t i = blocked_fds_.size(); i-- > 0;) lose_if_closed(i);
}

int UdpSender::find_socket(const Flow& flow) {
  if (last_fd_ >= 0 && flow.source_port == last_port_ && flow.source == last_source_) {
    return last_fd_;
  }
  const SendSockets* const address = find_address(flow.source);
  const int fd = address == nullptr ? -1 : address->find(flow.source_port);
  last_fd_ = fd;
  last_port_ = flow.source_port;
  last_source_ = flow.source;
  return fd;
}

int UdpSender::send_one(int fd, const TxBatch::Message& message, const uint8_t* memory) {
  ++counters_.tx_syscalls;
  if (message.segments == 1 && message.elsewhere == 0 && has_default_fields(message.flow)) {
    const SocketAddress to(message.flow.destination, kRoceUdpPort, options_.scope);
    return uncancelled::sendto(fd, memory + message.offset, message.size, MSG_DONTWAIT, to.get(),
                               to.size()) < 0
               ? errno
               : 0;
  }
  headers_.describe({&message, 1}, memory);
  return uncancelled::sendmsg(fd, &headers_.get()->msg_hdr, MSG_DONTWAIT) < 0 ? errno : 0;
}

/// Returns how many messages were sent, or, if none was, minus the errno of the first.
int UdpSender::send_burst(int fd, Messages burst, const uint8_t* memory) {
  if (burst.size() == 1) {
    const int errno_value = send_one(fd, burst[0], memory);
    return errno_value == 0 ? 1 : -errno_value;
  }
  const auto described = static_cast<unsigned>(headers_.describe(burst, memory));
  ++counters_.tx_syscalls;
  const int sent = uncancelled::sendmmsg(fd, headers_.get(), described, MSG_DONTWAIT);
  return sent > 0 ? sent : -errno;
}

/// The kernel fails with one of these errors if it cannot segment for a device, tunnel or option,
/// but for bad routes as well. Sending the first segment alone tells them apart: its identification
/// is 0 either way. If that succeeds, the segment is sent twice, as may happen to any packet.
bool UdpSender::segmentation_is_to_blame(int fd, const TxBatch::Message& message,
                                         const uint8_t* memory, int errno_value) {
  if (message.segments == 1) return false;
  if (errno_value != EINVAL && errno_value != EIO && errno_value != EOPNOTSUPP) return false;
  TxBatch::Message first = message;
  first.size = first.segment_size;
  first.segments = 1;
  first.elsewhere = std::min<size_t>(first.elsewhere, 1);
  return send_one(fd, first, memory) == 0;
}

UdpSender::Progress UdpSender::send_run(int fd, Messages run, const uint8_t* memory) {
  size_t done = 0;
  while (done < run.size()) {
    const Messages burst = run.subspan(done, std::min(MessageHeaders::kMost, run.size() - done));
    const int sent = send_burst(fd, burst, memory);
    if (sent > 0) {
      count_sent(burst.first(static_cast<size_t>(sent)));
      done += static_cast<size_t>(sent);
      continue;
    }
    const TxBatch::Message& refused = burst[0];
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN) return {done, Progress::Stop::kBufferFull};
    if (segmentation_is_to_blame(fd, refused, memory, -sent)) {
      return {done, Progress::Stop::kSegmentationFailed};
    }
    count_lost(refused, -sent);
    ++done;
  }
  return {done, Progress::Stop::kEnd};
}

UdpSender::Progress UdpSender::send(Messages messages, const uint8_t* memory) {
  size_t done = 0;
  while (done < messages.size()) {
    const int fd = find_socket(messages[done].flow);
    if (fd < 0) {
      counters_.tx_no_socket += messages[done++].segments;
      continue;
    }
    size_t end = done + 1;
    while (end < messages.size() && find_socket(messages[end].flow) == fd) ++end;
    const Messages run = messages.subspan(done, end - done);
    const Progress progress =
        is_blocked(fd) ? Progress{0, Progress::Stop::kBufferFull} : send_run(fd, run, memory);
    if (progress.why == Progress::Stop::kSegmentationFailed) {
      return {done + progress.done, progress.why};
    }
    if (progress.why == Progress::Stop::kBufferFull) {
      delay(fd, run.subspan(progress.done), memory);
    }
    done = end;
  }
  return {done, Progress::Stop::kEnd};
}

/// Sends one plain packet, most often on the flow of the one before. Returns false if it was not
/// sent, for whatever reason.
bool UdpSender::send_express(const TxBatch& batch) {
  const TxBatch::Message& message = batch.messages()[0];
  if (message.elsewhere != 0) return false;
  if (express_.fd < 0 || message.flow != express_.flow) {
    if (!has_default_fields(message.flow)) return false;
    express_ = {message.flow, SocketAddress(message.flow.destination, kRoceUdpPort, options_.scope),
                find_socket(message.flow)};
    if (express_.fd < 0) return false;
  }
  ++counters_.tx_syscalls;
  const auto bytes = batch.bytes(message);
  const SocketAddress& to = express_.to;
  if (uncancelled::sendto(express_.fd, bytes.data(), bytes.size(), MSG_DONTWAIT, to.get(),
                          to.size()) < 0) {
    return false;
  }
  ++counters_.tx_datagrams;
  ++counters_.tx_packets;
  return true;
}

size_t UdpSender::transmit(TxBatch& batch) {
  if (batch.empty()) return 0;
  if (batch.packets() == 1 && blocked_fds_.empty() && send_express(batch)) {
    batch.clear();
    return 1;
  }
  if (!blocked_fds_.empty()) flush();
  const size_t packets = batch.packets();
  const bool numbered = batch.limits().identification == Identification::kBySegment;
  if (batch.limits().segments_per_message > 1 && !(segments_ && numbered)) batch.unsegment();
  if (send_batch(batch) == Progress::Stop::kSegmentationFailed) {
    segments_ = false;
    counters_.tx_unsegmented = 1;
    batch.unsegment();
    send_batch(batch);
  }
  return packets - batch.packets();
}

/// Leaves in the batch what finds no room, and what it has not come to.
UdpSender::Progress::Stop UdpSender::send_batch(TxBatch& batch) {
  for (const auto& backlog : backlogs_) backlog->try_again();
  left_.clear();
  const Messages messages = batch.messages();
  const uint8_t* const memory = batch.bytes(messages[0]).data() - messages[0].offset;
  const Progress progress = send(messages, memory);
  const Messages rest = messages.subspan(progress.done);
  left_.insert(left_.end(), rest.begin(), rest.end());
  batch.clear();
  if (!left_.empty()) batch.put_back(left_);
  return progress.why;
}

void UdpSender::count_sent(Messages messages) {
  counters_.tx_datagrams += messages.size();
  for (const TxBatch::Message& m : messages) counters_.tx_packets += m.segments;
}

void UdpSender::count_lost(const TxBatch::Message& message, int errno_value) {
  switch (errno_value) {
    case EMSGSIZE:
      counters_.tx_message_size += message.segments;
      break;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
      counters_.tx_unreachable += message.segments;
      break;
    case EPERM:
    case EACCES:
      counters_.tx_not_permitted += message.segments;
      break;
    case ENOBUFS:
    case ENOMEM:
      counters_.tx_buffer_full += message.segments;
      break;
    default:
      counters_.tx_failed += message.segments;
  }
}

}  // namespace urxe
