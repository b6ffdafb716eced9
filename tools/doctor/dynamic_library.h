// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <dlfcn.h>

#include <string>

#include "packet/base/expected.h"

namespace urxe::doctor {

/// Loads a library that `urxe` is not linked with, for as long as the process lives. The error says
/// why it cannot be loaded.
Expected<void*, std::string> open_library(const char* name);

/// Sets `function` to the library's function of that name. False: it has none.
template <class Function>
bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace urxe::doctor
