// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/context_table.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>

#include "provider/runtime/device/device_registry.h"
#include "provider/verbs/context.h"

namespace urxe {
namespace {

/// Whether one descriptor is a copy of the other: then a flag that is changed by one is changed for
/// both. Some containers forbid kcmp(2), which tells the same.
bool are_of_one_file(int a, int b) {
  const int flags = fcntl(a, F_GETFL);
  const int others = fcntl(b, F_GETFL);
  if (flags < 0 || flags != others || fcntl(a, F_SETFL, flags ^ O_NONBLOCK) != 0) return false;
  const bool both = fcntl(b, F_GETFL) != others;
  fcntl(a, F_SETFL, flags);
  return both;
}

}  // namespace

ContextTable& ContextTable::instance() {
  static auto* const table = new ContextTable;
  return *table;
}

ContextTable::ContextTable() {
  prepare_runtime_devices();  // a fork() then locks the table before the devices
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] {
                   instance().contexts_.clear();
                   instance().mutex_.unlock();
                 });
}

void ContextTable::add(Context& context) {
  std::lock_guard lock(mutex_);
  contexts_.push_back(&context);
}

void ContextTable::remove(Context& context) {
  std::lock_guard lock(mutex_);
  std::erase(contexts_, &context);
}

ibv_device* ContextTable::find_device(int cmd_fd) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(contexts_, [cmd_fd](const Context* context) {
    return are_of_one_file(context->handle->cmd_fd, cmd_fd);
  });
  return found != contexts_.end() ? (*found)->handle->device : nullptr;
}

int ContextTable::find_async_fd(int cmd_fd) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      contexts_, [cmd_fd](const Context* context) { return context->handle->cmd_fd == cmd_fd; });
  return found != contexts_.end() ? (*found)->handle->async_fd : -1;
}

bool ContextTable::have_one_device(const Context& a, const Context& b) {
  return &a.device() == &b.device();
}

}  // namespace urxe
