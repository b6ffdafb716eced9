// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_tree.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "provider/presence/presence_abi.h"

namespace urxe {
namespace {

std::string find_tree() {
  if (void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1")) {
    const urxe_presence* presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
    if (presence->tree != nullptr) return presence->tree;
  }
  const char* value = secure_getenv("URXE_TREE");
  return value != nullptr ? value : "";
}

}  // namespace

// Never destroyed: threads and exit handlers may still ask.
const std::string& device_tree() {
  static const auto* const tree = new std::string(find_tree());
  return *tree;
}

}  // namespace urxe
