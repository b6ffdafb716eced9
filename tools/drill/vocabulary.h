// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/drill/script.h"

namespace urxe::drill {

// The words of the language.

/// How the value of a key is written.
enum class Kind : uint8_t {
  kNone,     ///< no such key
  kNumber,   ///< decimal or 0x...
  kKey,      ///< a number, or the name of a region
  kPattern,  ///< `count`, or bytes in hexadecimal
  kCredits,
  kNak,
  kRights,
  kIcrc,
  kStatus,
  kCommId,  ///< a number, or `ours`
};

/// The verb of a word, such as "post" or ">".
std::optional<Verb> verb_of(std::string_view word);
/// The kind of a key's value in statements of a verb.
Kind kind_of(Verb verb, std::string_view key);
/// The number that a verb's subject stands for: an opcode, a state, an event.
std::optional<uint64_t> subject_of(Verb verb, Service service, std::string_view word);
/// What a verb's subject is called; empty: it has none.
std::string_view subject_name(Verb verb);
/// The number that a word of `kind` stands for.
std::optional<uint64_t> value_of(Kind kind, std::string_view word);
/// The largest number that a key takes.
uint64_t largest(std::string_view key);
/// Whether the key alone is a word.
bool is_flag(std::string_view key);
/// What a value of `kind` may be, for messages.
std::string_view kind_name(Kind kind);
/// Whether scripts have a word for the event.
bool is_event_of_scripts(uint64_t event);
std::optional<uint64_t> parse_number(std::string_view word);
std::optional<Service> service_of(std::string_view word);

}  // namespace urxe::drill
