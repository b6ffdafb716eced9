// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/dynamic_library.h"

namespace urxe::doctor {

Expected<void*, std::string> open_library(const char* name) {
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const why = dlerror();
  return Unexpected<std::string>(why != nullptr ? why : std::string(name) + " cannot be loaded");
}

}  // namespace urxe::doctor
