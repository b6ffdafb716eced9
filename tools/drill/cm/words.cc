// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/cm/words.h"

#include <algorithm>
#include <span>
#include <string>

#include "transport/cm/connection_manager.h"

namespace urxe::drill {
namespace {

struct CmWord {
  std::string_view name;
  uint64_t value;
};

constexpr uint64_t number(auto value) {
  return static_cast<uint64_t>(value);
}

using Event = CmEvent::Kind;
constexpr CmWord kCalls[] = {{"LISTEN", number(Call::kListen)},
                             {"CONNECT", number(Call::kConnect)},
                             {"ACCEPT", number(Call::kAccept)},
                             {"CONFIRM", number(Call::kConfirm)},
                             {"REJECT", number(Call::kReject)},
                             {"DELAY", number(Call::kDelay)},
                             {"DISCONNECT", number(Call::kDisconnect)},
                             {"ANSWER_DISCONNECT", number(Call::kAnswerDisconnect)},
                             {"DESTROY", number(Call::kDestroy)}};
constexpr CmWord kMessages[] = {
    {"REQ", number(CmAttribute::kReq)},  {"MRA", number(CmAttribute::kMra)},
    {"REJ", number(CmAttribute::kRej)},  {"REP", number(CmAttribute::kRep)},
    {"RTU", number(CmAttribute::kRtu)},  {"DREQ", number(CmAttribute::kDreq)},
    {"DREP", number(CmAttribute::kDrep)}};
constexpr CmWord kCmEvents[] = {{"REQUEST", number(Event::kRequest)},
                                {"REPLY", number(Event::kReply)},
                                {"ESTABLISHED", number(Event::kEstablished)},
                                {"REJECTED", number(Event::kRejected)},
                                {"REQUEST_TIMEOUT", number(Event::kRequestTimeout)},
                                {"REPLY_TIMEOUT", number(Event::kReplyTimeout)},
                                {"MRA", number(Event::kMra)},
                                {"DISCONNECT_REQUEST", number(Event::kDisconnectRequest)},
                                {"DISCONNECTED", number(Event::kDisconnected)},
                                {"DISCONNECT_TIMEOUT", number(Event::kDisconnectTimeout)},
                                {"TIME_WAIT_EXIT", number(Event::kTimeWaitExit)}};

std::optional<uint64_t> find_word(std::span<const CmWord> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const CmWord& row) { return row.name == name; });
  return found == table.end() ? std::nullopt : std::optional(found->value);
}

bool names_key(std::string_view keys, std::string_view key) {
  return keys.find(" " + std::string(key) + " ") != std::string_view::npos;
}

}  // namespace

std::optional<Verb> cm_verb_of(Verb verb) {
  switch (verb) {
    case Verb::kIn:
      return Verb::kMessageIn;
    case Verb::kOut:
      return Verb::kMessageOut;
    case Verb::kEvent:
      return Verb::kCmEvent;
    case Verb::kCall:
    case Verb::kNothing:
      return verb;
    default:
      return std::nullopt;
  }
}

Kind cm_kind_of(Verb verb, std::string_view key) {
  const bool is_message = verb == Verb::kMessageIn || verb == Verb::kMessageOut;
  if (is_message && (key == "local" || key == "remote")) return Kind::kCommId;
  if (is_message && names_key(" qpn psn service reason timeout retries transaction answered ", key))
    return Kind::kNumber;
  if (verb == Verb::kMessageOut && key == "optional") return Kind::kNumber;
  if (verb == Verb::kCall && names_key(" qpn psn service reason timeout retries ", key)) {
    return Kind::kNumber;
  }
  return Kind::kNone;
}

std::optional<uint64_t> cm_subject_of(Verb verb, std::string_view word) {
  if (verb == Verb::kCall) return find_word(kCalls, word);
  if (verb == Verb::kCmEvent) return find_word(kCmEvents, word);
  return find_word(kMessages, word);
}

std::string_view cm_event_name(uint64_t event) {
  const auto* const found = std::find_if(std::begin(kCmEvents), std::end(kCmEvents),
                                         [&](const CmWord& row) { return row.value == event; });
  return found == std::end(kCmEvents) ? "another event" : found->name;
}

}  // namespace urxe::drill
