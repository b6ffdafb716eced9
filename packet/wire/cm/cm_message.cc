// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/cm/cm_message.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "packet/wire/cm/cm_fields.h"
#include "packet/wire/cm/cm_layout.h"

namespace urxe {
namespace {

// The alternatives of CmBody stand in the order of their attributes, without gaps.
static_assert(std::variant_size_v<CmBody> == kCmAttributes);
template <class Message, CmAttribute kAttribute>
constexpr bool kIsAt = std::is_same_v<
    Message, std::variant_alternative_t<
                 static_cast<size_t>(kAttribute) - static_cast<size_t>(CmAttribute::kReq), CmBody>>;
static_assert(kIsAt<CmReq, CmAttribute::kReq> && kIsAt<CmMra, CmAttribute::kMra> &&
              kIsAt<CmRej, CmAttribute::kRej> && kIsAt<CmRep, CmAttribute::kRep> &&
              kIsAt<CmRtu, CmAttribute::kRtu> && kIsAt<CmDreq, CmAttribute::kDreq> &&
              kIsAt<CmDrep, CmAttribute::kDrep> && kIsAt<CmSidrReq, CmAttribute::kSidrReq> &&
              kIsAt<CmSidrRep, CmAttribute::kSidrRep> && kIsAt<CmLap, CmAttribute::kLap> &&
              kIsAt<CmApr, CmAttribute::kApr>);

template <class Message>
concept HasEce = requires(Message message) {
  message.ece;
};

using ParsedBody = Expected<CmBody, MadDropReason>;

template <class Message>
ParsedBody parse_body(MadView mad, const MadHeader& header) {
  Message message;
  CmFieldReader reader(mad);
  layout(reader, message);
  if (!reader.legal()) return Unexpected<MadDropReason>(MadDropReason::kMalformed);
  if constexpr (HasEce<Message>) message.ece.attr_mod = header.attribute_modifier;
  return message;
}

/// parse_body() of the alternative `index` of CmBody.
template <size_t... I>
ParsedBody parse_alternative(size_t index, MadView mad, const MadHeader& header,
                             std::index_sequence<I...>) {
  constexpr ParsedBody (*kParsers[])(
      MadView, const MadHeader&) = {parse_body<std::variant_alternative_t<I, CmBody>>...};
  return kParsers[index](mad, header);
}

std::optional<MadDropReason> refuse(const MadHeader& header) {
  if (header.base_version != kMadBaseVersion) return MadDropReason::kVersion;
  if (header.management_class != kCmClass) return MadDropReason::kClass;
  if (header.class_version != kCmClassVersion) return MadDropReason::kVersion;
  if (header.method != kMadMethodSend) return MadDropReason::kMethod;
  const int index = header.attribute_id - static_cast<int>(CmAttribute::kReq);
  if (index < 0 || index >= static_cast<int>(kCmAttributes)) {
    return MadDropReason::kUnknownAttribute;
  }
  return std::nullopt;
}

}  // namespace

CmAttribute attribute_of(const CmBody& body) {
  return static_cast<CmAttribute>(static_cast<size_t>(CmAttribute::kReq) + body.index());
}

Expected<MadHeader, MadDropReason> parse_cm_header(std::span<const uint8_t> mad) {
  if (mad.size() != kMadBytes) return Unexpected<MadDropReason>(MadDropReason::kLength);
  const MadHeader header = read_mad_header(mad.first<kMadBytes>());
  if (const auto reason = refuse(header)) return Unexpected<MadDropReason>(*reason);
  return header;
}

Expected<CmMessage, MadDropReason> parse_cm_message(std::span<const uint8_t> mad) {
  const auto header = parse_cm_header(mad);
  if (!header) return Unexpected<MadDropReason>(header.error());
  const size_t index = header->attribute_id - static_cast<size_t>(CmAttribute::kReq);
  const auto body = parse_alternative(index, mad.first<kMadBytes>(), *header,
                                      std::make_index_sequence<kCmAttributes>{});
  if (!body) return Unexpected<MadDropReason>(body.error());
  return CmMessage{header->transaction_id, *body};
}

MadBytes emit_cm_message(const CmMessage& message) {
  MadBytes mad{};
  MadHeader header;
  header.transaction_id = message.transaction_id;
  header.attribute_id = static_cast<uint16_t>(attribute_of(message.body));
  std::visit(
      [&](const auto& body) {
        if constexpr (HasEce<decltype(body)>) header.attribute_modifier = body.ece.attr_mod;
        CmFieldWriter writer(mad);
        layout(writer, body);
      },
      message.body);
  write_mad_header(header, mad);
  return mad;
}

}  // namespace urxe
