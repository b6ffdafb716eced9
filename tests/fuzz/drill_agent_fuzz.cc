// SPDX-License-Identifier: BSD-2-Clause
// What a client of an agent of urxe drill sends. An input is its side of a connection, any bytes:
// requests, and scripts behind those that announce one. No device is needed: what is checked is
// that only what is within the bounds of the protocol gets to one.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "tools/drill/script.h"
#include "tools/drill/wire/agent.h"
#include "tools/drill/wire/command.h"

namespace {

using namespace urxe::drill;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

/// Takes the script that a request announces off what follows. False: it ends early.
bool take_script(const TakeScript& command, std::string_view& rest) {
  require(command.bytes <= kMostScriptBytes, "a script is bounded");
  require(command.qpn <= 0xffffff, "a queue pair number has 24 bits");
  if (rest.size() < command.bytes) return false;
  (void)parse_script(rest.substr(0, command.bytes));
  rest.remove_prefix(command.bytes);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const auto command = parse_command(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!command) {
      require(!command.error().expected.empty(), "an error says what was expected");
      if (command.error().ends_session) return 0;
      continue;
    }
    if (const auto* read = std::get_if<ReadMemory>(&*command)) {
      require(read->length <= kMostMemoryBytes, "an answer is bounded");
    }
    const auto* script = std::get_if<TakeScript>(&*command);
    if (script != nullptr && !take_script(*script, rest)) return 0;
  }
  return 0;
}
