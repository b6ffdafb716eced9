// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/completions/comp_channel.h"

#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include "packet/host/file_descriptor.h"
#include "packet/host/uncancelled.h"
#include "provider/devices/preloaded.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/completions/cq_lanes.h"

namespace urxe {
namespace {

constexpr uint32_t kFirstWithReads = 6;

ssize_t write_hook(int fd, const void* buffer, size_t length) noexcept;
int read_hook(int fd);

/// A completion channel, and the device whose completion queues use it.
struct Channel {
  std::shared_ptr<EventSocket> events;
  std::weak_ptr<RuntimeDevice> device;
};

/// Never destroyed: exit handlers may still use it.
class ChannelTable {
 public:
  static ChannelTable& instance() {
    static auto* const table = new ChannelTable;
    return *table;
  }

  void add_source(int cmd_fd, std::weak_ptr<RuntimeDevice> device) {
    std::lock_guard lock(mutex_);
    sources_.insert_or_assign(cmd_fd, std::move(device));
  }
  void remove_source(int cmd_fd) {
    std::lock_guard lock(mutex_);
    sources_.erase(cmd_fd);
    drop_closed();
  }

  Expected<int, Errno> make(int cmd_fd) {
    std::lock_guard lock(mutex_);
    const auto source = sources_.find(cmd_fd);
    if (source == sources_.end()) return error(ENODEV);
    if (channels_.size() >= sweep_at_) drop_closed();
    channels_.reserve(std::max(channels_.size() + 1, sweep_at_));
    int reader_fd = -1;
    auto made = make_socket(&reader_fd);
    if (!made && (made.error().value == EMFILE || made.error().value == ENFILE)) {
      drop_closed();
      made = make_socket(&reader_fd);
    }
    if (!made) return error(made.error().value);
    FileDescriptor reader(reader_fd);  // closed if there is no memory for the entry
    channels_.insert_or_assign(reader_fd, Channel{*std::move(made), source->second});
    if (presence_ != nullptr) presence_->watch_reads(reader_fd);
    return reader.release();
  }

  /// Null pointers: the descriptor is not one of a channel.
  Channel find(int reader_fd) {
    std::lock_guard lock(mutex_);
    const auto found = channels_.find(reader_fd);
    const bool is_there = found != channels_.end() && found->second.events->is_reader(reader_fd);
    return is_there ? found->second : Channel{};
  }

  void note_destroyed_cq() {
    std::lock_guard lock(mutex_);
    if (++destroyed_cqs_ > std::max(kMostClosed, channels_.size() / 4)) drop_closed();
  }

 private:
  ChannelTable() {
    if (const urxe_presence* const presence = find_presence()) {
      presence->set_write_hook(write_hook);
    }
    presence_ = find_presence(kFirstWithReads);
    if (presence_ != nullptr) presence_->set_read_hook(read_hook);
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().sources_.clear();
                     instance().channels_.clear();
                     instance().mutex_.unlock();
                   });
  }

  static Expected<std::shared_ptr<EventSocket>, Errno> make_socket(int* reader_fd) {
    return EventSocket::create(sizeof(ib_uverbs_comp_event_desc), reader_fd);
  }

  /// The application's close() of a channel goes unnoticed, so closed ones are looked for: when
  /// their number has grown by a quarter, when completion queues of a quarter of them have been
  /// destroyed, when a device is closed, and when descriptors run out. It takes one system call per
  /// channel.
  void drop_closed() {
    std::erase_if(channels_,
                  [](const auto& entry) { return entry.second.events->reader_is_gone(); });
    sweep_at_ = channels_.size() + std::max(kFirstSweep, channels_.size() / 4);
    destroyed_cqs_ = 0;
  }

  static constexpr size_t kFirstSweep = 16;
  static constexpr size_t kMostClosed = 8;
  std::mutex mutex_;
  std::map<int, std::weak_ptr<RuntimeDevice>> sources_;  ///< open contexts, by their device nodes
  std::unordered_map<int, Channel> channels_;            ///< by what the application reads
  size_t sweep_at_ = kFirstSweep;
  size_t destroyed_cqs_ = 0;                 ///< since channels were swept
  const urxe_presence* presence_ = nullptr;  ///< null: it cannot watch reads
};

ssize_t create_channel(int fd, const ib_uverbs_create_comp_channel& command) {
  auto channel = ChannelTable::instance().make(fd);
  if (!channel) {
    report_lack("make a completion channel", channel.error().value);
    return fail(channel.error().value);
  }
  ib_uverbs_create_comp_channel_resp response{static_cast<uint32_t>(*channel)};
  std::memcpy(reinterpret_cast<void*>(command.response), &response, sizeof response);
  return 0;
}

/// Carries out a command that is written to a device node, as the kernel's uverbs does.
ssize_t write_hook(int fd, const void* buffer, size_t length) noexcept {
  const Uncancelled uncancelled;
  try {
    struct {
      ib_uverbs_cmd_hdr header;
      ib_uverbs_create_comp_channel command;
    } request{};
    if (length < sizeof request.header) return fail(EINVAL);
    std::memcpy(&request, buffer, std::min(length, sizeof request));
    if (request.header.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) return fail(ENOSYS);
    if (length < sizeof request ||
        request.header.out_words * 4U < sizeof(ib_uverbs_create_comp_channel_resp)) {
      return fail(EINVAL);
    }
    return create_channel(fd, request.command) == 0 ? static_cast<ssize_t>(length) : -1;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

/// Waits until there is something to read, if the read would block. A thread that is cancelled
/// unwinds through this function.
int read_hook(int fd) {
  // First, since to look at a socket of the program's takes its error away.
  const Channel channel = ChannelTable::instance().find(fd);
  if (channel.events == nullptr) return 1;
  char byte = 0;
  if (recv(fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) >= 0) return 0;
  if (errno == ENOTSOCK) return 1;
  const auto device = channel.device.lock();
  const int flags = fcntl(fd, F_GETFL);
  if (device == nullptr || device->is_forked() || (flags & O_NONBLOCK) != 0) return 0;
  Progress& progress = lane_of(*device, *channel.events).progress();
  return progress.wait_for_event(*channel.events, fd) ? 0 : fail(EINTR);
}

}  // namespace

void add_channel_source(int cmd_fd, std::weak_ptr<RuntimeDevice> device) {
  ChannelTable::instance().add_source(cmd_fd, std::move(device));
}
void remove_channel_source(int cmd_fd) {
  ChannelTable::instance().remove_source(cmd_fd);
}
std::shared_ptr<EventSocket> find_channel(const ibv_comp_channel* channel) {
  return ChannelTable::instance().find(channel->fd).events;
}

void note_destroyed_cq() {
  ChannelTable::instance().note_destroyed_cq();
}

}  // namespace urxe
