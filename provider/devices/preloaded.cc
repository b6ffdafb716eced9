// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/preloaded.h"

#include <dlfcn.h>

namespace urxe {

const urxe_presence* find_presence(uint32_t first_version) {
  void* const symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
  if (symbol == nullptr) return nullptr;
  const urxe_presence* const presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
  return presence->version >= first_version ? presence : nullptr;
}

}  // namespace urxe
