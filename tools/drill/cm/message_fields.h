// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "packet/wire/cm/cm_message.h"
#include "tools/drill/script.h"
#include "tools/drill/stage.h"

namespace urxe::drill {

/// The numbers that the messages of a script's peer have, unless the script says otherwise.
inline constexpr CommId kScriptPeerId{0x70000001};
inline constexpr ServiceId kScriptService{0x01061234};
inline constexpr uint8_t kScriptLifetime = 16;

/// The value of a field; nullopt: the message has no such field. `timeout` is how long the sender
/// of a REQ waits for the answer, or the time that an MRA asks for.
std::optional<uint64_t> field_of(const CmMessage& message, std::string_view key);
/// Sets a field, if the message has it. `timeout` of a REQ: how long either end waits.
void set_field(CmMessage& message, std::string_view key, uint64_t value);
/// A message of the peer's, to `ours`, before the fields of a statement are set.
CmMessage message_of(CmAttribute attribute, CommId ours);

/// Remembers the transaction of a REQ that was sent: a REP, MRA or REJ that answers it has the same
/// (answer_request()), unless the script says otherwise.
void note_request(const CmMessage& sent, std::optional<uint64_t>& transaction);
void answer_request(CmMessage& message, const std::optional<uint64_t>& transaction);
/// The request of a `call CONNECT`.
CmReq request_of(const Statement& call);

/// What a word of a statement stands for, in a message that has `came` in its place.
using Meaning = std::function<uint64_t(const Word& word, uint64_t came)>;
/// Where a MAD differs from a statement.
Comparison compare_message(const Statement& statement, std::span<const uint8_t> mad,
                           const Meaning& meaning);
std::string show_message(std::span<const uint8_t> mad);

}  // namespace urxe::drill
