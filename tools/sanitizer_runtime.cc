// SPDX-License-Identifier: BSD-2-Clause
#include "tools/sanitizer_runtime.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/elf_file.h"
#include "tools/program_file.h"

namespace urxe {
namespace {

constexpr std::array<std::string_view, 6> kRuntimes{"libasan.so",        "libtsan.so",
                                                    "liblsan.so",        "libhwasan.so",
                                                    "libclang_rt.asan-", "libclang_rt.tsan-"};

bool is_runtime(std::string_view name) {
  return std::ranges::any_of(kRuntimes, [&](std::string_view it) { return name.starts_with(it); });
}

}  // namespace

std::string find_sanitizer_runtime(const std::string& program) {
  const auto names = needed_libraries(executed_file(program));
  const auto found = std::ranges::find_if(names, is_runtime);
  return found != names.end() ? *found : "";
}

}  // namespace urxe
