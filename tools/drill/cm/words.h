// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/drill/script.h"
#include "tools/drill/vocabulary.h"

namespace urxe::drill {

// The words of scripts that drive a connection manager.

/// What a `call` statement does.
enum class Call : uint8_t {
  kListen,
  kConnect,
  kAccept,
  kConfirm,
  kReject,
  kDelay,
  kDisconnect,
  kAnswerDisconnect,
  kDestroy,
};

/// What `<`, `>` and `event` are in such a script; nullopt: the verb has no place in it.
std::optional<Verb> cm_verb_of(Verb verb);
/// As the functions of vocabulary.h, for the verbs of such scripts.
Kind cm_kind_of(Verb verb, std::string_view key);
std::optional<uint64_t> cm_subject_of(Verb verb, std::string_view word);
/// The word of an event.
std::string_view cm_event_name(uint64_t event);

}  // namespace urxe::drill
