// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/device_registry.h"

#include <pthread.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "packet/host/uncancelled.h"
#include "packet/sharing/holders/holder_table.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/interface_watcher.h"
#include "provider/observation/failure_log.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/locks/patience.h"
#include "provider/runtime/memory/unmap_watch.h"

namespace urxe {
namespace {

/// The open devices. Never destroyed: background threads and exit handlers outlive static objects.
class Registry {
 public:
  static Registry& instance() {
    static auto* const registry = new Registry;
    return *registry;
  }

  Expected<std::shared_ptr<RuntimeDevice>, Errno> open(const std::string& name) {
    std::lock_guard lock(mutex_);
    Entry& entry = devices_[name];
    if (auto device = entry.device.lock()) return device;
    auto description = read_device(device_tree(), name);
    if (!description) {
      print_error(description.error());
      return error(ENODEV);
    }
    hold_device_tree();
    auto device = std::make_shared<RuntimeDevice>(*description);
    entry.device = device;
    return device;
  }

  void finish() {
    Patience patience;
    if (!lock_within(mutex_, patience)) return;
    for (auto& [name, entry] : devices_) {
      if (auto device = entry.device.lock()) device->finish_at_exit();
    }
    tell_untold_failures();
    mutex_.unlock();
  }

 private:
  /// fork() must not fail for want of memory, so what holds the devices meanwhile lies here.
  struct Entry {
    std::weak_ptr<RuntimeDevice> device;
    std::shared_ptr<RuntimeDevice> held;  ///< by a fork()
  };

  Registry() {
    prepare_unmap_watch();
    HolderTable::prepare();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }

  // During a fork() all devices are locked, because the child gets a copy of them, and no thread
  // may be half way through a change. They are held so that none is destroyed in between.
  static void before_fork() {
    Registry& self = instance();
    self.mutex_.lock();
    InterfaceWatcher::instance().before_fork();
    for (auto& [name, entry] : self.devices_) {
      entry.held = entry.device.lock();
      if (entry.held != nullptr) entry.held->before_fork();
    }
  }
  std::shared_ptr<RuntimeDevice> take_held() {
    std::lock_guard lock(mutex_);
    for (auto& [name, entry] : devices_) {
      if (entry.held != nullptr) return std::move(entry.held);
    }
    return nullptr;
  }
  static void after_fork_in_parent() {
    Registry& self = instance();
    for (auto& [name, entry] : self.devices_) {
      if (entry.held != nullptr) entry.held->after_fork_in_parent();
    }
    InterfaceWatcher::instance().after_fork_in_parent();
    self.mutex_.unlock();
    // Without the mutex: what was the last one destroys the device, which may wait for others.
    while (self.take_held() != nullptr) continue;
  }
  static void after_fork_in_child() {
    const Uncancelled uncancelled;
    Registry& self = instance();
    for (auto& [name, entry] : self.devices_) {
      if (entry.held != nullptr) entry.held->after_fork_in_child();
    }
    InterfaceWatcher::instance().after_fork_in_child();
    forget_failures();
    self.devices_.clear();
    self.mutex_.unlock();
  }

  std::mutex mutex_;
  std::map<std::string, Entry> devices_;
};

}  // namespace

Expected<std::shared_ptr<RuntimeDevice>, Errno> open_runtime_device(const std::string& name) {
  try {
    return Registry::instance().open(name);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
}

void finish_runtime_devices() noexcept {
  const Uncancelled uncancelled;
  Registry::instance().finish();
}

std::vector<DeviceDescription> list_runtime_devices() {
  if (device_tree().empty()) return {};
  return read_devices(device_tree());
}

void prepare_runtime_devices() {
  Registry::instance();
}

bool is_runtime_device(const std::string& name) {
  return !device_tree().empty() && read_device(device_tree(), name).has_value();
}

}  // namespace urxe
