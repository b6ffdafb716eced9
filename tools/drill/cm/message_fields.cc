// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/cm/message_fields.h"

#include <fmt/format.h>

#include "tools/drill/qp_attributes.h"

namespace urxe::drill {
namespace {

constexpr uint64_t kPeerTransaction = 0xabcd;
constexpr uint64_t kPeerGuid = 0x0200'00ff'fe00'0002ULL;
constexpr uint8_t kResponseTimeout = 20;  // 4.3 s
constexpr uint8_t kAckTimeout = 17;
constexpr uint8_t kAckDelay = 15;
constexpr uint8_t kRequestRetries = 3;

CmReq request_template() {
  CmReq req;
  req.service_id = kScriptService;
  req.remote_cm_response_timeout = req.local_cm_response_timeout = kResponseTimeout;
  req.max_cm_retries = kRequestRetries;
  req.primary.ack_timeout = kAckTimeout;
  req.path_mtu = IBV_MTU_1024;
  return req;
}

CmBody body_of(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::kReq: {
      CmReq req = request_template();
      req.local_ca_guid = kPeerGuid;
      req.local_qpn = Qpn{kScriptPeerQpn};
      return req;
    }
    case CmAttribute::kRep: {
      CmRep rep;
      rep.local_ca_guid = kPeerGuid;
      rep.local_qpn = Qpn{kScriptPeerQpn};
      rep.target_ack_delay = kAckDelay;
      return rep;
    }
    case CmAttribute::kMra:
      return CmMra{};
    case CmAttribute::kRej:
      return CmRej{};
    case CmAttribute::kRtu:
      return CmRtu{};
    case CmAttribute::kDreq: {
      CmDreq dreq;
      dreq.remote_qpn = Qpn{kScriptQpn};
      return dreq;
    }
    default:
      return CmDrep{};
  }
}

/// Calls `use(member)` with the part of the body that the key names, if there is one.
template <class Body, class Use>
void with_field(Body& body, std::string_view key, Use use) {
  if constexpr (requires { body.local_comm_id; }) {
    if (key == "local") use(body.local_comm_id);
  }
  if constexpr (requires { body.remote_comm_id; }) {
    if (key == "remote") use(body.remote_comm_id);
  }
  if constexpr (requires { body.local_qpn; }) {
    if (key == "qpn") use(body.local_qpn);
  }
  if constexpr (requires { body.remote_qpn; }) {
    if (key == "qpn") use(body.remote_qpn);
  }
  if constexpr (requires { body.starting_psn; }) {
    if (key == "psn") use(body.starting_psn);
  }
  if constexpr (requires { body.service_id; }) {
    if (key == "service") use(body.service_id);
  }
  if constexpr (requires { body.reason; }) {
    if (key == "reason") use(body.reason);
  }
  if constexpr (requires { body.answered; }) {
    if (key == "answered") use(body.answered);
  }
  if constexpr (requires { body.rejected; }) {
    if (key == "answered") use(body.rejected);
  }
  if constexpr (requires { body.service_timeout; }) {
    if (key == "timeout") use(body.service_timeout);
  }
  if constexpr (requires { body.remote_cm_response_timeout; }) {
    if (key == "timeout") use(body.remote_cm_response_timeout);
  }
  if constexpr (requires { body.max_cm_retries; }) {
    if (key == "retries") use(body.max_cm_retries);
  }
}

uint64_t plain(auto value) {
  if constexpr (requires { value.value(); }) {
    return value.value();
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <class Field>
void assign(Field& field, uint64_t value) {
  if constexpr (requires { typename Field::rep; }) {
    field = Field(static_cast<typename Field::rep>(value));
  } else if constexpr (requires { field.value(); }) {
    field = Field(static_cast<uint32_t>(value));
  } else {
    field = static_cast<Field>(value);
  }
}

}  // namespace

std::optional<uint64_t> field_of(const CmMessage& message, std::string_view key) {
  if (key == "transaction") return message.transaction_id;
  std::optional<uint64_t> found;
  std::visit(
      [&](const auto& body) {
        with_field(body, key, [&](const auto& field) { found = plain(field); });
      },
      message.body);
  return found;
}

void set_field(CmMessage& message, std::string_view key, uint64_t value) {
  if (key == "transaction") message.transaction_id = value;
  std::visit([&](auto& body) { with_field(body, key, [&](auto& field) { assign(field, value); }); },
             message.body);
  if (auto* req = std::get_if<CmReq>(&message.body); req != nullptr && key == "timeout") {
    req->local_cm_response_timeout = static_cast<uint8_t>(value);
  }
}

CmMessage message_of(CmAttribute attribute, CommId ours) {
  CmMessage message{kPeerTransaction, body_of(attribute)};
  set_field(message, "local", kScriptPeerId.value());
  set_field(message, "remote", ours.value());
  return message;
}

void note_request(const CmMessage& sent, std::optional<uint64_t>& transaction) {
  if (std::holds_alternative<CmReq>(sent.body)) transaction = sent.transaction_id;
}

void answer_request(CmMessage& message, const std::optional<uint64_t>& transaction) {
  const bool is_answer = std::holds_alternative<CmRep>(message.body) ||
                         std::holds_alternative<CmMra>(message.body) ||
                         std::holds_alternative<CmRej>(message.body);
  if (is_answer && transaction) message.transaction_id = *transaction;
}

CmReq request_of(const Statement& call) {
  CmMessage message{0, request_template()};
  set_field(message, "qpn", kScriptQpn);
  for (const Word& word : call.words) set_field(message, word.key, word.number);
  return std::get<CmReq>(message.body);
}

Comparison compare_message(const Statement& statement, std::span<const uint8_t> mad,
                           const Meaning& meaning) {
  const auto message = parse_cm_message(mad);
  if (!message) return Unexpected<std::string>(std::string("a message that cannot be parsed"));
  std::vector<Difference> found;
  const auto wanted = static_cast<CmAttribute>(statement.subject_id);
  const CmAttribute came = attribute_of(message->body);
  if (came != wanted) {
    found.push_back({"message", cm_attribute_name(wanted), cm_attribute_name(came)});
  }
  for (const Word& word : statement.words) {
    if (word.key == "optional") continue;
    const auto value = field_of(*message, word.key);
    const uint64_t expected = meaning(word, value.value_or(0));
    if (value == expected) continue;
    found.push_back({word.key, fmt::format("{:#x}", expected),
                     value ? fmt::format("{:#x}", *value) : std::string("none")});
  }
  return found;
}

std::string show_message(std::span<const uint8_t> mad) {
  const auto message = parse_cm_message(mad);
  if (!message) return "a message that cannot be parsed";
  std::string text = cm_attribute_name(attribute_of(message->body));
  for (const char* key : {"local", "remote", "qpn", "reason", "timeout"}) {
    if (const auto value = field_of(*message, key)) text += fmt::format(" {} {:#x}", key, *value);
  }
  return text;
}

}  // namespace urxe::drill
