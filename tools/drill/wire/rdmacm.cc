// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/rdmacm.h"

#include <dlfcn.h>

#include <optional>

namespace urxe::drill {
namespace {

constexpr const char* kLibrary = "librdmacm.so.1";

template <class Function>
bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Rdmacm> load_library() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  Rdmacm cm;
  const bool all = library != nullptr &&
                   find_function(library, "rdma_create_event_channel", cm.create_event_channel) &&
                   find_function(library, "rdma_destroy_event_channel", cm.destroy_event_channel) &&
                   find_function(library, "rdma_create_id", cm.create_id) &&
                   find_function(library, "rdma_destroy_id", cm.destroy_id) &&
                   find_function(library, "rdma_bind_addr", cm.bind_addr) &&
                   find_function(library, "rdma_listen", cm.listen) &&
                   find_function(library, "rdma_resolve_addr", cm.resolve_addr) &&
                   find_function(library, "rdma_resolve_route", cm.resolve_route) &&
                   find_function(library, "rdma_connect", cm.connect) &&
                   find_function(library, "rdma_accept", cm.accept) &&
                   find_function(library, "rdma_establish", cm.establish) &&
                   find_function(library, "rdma_reject", cm.reject) &&
                   find_function(library, "rdma_disconnect", cm.disconnect) &&
                   find_function(library, "rdma_get_cm_event", cm.get_cm_event) &&
                   find_function(library, "rdma_ack_cm_event", cm.ack_cm_event);
  return all ? std::optional(cm) : std::nullopt;
}

}  // namespace

Expected<const Rdmacm*, std::string> load_rdmacm() {
  static const std::optional<Rdmacm> loaded = load_library();
  if (loaded) return &*loaded;
  return Unexpected<std::string>(std::string(kLibrary) + ", with rdma_establish(3)");
}

}  // namespace urxe::drill
