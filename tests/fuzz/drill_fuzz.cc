// SPDX-License-Identifier: BSD-2-Clause
// The language of urxe drill. An input is a script, any bytes.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/drill/script.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace urxe::drill;
  const auto script = parse_script({reinterpret_cast<const char*>(data), size});
  if (!script) {
    require(script.error().line > 0 && script.error().column > 0, "an error names its place");
    return 0;
  }
  const auto again = parse_script(to_text(*script));
  require(again.has_value(), "the text of a script is a script");
  require(again->statements.size() == script->statements.size(), "with the same statements");
  return 0;
}
