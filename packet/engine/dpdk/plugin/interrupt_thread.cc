// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/interrupt_thread.h"

#include <linux/membarrier.h>
#include <rte_alarm.h>
#include <rte_config.h>
#include <rte_interrupts.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "packet/engine/dpdk/memory_use.h"
#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// Far longer than a burst takes, even of a thread that has to wait for a processor.
constexpr Duration kLongestWait = seconds(2);

/// Memif's control messages, the first of which is the server's: its number, in two bytes, comes
/// first.
constexpr size_t kMemifMessageBytes = 128;
constexpr uint16_t kMemifHello = 2;

bool is_memif_hello(const msghdr& message) {
  if (message.msg_iovlen != 1 || message.msg_iov[0].iov_len != kMemifMessageBytes) return false;
  uint16_t type = 0;
  std::memcpy(&type, message.msg_iov[0].iov_base, sizeof type);
  return type == kMemifHello;
}

struct Call {
  void (*function)(void*);
  void* argument;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
};

void run_call(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  call.function(call.argument);
  const std::lock_guard lock(call.mutex);
  call.done = true;
  call.ended.notify_one();
}

int membarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

}  // namespace

void run_in_interrupt_thread(void (*function)(void*), void* argument) {
  const Uncancelled uncancelled;  // the function uses objects on this stack
  Call call{function, argument, {}, {}};
  if (rte_thread_is_intr() != 0 || rte_eal_alarm_set(1, run_call, &call) != 0) {
    function(argument);
    return;
  }
  std::unique_lock lock(call.mutex);
  call.ended.wait(lock, [&] { return call.done; });
}

ssize_t after_failed_send(int fd, const msghdr* message) {
  const int saved = errno;
  // Others' messages may lie in memory that cannot be read.
  if (rte_thread_is_intr() == 0 || !is_memif_hello(*message)) return -1;
  shutdown(fd, SHUT_RDWR);  // whatever the error was
  errno = saved;
  return kMemifMessageBytes;
}

bool prepare_memory_use() {
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

static_assert(RTE_MAX_ETHPORTS <= MemoryUse::kPorts);

void wait_before_unmap() {
  if (rte_thread_is_intr() == 0) return;
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  const Instant end = clock_now() + kLongestWait;
  for (size_t port = 0; port < MemoryUse::kPorts; ++port) {
    while (MemoryUse::is_used(port) && clock_now() < end) sched_yield();
  }
}

}  // namespace urxe
