// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/wire/opcode.h"

namespace urxe::drill {

/// A word `key=value` of a statement; `key` alone has the value 1.
struct Word {
  std::string key;
  std::string text;     ///< as written
  uint64_t number = 0;  ///< of numbers, and of words that stand for one
};

enum class Verb : uint8_t {
  kQp,
  kRegion,
  kPost,
  kReceive,
  kSrq,
  kIn,
  kOut,
  kCompletion,
  kEvent,
  kState,
  kModify,
  kMemory,
  kNothing,
  // Of scripts that drive a connection manager.
  kCm,
  kCall,
  kMessageIn,
  kMessageOut,
  kCmEvent,
};

/// When a statement happens, from the start of the script or from the statement before it.
struct When {
  bool absolute = false;
  Duration earliest;
  Duration latest;
};

struct Statement {
  int line = 0;
  std::string source;  ///< the line as written
  std::optional<When> when;
  Verb verb = Verb::kNothing;
  std::string subject;      ///< opcode, state, region or status
  uint64_t subject_id = 0;  ///< its number
  std::vector<Word> words;

  [[nodiscard]] const Word* find(std::string_view key) const;
  [[nodiscard]] uint64_t number(std::string_view key, uint64_t otherwise = 0) const;
};

struct Script {
  std::string title;
  std::string section;  ///< of the specification
  Service service = Service::kRc;
  bool is_cm = false;  ///< it drives a connection manager, not a queue pair
  std::vector<Statement> statements;
};

struct ParseError {
  int line = 0;
  int column = 0;  ///< from 1
  std::string expected;
};

/// Takes any bytes. The first mistake ends it.
Expected<Script, ParseError> parse_script(std::string_view text);

/// The script as text that parses to the same script.
std::string to_text(const Script& script);

}  // namespace urxe::drill
