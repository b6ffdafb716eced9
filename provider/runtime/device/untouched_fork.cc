// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/untouched_fork.h"

#include <dlfcn.h>

#include <cstddef>

namespace urxe {

// Nothing is done to memory of no bytes. After the first such call ibv_fork_init() is too late.
void keep_fork_untouched() {
  using DontFork = int (*)(void* base, size_t size);
  // Under this name those drivers have it. A program's own copy they do not touch.
  void* const library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto dont_fork = reinterpret_cast<DontFork>(dlsym(library, "ibv_dontfork_range"));
  if (dont_fork != nullptr) (void)dont_fork(nullptr, 0);
  dlclose(library);
}

}  // namespace urxe
