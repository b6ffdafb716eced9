// SPDX-License-Identifier: BSD-2-Clause
// What a UdpSender does while there is no room in a socket's buffer.
#include <algorithm>
#include <new>
#include <utility>

#include "packet/engine/udp/udp_sender.h"
#include "packet/host/clock.h"

namespace urxe {
namespace {

constexpr size_t kReadyBacklogs = 4;

}  // namespace

void UdpSender::flush() {
  for (size_t i = blocked_fds_.size(); i-- > 0;) {
    flush(blocked_fds_[i], *backlogs_[i]);
    if (backlogs_[i]->empty()) unblock(i);
  }
}

void UdpSender::flush(int fd, SendBacklog& backlog) {
  while (!backlog.empty()) {
    const Progress progress = send_run(fd, backlog.messages(), backlog.memory());
    backlog.pop(progress.done);
    if (progress.why == Progress::Stop::kBufferFull) return;
    if (progress.why == Progress::Stop::kSegmentationFailed) {
      // Its ICRCs cover its identifications, so it cannot be split; later batches are not
      // segmented.
      segments_ = false;
      counters_.tx_unsegmented = 1;
      counters_.tx_failed += backlog.messages()[0].segments;
      backlog.pop(1);
    }
  }
}

void UdpSender::delay(int fd, Messages messages, const uint8_t* memory) {
  SendBacklog* const backlog = block(fd);
  for (const TxBatch::Message& message : messages) {
    if (backlog != nullptr && backlog->push(message, memory)) {
      counters_.tx_delayed += message.segments;
    } else if (backlog == nullptr || gives_up(*backlog)) {
      counters_.tx_buffer_full += message.segments;
    } else {
      left_.push_back(message);
    }
  }
}

/// Whether a message that has found no room is lost, and does not stay in the batch.
bool UdpSender::gives_up(SendBacklog& backlog) const {
  return !backlog.refuses() && backlog.gives_up(clock_now(), patience_);
}

bool UdpSender::is_blocked(int fd) const {
  return std::ranges::find(blocked_fds_, fd) != blocked_fds_.end();
}

/// Some sockets can be blocked at a time before block() has to allocate. What it has allocated
/// stays, so it does so once for each number of them.
void UdpSender::prepare_backlogs() try {
  const size_t sockets = this->sockets();
  blocked_fds_.reserve(sockets);
  backlogs_.reserve(sockets);
  spares_.reserve(sockets);
  while (spares_.size() + backlogs_.size() < std::min(sockets, kReadyBacklogs)) {
    spares_.push_back(std::make_unique<SendBacklog>());
  }
} catch (const std::bad_alloc&) {
  // block() tries again.
}

/// The backlog of a socket, which it gets if it has none; nullptr if there is no memory for one.
SendBacklog* UdpSender::block(int fd) {
  const auto found = std::ranges::find(blocked_fds_, fd);
  if (found != blocked_fds_.end()) {
    return backlogs_[static_cast<size_t>(found - blocked_fds_.begin())].get();
  }
  try {
    if (spares_.empty()) spares_.push_back(std::make_unique<SendBacklog>());
    blocked_fds_.reserve(blocked_fds_.size() + 1);
    backlogs_.reserve(backlogs_.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  blocked_fds_.push_back(fd);
  backlogs_.push_back(std::move(spares_.back()));
  spares_.pop_back();
  return backlogs_.back().get();
}

void UdpSender::unblock(size_t index) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  if (spares_.size() < spares_.capacity()) spares_.push_back(std::move(backlogs_[index]));
  backlogs_.erase(backlogs_.begin() + at);
  blocked_fds_.erase(blocked_fds_.begin() + at);
}

/// Messages that wait for a socket that is closed now are lost.
void UdpSender::lose_if_closed(size_t index) {
  SendBacklog& backlog = *backlogs_[index];
  if (find_socket(backlog.messages()[0].flow) == blocked_fds_[index]) return;
  while (!backlog.empty()) {
    counters_.tx_no_socket += backlog.messages()[0].segments;
    backlog.pop(1);
  }
  unblock(index);
}

}  // namespace urxe
