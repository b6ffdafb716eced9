// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/library.h"

#include <dlfcn.h>

#include <array>

namespace urxe {
namespace {

/// A private ABI that the provider serves. A library has one of them.
struct PrivateAbi {
  int number;
  const char* register_driver;
  const char* symbol_version;
};
constexpr std::array kServed{PrivateAbi{34, "verbs_register_driver_34", "IBVERBS_PRIVATE_34"}};

constinit Library found;

template <class Function>
bool find(void* handle, const char* name, const char* version, Function& function) {
  function = reinterpret_cast<Function>(dlvsym(handle, name, version));
  return function != nullptr;
}

bool find_functions(void* handle, const PrivateAbi& abi) {
  found.private_abi = abi.number;
  const char* version = abi.symbol_version;
  return find(handle, abi.register_driver, version, found.register_driver) &&
         find(handle, "_verbs_init_and_alloc_context", version, found.init_and_alloc_context) &&
         find(handle, "verbs_set_ops", version, found.set_ops) &&
         find(handle, "verbs_uninit_context", version, found.uninit_context);
}

bool find_layouts(void* handle) {
  QpToQpEx to_qp_ex = nullptr;
  if (!find(handle, "ibv_qp_to_qp_ex", "IBVERBS_1.6", to_qp_ex)) return false;
  const auto qp_layout = find_qp_layout(to_qp_ex);
  if (qp_layout) found.qp_layout = *qp_layout;
  return qp_layout.has_value();
}

}  // namespace

bool find_library() noexcept {
  // By handle: the application may have loaded the library without making its symbols global.
  void* handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = RTLD_DEFAULT;
  for (const PrivateAbi& abi : kServed) {
    if (find_functions(handle, abi)) return find_layouts(handle);
  }
  return false;
}

const Library& library() noexcept {
  return found;
}

}  // namespace urxe
