// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/library.h"

#include <dlfcn.h>

namespace urxe {
namespace {

constinit Library found;

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlvsym(handle, name, abi::kSymbolVersion));
  return function != nullptr;
}

}  // namespace

bool find_library() noexcept {
  // By handle: the application may have loaded the library without making its symbols global.
  void* handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = RTLD_DEFAULT;
  return find(handle, abi::kRegisterDriver, found.register_driver) &&
         find(handle, "_verbs_init_and_alloc_context", found.init_and_alloc_context) &&
         find(handle, "verbs_set_ops", found.set_ops) &&
         find(handle, "verbs_uninit_context", found.uninit_context);
}

const Library& library() noexcept {
  return found;
}

}  // namespace urxe
