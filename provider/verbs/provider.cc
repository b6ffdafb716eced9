// SPDX-License-Identifier: BSD-2-Clause
// Registers the provider with libibverbs, and matches the devices that libibverbs finds.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "packet/host/throwing.h"
#include "provider/cm/install.h"
#include "provider/devices/identity.h"
#include "provider/netlink/install.h"
#include "provider/runtime/device/device_registry.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/unmap_watch.h"
#include "provider/umad/install.h"
#include "provider/verbs/abi/library.h"
#include "provider/verbs/abi/private_abi.h"
#include "provider/verbs/context.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

bool match_device(abi::VerbsSysfsDev* device) noexcept {
  if (!can_throw()) {
    report_lack("look for devices", ENOMEM);
    return false;
  }
  try {
    return is_runtime_device(device->ibdev_name);
  } catch (...) {
    return false;
  }
}

abi::VerbsDevice* alloc_device(abi::VerbsSysfsDev* /*device*/) noexcept {
  return static_cast<abi::VerbsDevice*>(std::calloc(1, sizeof(abi::VerbsDevice)));
}

void uninit_device(abi::VerbsDevice* device) noexcept {
  std::free(device);
}

constexpr abi::VerbsDeviceOps kDeviceOps = {
    .name = "urxe",
    .match_min_abi_version = 0,
    .match_max_abi_version = UINT32_MAX,
    .match_table = nullptr,
    .static_providers = nullptr,
    .match_device = match_device,
    .alloc_context = alloc_context,
    .import_context = import_context,
    .alloc_device = alloc_device,
    .uninit_device = uninit_device,
};

/// libibverbs loads the provider by a name that ends with its own number.
std::string own_name() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&match_device), &info) == 0) return "";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

void refuse_library() {
  print_error("this libibverbs, which has asked for " + own_name() +
              ", is of no release that urxe serves, so its devices cannot be used; run with a "
              "libibverbs of " +
              kServedLibraries);
}

[[gnu::constructor]] void register_provider() noexcept {
  if (!can_throw()) return report_lack("load urxe", ENOMEM);
  if (!find_library()) {
    try {
      refuse_library();
    } catch (...) {
      return;
    }
    return;
  }
  prepare_unmap_watch();
  register_event_sink(kVerbsEventSink);
  library().register_driver(&kDeviceOps);
  cm::install();
  netlink::install();
  umad::install();
}

[[gnu::destructor]] void finish_provider() noexcept {
  finish_runtime_devices();
}

}  // namespace
}  // namespace urxe
