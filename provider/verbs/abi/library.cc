// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/abi/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "provider/devices/identity.h"

namespace urxe {
namespace {

/// A private ABI that the provider serves. A library has one of them.
struct PrivateAbi {
  int number;
  int release;  ///< as Library::release
  const char* register_driver;
  const char* symbol_version;
};
constexpr std::array kServed{
    PrivateAbi{34, 36, "verbs_register_driver_34", "IBVERBS_PRIVATE_34"},
    PrivateAbi{57, 57, "verbs_register_driver_57", "IBVERBS_PRIVATE_57"},
    PrivateAbi{59, 59, "verbs_register_driver_59", "IBVERBS_PRIVATE_59"},
    PrivateAbi{64, 64, "verbs_register_driver_64", "IBVERBS_PRIVATE_64"},
    PrivateAbi{65, 65, "verbs_register_driver_65", "IBVERBS_PRIVATE_65"},
};
// What others are told.
static_assert(std::ranges::equal(kServed, kServedAbis, {}, &PrivateAbi::number));

constinit Library the_library;

template <class Function>
bool find(void* handle, const char* name, const char* version, Function& function) {
  function = reinterpret_cast<Function>(dlvsym(handle, name, version));
  return function != nullptr;
}

/// Operations were added in rdma-core 62 under the number of 59, with a public function.
int release_of(void* handle, const PrivateAbi& abi) {
  if (abi.number != 59) return abi.release;
  return dlvsym(handle, "ibv_dm_export_dmabuf_fd", "IBVERBS_1.16") != nullptr ? 62 : 59;
}

/// The path of a loaded shared object; ends with a null byte.
struct ObjectPath {
  std::array<char, PATH_MAX> text{};
};

/// Copies the path of the first loaded object whose name begins with "libibverbs".
int take_libibverbs(dl_phdr_info* object, size_t /*size*/, void* result) {
  const std::string_view path = object->dlpi_name;
  auto& text = static_cast<ObjectPath*>(result)->text;
  const size_t name_at = path.rfind('/') + 1;  // 0 if there is no slash
  if (!path.substr(name_at).starts_with("libibverbs") || path.size() >= text.size()) return 0;
  *std::ranges::copy(path, text.begin()).out = '\0';
  return 1;
}

/// The loaded libibverbs. One that a program brings along may have more in its name:
/// "libibverbs-5f2d.so.1" in a Python wheel. By handle, as the application may have loaded it
/// without making its symbols global.
void* loaded_libibverbs() {
  constexpr int kLoaded = RTLD_LAZY | RTLD_NOLOAD;
  if (void* handle = dlopen("libibverbs.so.1", kLoaded); handle != nullptr) return handle;
  ObjectPath path;
  if (dl_iterate_phdr(take_libibverbs, &path) == 0) return RTLD_DEFAULT;
  void* handle = dlopen(path.text.data(), kLoaded);
  return handle != nullptr ? handle : RTLD_DEFAULT;
}

bool find_functions(void* handle, const PrivateAbi& abi) {
  the_library.private_abi = abi.number;
  the_library.release = release_of(handle, abi);
  const char* version = abi.symbol_version;
  return find(handle, abi.register_driver, version, the_library.register_driver) &&
         find(handle, "_verbs_init_and_alloc_context", version,
              the_library.init_and_alloc_context) &&
         find(handle, "verbs_set_ops", version, the_library.set_ops) &&
         find(handle, "verbs_uninit_context", version, the_library.uninit_context);
}

bool find_layouts(void* handle) {
  QpToQpEx to_qp_ex = nullptr;
  if (!find(handle, "ibv_qp_to_qp_ex", "IBVERBS_1.6", to_qp_ex)) return false;
  const auto qp_layout = find_qp_layout(to_qp_ex);
  if (qp_layout) the_library.qp_layout = *qp_layout;
  return qp_layout.has_value();
}

}  // namespace

bool find_library() noexcept {
  void* const handle = loaded_libibverbs();
  for (const PrivateAbi& abi : kServed) {
    if (find_functions(handle, abi)) return find_layouts(handle);
  }
  return false;
}

const Library& library() noexcept {
  return the_library;
}

}  // namespace urxe
