// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/cm_translation.h"

namespace urxe::replay {
namespace {

/// Where the sender's id is in a message; nullptr: it has none.
CommId* sender_place(CmBody& body) {
  return std::visit(
      [](auto& message) -> CommId* {
        using Body = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Body, CmSidrReq>) {
          return &message.request_id;
        } else if constexpr (requires { message.local_comm_id; }) {
          return &message.local_comm_id;
        } else {
          return nullptr;
        }
      },
      body);
}

CommId* receiver_place(CmBody& body) {
  return std::visit(
      [](auto& message) -> CommId* {
        using Body = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Body, CmSidrRep>) {
          return &message.request_id;
        } else if constexpr (requires { message.remote_comm_id; }) {
          return &message.remote_comm_id;
        } else {
          return nullptr;
        }
      },
      body);
}

template <class Key>
Key translated(const std::map<Key, Key>& map, Key key) {
  const auto it = map.find(key);
  return it != map.end() ? it->second : key;
}

}  // namespace

std::optional<CommId> sender_id(const CmBody& body) {
  CmBody copy = body;
  const CommId* place = sender_place(copy);
  return place != nullptr ? std::optional(*place) : std::nullopt;
}

std::optional<CommId> receiver_id(const CmBody& body) {
  CmBody copy = body;
  const CommId* place = receiver_place(copy);
  return place != nullptr ? std::optional(*place) : std::nullopt;
}

bool begins_transaction(const CmBody& body) {
  return std::holds_alternative<CmReq>(body) || std::holds_alternative<CmDreq>(body) ||
         std::holds_alternative<CmSidrReq>(body) || std::holds_alternative<CmLap>(body);
}

CmMessage CmTranslation::for_us(CmMessage message) const {
  if (CommId* id = receiver_place(message.body)) *id = translated(ours_, *id);
  if (!begins_transaction(message.body)) {
    message.transaction_id = translated(our_transactions_, message.transaction_id);
  }
  return message;
}

void CmTranslation::learn(const CmMessage& ours, const CmMessage& recorded) {
  const auto our_id = sender_id(ours.body);
  const auto recorded_id = sender_id(recorded.body);
  // Who has no communication for what it refuses says 0.
  if (our_id && recorded_id && *recorded_id != CommId{} && !ours_.contains(*recorded_id)) {
    ours_[*recorded_id] = *our_id;
    recorded_[*our_id] = *recorded_id;
  }
  if (!begins_transaction(recorded.body)) return;
  our_transactions_[recorded.transaction_id] = ours.transaction_id;
  recorded_transactions_[ours.transaction_id] = recorded.transaction_id;
}

CmMessage CmTranslation::as_recorded(CmMessage message) const {
  if (CommId* id = sender_place(message.body)) *id = translated(recorded_, *id);
  message.transaction_id = translated(recorded_transactions_, message.transaction_id);
  return message;
}

std::optional<CommId> CmTranslation::ours_for(CommId recorded) const {
  const auto it = ours_.find(recorded);
  return it != ours_.end() ? std::optional(it->second) : std::nullopt;
}

}  // namespace urxe::replay
