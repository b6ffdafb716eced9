// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/failed_sends.h"

#include <cstdint>

#include "provider/devices/preloaded.h"

namespace urxe {

void watch_failed_sends(ssize_t (*hook)(int fd, const msghdr* message)) {
  constexpr uint32_t kFirstWithHook = 8;
  const urxe_presence* const presence = find_presence(kFirstWithHook);
  if (presence != nullptr) presence->set_failed_send_hook(hook);
}

}  // namespace urxe
