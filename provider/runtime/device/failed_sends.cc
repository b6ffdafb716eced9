// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/failed_sends.h"

#include <dlfcn.h>

#include <cstdint>

#include "provider/presence/presence_abi.h"

namespace urxe {

void watch_failed_sends(ssize_t (*hook)(int fd, const msghdr* message)) {
  constexpr uint32_t kFirstWithHook = 8;
  void* const symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
  if (symbol == nullptr) return;
  const urxe_presence* const presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
  if (presence->version >= kFirstWithHook) presence->set_failed_send_hook(hook);
}

}  // namespace urxe
