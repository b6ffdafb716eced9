// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/completions/comp_channel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "provider/presence/presence_abi.h"
#include "provider/runtime/errors.h"

namespace urxe {
namespace {

ssize_t write_hook(int fd, const void* buffer, size_t length) noexcept;

/// Never destroyed: exit handlers may still use it.
class ChannelTable {
 public:
  static ChannelTable& instance() {
    static auto* const table = new ChannelTable;
    return *table;
  }

  void add_source(int cmd_fd) {
    std::lock_guard lock(mutex_);
    sources_.insert(cmd_fd);
  }
  void remove_source(int cmd_fd) {
    std::lock_guard lock(mutex_);
    sources_.erase(cmd_fd);
  }

  Expected<int, Errno> make(int cmd_fd) {
    std::lock_guard lock(mutex_);
    if (!sources_.contains(cmd_fd)) return error(ENODEV);
    // The application's close() of a channel goes unnoticed, so closed ones are looked for when the
    // number of channels has doubled. A look costs one system call per channel.
    if (channels_.size() >= sweep_at_) {
      std::erase_if(channels_, [](const auto& channel) { return channel->reader_is_gone(); });
      sweep_at_ = std::max(kFirstSweep, channels_.size() * 2);
    }
    channels_.reserve(std::max(channels_.size() + 1, sweep_at_));
    int reader_fd = -1;
    auto made = EventSocket::create(sizeof(ib_uverbs_comp_event_desc), &reader_fd);
    if (!made) return error(made.error().value);
    channels_.push_back(*std::move(made));
    return reader_fd;
  }

  std::shared_ptr<EventSocket> find(int reader_fd) {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(
        channels_, [reader_fd](const auto& channel) { return channel->is_reader(reader_fd); });
    return found != channels_.end() ? *found : nullptr;
  }

 private:
  ChannelTable() {
    if (void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1")) {
      reinterpret_cast<urxe_presence_v1_function>(symbol)()->set_write_hook(write_hook);
    }
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().sources_.clear();
                     instance().channels_.clear();
                     instance().mutex_.unlock();
                   });
  }

  static constexpr size_t kFirstSweep = 16;
  std::mutex mutex_;
  std::set<int> sources_;  ///< the device node descriptors of the open contexts
  std::vector<std::shared_ptr<EventSocket>> channels_;
  size_t sweep_at_ = kFirstSweep;
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

}  // namespace

void add_channel_source(int cmd_fd) {
  ChannelTable::instance().add_source(cmd_fd);
}
void remove_channel_source(int cmd_fd) {
  ChannelTable::instance().remove_source(cmd_fd);
}
std::shared_ptr<EventSocket> find_channel(const ibv_comp_channel* channel) {
  return ChannelTable::instance().find(channel->fd);
}

}  // namespace urxe
