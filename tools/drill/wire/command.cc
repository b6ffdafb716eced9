// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/command.h"

#include <optional>
#include <sstream>

#include "tools/drill/vocabulary.h"
#include "tools/drill/wire/agent.h"
#include "tools/drill/wire/hexadecimal.h"

namespace urxe::drill {
namespace {

std::optional<uint64_t> next_number(std::istringstream& words, uint64_t most) {
  std::string word;
  words >> word;
  const auto number = parse_number(word);
  return number && *number <= most ? number : std::nullopt;
}

Unexpected<BadCommand> bad_command(std::string expected, bool ends_session) {
  return Unexpected<BadCommand>(BadCommand{std::move(expected), ends_session});
}

Expected<Command, BadCommand> parse_take_script(std::istringstream& words) {
  const auto size = next_number(words, kMostScriptBytes);
  const auto qpn = next_number(words, 0xffffff);
  std::string gid;
  words >> gid;
  const auto address = from_hexadecimal(gid);
  if (!size || !qpn || !address || address->size() != sizeof(Gid::bytes)) {
    return bad_command("script BYTES QPN GID", true);
  }
  return TakeScript{*size, static_cast<uint32_t>(*qpn), Gid::from_ipv6(address->data())};
}

Expected<Command, BadCommand> parse_read_memory(std::istringstream& words) {
  std::string name;
  words >> name;
  const auto offset = next_number(words, UINT32_MAX);
  const auto length = next_number(words, kMostMemoryBytes);
  if (!offset || !length) return bad_command("memory NAME OFFSET LENGTH", false);
  return ReadMemory{name, static_cast<uint32_t>(*offset), static_cast<uint32_t>(*length)};
}

}  // namespace

Expected<Command, BadCommand> parse_command(const std::string& line) {
  std::istringstream words(line);
  std::string request;
  words >> request;
  if (request == "script") return parse_take_script(words);
  if (request == "memory") return parse_read_memory(words);
  if (request == "poll") return PollReports{};
  if (request == "state") return AskState{};
  if (request != "do") return bad_command("script, do, poll, state or memory", true);
  const auto index = next_number(words, UINT32_MAX);
  if (!index) return bad_command("do N, of a statement of the script", false);
  return DoStatement{*index};
}

}  // namespace urxe::drill
