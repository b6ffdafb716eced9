// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/eal.h"

#include <linux/memfd.h>
#include <pthread.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mempool.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "packet/base/engine_error.h"
#include "packet/engine/dpdk/plugin/eal_log.h"
#include "packet/engine/dpdk/plugin/interrupt_thread.h"
#include "packet/engine/dpdk/plugin/memif_socket.h"
#include "packet/engine/dpdk/plugin_abi.h"
#include "packet/host/descriptor_room.h"
#include "packet/host/start_thread.h"

namespace urxe {
namespace {

/// What EAL and a memif open.
constexpr size_t kDescriptorsOfEal = 20;

constexpr size_t kHugePageBytes = size_t{2} << 20;
/// 256 MiB of them.
constexpr unsigned kHugePagesNeeded = 128;

unsigned first_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) return cpu;
  }
  return 0;
}

/// Whether EAL would get the memory that it is told to take.
bool has_huge_pages() {
  unsigned free = 0;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> free;
  if (free < kHugePagesNeeded) return false;
  const int fd = memfd_create("urxe", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
  if (fd < 0) return false;
  void* const page =
      mmap(nullptr, kHugePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return false;
  munmap(page, kHugePageBytes);
  return true;
}

bool names_option(const std::vector<std::string>& words, std::string_view option) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word.starts_with(option); });
}

struct Start {
  std::vector<char*> words;  ///< the last one is null
  int result = 0;
  int error = 0;
};

void* start_main(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  start.result = rte_eal_init(static_cast<int>(start.words.size()) - 1, start.words.data());
  start.error = rte_errno;
  return nullptr;
}

/// The directory that EAL makes for files that other processes of DPDK look at; here there are
/// none.
void remove_runtime_directory() {
  const char* const directory = rte_eal_get_runtime_dir();
  if (directory == nullptr || *directory == '\0') return;
  rmdir(directory);
  const std::string path = directory;
  rmdir(path.substr(0, path.rfind('/')).c_str());  // that of all of them, if it is empty
}

}  // namespace

std::vector<std::string> port_names() {
  std::vector<std::string> names;
  for (uint64_t next = rte_eth_find_next_owned_by(0, RTE_ETH_DEV_NO_OWNER); next < RTE_MAX_ETHPORTS;
       next = rte_eth_find_next_owned_by(static_cast<uint16_t>(next + 1), RTE_ETH_DEV_NO_OWNER)) {
    const auto port = static_cast<uint16_t>(next);
    char name[RTE_ETH_NAME_MAX_LEN] = {};
    if (names.size() == kMostDpdkPorts) break;
    if (rte_eth_dev_get_name_by_port(port, name) == 0) names.emplace_back(name);
  }
  return names;
}

// Never destroyed: DPDK's threads outlive static objects.
Expected<Eal*, EngineError> Eal::start(const DpdkArguments& arguments) {
  static auto* const eal = new Eal;
  const pid_t by = eal->started_by_.load();
  if (by != 0 && by != getpid()) {
    return engine_failure(
        ENODEV,
        "DPDK cannot be used after fork(), since its threads are the parent's: the "
        "child must be a new program (execve), or use the engine udp");
  }
  const std::lock_guard lock(eal->mutex_);
  if (!eal->started_) {
    // Some lacks of descriptors would make DPDK abort the program.
    if (!has_descriptors(kDescriptorsOfEal)) {
      return engine_failure(EMFILE, "DPDK needs " + std::to_string(kDescriptorsOfEal) +
                                        " descriptors, and there are fewer");
    }
    auto result = eal->initialize(arguments.eal);
    // If only a device is missing, EAL runs, and has the others.
    eal->started_ = result || eal->is_ours_;
    if (eal->started_) eal->started_by_ = getpid();
    if (!eal->started_) eal->locks_.clear();
    if (!result) return Unexpected<EngineError>(std::move(result.error()));
  }
  return eal;
}

Expected<void, EngineError> Eal::initialize(const std::vector<std::string>& given) {
  const EalHost host{first_cpu(), has_huge_pages(), "urxe-" + std::to_string(getpid()),
                     default_memif_socket()};
  auto words = complete_eal_options(given, host);
  if (!words) return engine_failure(EINVAL, "--dpdk-args: " + words.error());
  devices_ = named_devices(*words);
  for (const std::string& device : devices_) {
    const std::string name = name_of_device(device);
    if (locks_.contains(name)) {
      return engine_failure(EINVAL, "--dpdk-args name the device '" + name + "' twice");
    }
    if (auto locked = lock_device(device); !locked) return locked;
  }
  EalLog& log = EalLog::instance();
  if (!log.attach()) return engine_failure(ENOMEM, "there is no memory for DPDK's log");
  log.keep();
  words->insert(words->begin(), "urxe");
  Start start;
  for (std::string& word : *words) start.words.push_back(word.data());
  start.words.push_back(nullptr);
  pthread_t thread{};
  const int wrong = start_thread(&thread, start_main, &start);
  if (wrong != 0)
    return engine_failure(wrong, std::string("no thread for DPDK: ") + std::strerror(wrong));
  pthread_join(thread, nullptr);
  const std::string logged = log.take();
  is_ours_ = start.result >= 0;
  if (is_ours_) remove_runtime_directory();
  if (is_ours_) {
    auto checked = check_devices(logged);
    // That a peer has closed its end is no error of this process.
    if (!names_option(given, "--log-level"))
      rte_log_set_level_pattern("pmd.net.memif", RTE_LOG_CRIT);
    return checked;
  }
  if (start.error == EALREADY)
    return failure_ ? Unexpected<EngineError>(*failure_) : Expected<void, EngineError>();
  remove_runtime_directory();
  const std::string why = logged.empty() ? std::string(rte_strerror(start.error)) : logged;
  const int errno_value = start.error != 0 ? start.error : EIO;
  // What EAL has begun stays.
  failure_ = {errno_value,
              "DPDK cannot be started again in this process, where it has failed: " + why};
  return engine_failure(errno_value, "DPDK does not start with these --dpdk-args: " + why);
}

/// EAL starts without virtual devices that their drivers refuse.
Expected<void, EngineError> Eal::check_devices(const std::string& logged) const {
  for (const std::string& device : devices_) {
    const std::string name = name_of_device(device);
    uint16_t port = 0;
    if (!name.starts_with("net_") || rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0)
      continue;
    return engine_failure(ENODEV, "DPDK cannot make the device '" + device + "'" +
                                      (logged.empty() ? "" : ": " + logged));
  }
  return {};
}

Expected<void, EngineError> Eal::lock_device(const std::string& device) {
  const DeviceKey key = key_of_device(device);
  const std::string name = name_of_device(device);
  if (auto shared = key.shared_by_ids ? lock_of(key) : nullptr; shared != nullptr) {
    locks_[name] = std::move(shared);
    return {};
  }
  auto lock = DeviceLock::take(key, name);
  if (!lock) return Unexpected<EngineError>(std::move(lock.error()));
  if (!key.memif_socket.empty()) {
    if (auto cleared = clear_memif_socket(key.memif_socket); !cleared) return cleared;
  }
  locks_[name] = std::make_shared<DeviceLock>(std::move(*lock));
  return {};
}

std::shared_ptr<DeviceLock> Eal::lock_of(const DeviceKey& key) const {
  for (const std::string& device : devices_) {
    const auto held = locks_.find(name_of_device(device));
    if (held != locks_.end() && key_of_device(device).text == key.text) return held->second;
  }
  return nullptr;
}

bool Eal::is_memif_client(const std::string& name) const {
  const std::string* const device = device_named(name);
  return device != nullptr && key_of_device(*device).text.find(" client ") != std::string::npos;
}

const std::string* Eal::device_named(const std::string& name) const {
  for (const std::string& device : devices_) {
    if (name_of_device(device) == name) return &device;
  }
  return nullptr;
}

Expected<uint16_t, EngineError> Eal::open_port(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (auto removed = remove_left(name); !removed) return Unexpected<EngineError>(removed.error());
  uint16_t port = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0) return port;
  const std::string* const device = is_ours_ ? device_named(name) : nullptr;
  if (device != nullptr) {
    if (auto locked = lock_device(*device); !locked) return Unexpected<EngineError>(locked.error());
    EalLog::instance().keep();
    const int result = rte_dev_probe(device->c_str());
    const std::string logged = EalLog::instance().take();
    if (result == 0 && rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0) return port;
    locks_.erase(name);
    return engine_failure(EIO, "DPDK does not find '" + *device + "' again: " + logged);
  }
  std::string found;
  for (const std::string& other : port_names()) found += (found.empty() ? "" : ", ") + other;
  return engine_failure(
      ENODEV, "DPDK has no port '" + name + "'; it has " + (found.empty() ? "none" : found));
}

void Eal::close_on_exec(const std::string& name) const {
  const std::string* const device = device_named(name);
  if (device != nullptr) close_memif_on_exec(memif_socket_of(*device));
}

void Eal::leave_port(const std::string& name, ConnectAttempt attempt, rte_mempool* pool) {
  const std::lock_guard lock(mutex_);
  left_.insert_or_assign(name, LeftPort{std::move(attempt), pool});
}

Expected<void, EngineError> Eal::remove_left(const std::string& name) {
  const auto left = left_.find(name);
  if (left == left_.end()) return {};
  if (!left->second.attempt.wait()) {
    return engine_failure(EBUSY, "the server of " + name +
                                     " takes no connection: it was stopped, or has no descriptors "
                                     "left");
  }
  if (remove_in_interrupt_thread(name)) rte_mempool_free(left->second.pool);
  left_.erase(left);
  return {};
}

bool Eal::close_port(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return remove_in_interrupt_thread(name);
}

bool Eal::remove_in_interrupt_thread(const std::string& name) {
  struct Closing {
    Eal* eal;
    const std::string& name;
    bool removed;
  } closing{this, name, false};
  run_in_interrupt_thread(
      [](void* argument) {
        auto& call = *static_cast<Closing*>(argument);
        call.removed = call.eal->remove_port(call.name);
      },
      &closing);
  return closing.removed;
}

bool Eal::remove_port(const std::string& name) {
  uint16_t port = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0) return true;
  rte_eth_dev_stop(port);
  rte_eth_dev_info info{};
  if (!is_ours_ || rte_eth_dev_info_get(port, &info) != 0 || device_named(name) == nullptr) {
    return false;
  }
  // The driver removes the ports of its device.
  if (rte_dev_remove(info.device) != 0) return false;
  const DeviceKey key = key_of_device(*device_named(name));
  locks_.erase(name);
  if (!key.memif_socket.empty() && lock_of(key) == nullptr) {
    silence_memif_listener(key.memif_socket);
  }
  return true;
}

void Eal::abandon() {
  for (auto& [name, lock] : locks_) lock->abandon();
  locks_.clear();
}

}  // namespace urxe
