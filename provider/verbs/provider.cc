// SPDX-License-Identifier: BSD-2-Clause
// Registers the provider with libibverbs, and matches the devices that libibverbs finds.
#include <cstdlib>

#include "provider/cm/install.h"
#include "provider/runtime/device/device_registry.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/context.h"
#include "provider/verbs/library.h"
#include "provider/verbs/objects.h"
#include "provider/verbs/private_abi.h"

namespace urxe {
namespace {

bool match_device(abi::VerbsSysfsDev* device) noexcept {
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
    .import_context = nullptr,
    .alloc_device = alloc_device,
    .uninit_device = uninit_device,
};

[[gnu::constructor]] void register_provider() noexcept {
  if (!find_library()) {
    try {
      print_error(
          "this libibverbs has another private interface than the provider was built for "
          "(IBVERBS_PRIVATE_34: rdma-core 36 to 56), so urxe's devices cannot be used; run with "
          "a libibverbs of one of these releases");
    } catch (...) {
      return;
    }
    return;
  }
  register_event_sink(kVerbsEventSink);
  library().register_driver(&kDeviceOps);
  cm::install();
}

[[gnu::destructor]] void finish_provider() noexcept {
  finish_runtime_devices();
}

}  // namespace
}  // namespace urxe
