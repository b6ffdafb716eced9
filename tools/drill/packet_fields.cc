// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/packet_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "packet/base/bytes.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/icrc.h"
#include "tools/drill/qp_attributes.h"
#include "tools/drill/vocabulary.h"

namespace urxe::drill {
namespace {

/// A field by its name: present if `extension` is, and kNone stands for the BTH.
struct FieldRow {
  std::string_view name;
  Ext extension;
  uint64_t (*get)(const Headers&);
  void (*set)(Headers&, uint64_t);
};

uint32_t immediate(const Headers& h) {
  uint8_t bytes[4];
  std::copy_n(reinterpret_cast<const uint8_t*>(&h.immediate_be), 4, bytes);
  return load_be32(bytes);
}

void set_immediate(Headers& h, uint64_t v) {
  uint8_t bytes[4];
  store_be32(bytes, static_cast<uint32_t>(v));
  std::copy_n(bytes, 4, reinterpret_cast<uint8_t*>(&h.immediate_be));
}

uint32_t low(uint64_t v) {
  return static_cast<uint32_t>(v);
}

constexpr Ext kAddressed = Ext::kReth | Ext::kAtomicEth;

const FieldRow kFields[] = {
    {"psn", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.psn.value(); },
     [](Headers& h, uint64_t v) { h.bth.psn = Psn(low(v)); }},
    {"ack", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.ack_req ? 1 : 0; },
     [](Headers& h, uint64_t v) { h.bth.ack_req = v != 0; }},
    {"solicited", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.solicited ? 1 : 0; },
     [](Headers& h, uint64_t v) { h.bth.solicited = v != 0; }},
    {"migreq", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.mig_req ? 1 : 0; },
     [](Headers& h, uint64_t v) { h.bth.mig_req = v != 0; }},
    {"pkey", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.pkey.value(); },
     [](Headers& h, uint64_t v) { h.bth.pkey = PKey(static_cast<uint16_t>(v)); }},
    {"qp", Ext::kNone, [](const Headers& h) -> uint64_t { return h.bth.dest_qp.value(); },
     [](Headers& h, uint64_t v) { h.bth.dest_qp = Qpn(low(v)); }},
    {"placement", Ext::kFeth, [](const Headers& h) -> uint64_t { return h.feth.placement; },
     [](Headers& h, uint64_t v) { h.feth.placement = static_cast<uint8_t>(v); }},
    {"selectivity", Ext::kFeth, [](const Headers& h) -> uint64_t { return h.feth.selectivity; },
     [](Headers& h, uint64_t v) { h.feth.selectivity = static_cast<uint8_t>(v); }},
    {"va", kAddressed,
     [](const Headers& h) {
       return has(opcode_info(h.bth.opcode).extensions, Ext::kReth) ? h.reth.va : h.atomic.va;
     },
     [](Headers& h, uint64_t v) { h.reth.va = h.atomic.va = v; }},
    {"rkey", kAddressed,
     [](const Headers& h) -> uint64_t {
       return has(opcode_info(h.bth.opcode).extensions, Ext::kReth) ? h.reth.rkey.value()
                                                                    : h.atomic.rkey.value();
     },
     [](Headers& h, uint64_t v) { h.reth.rkey = h.atomic.rkey = RKey(low(v)); }},
    {"dma", Ext::kReth, [](const Headers& h) -> uint64_t { return h.reth.dma_length; },
     [](Headers& h, uint64_t v) { h.reth.dma_length = low(v); }},
    {"swap", Ext::kAtomicEth, [](const Headers& h) { return h.atomic.swap_or_add; },
     [](Headers& h, uint64_t v) { h.atomic.swap_or_add = v; }},
    {"compare", Ext::kAtomicEth, [](const Headers& h) { return h.atomic.compare; },
     [](Headers& h, uint64_t v) { h.atomic.compare = v; }},
    {"original", Ext::kAtomicAckEth, [](const Headers& h) { return h.atomic_original; },
     [](Headers& h, uint64_t v) { h.atomic_original = v; }},
    {"imm", Ext::kImmDt, [](const Headers& h) -> uint64_t { return immediate(h); }, set_immediate},
    {"invalidate", Ext::kIeth, [](const Headers& h) -> uint64_t { return h.invalidate.value(); },
     [](Headers& h, uint64_t v) { h.invalidate = RKey(low(v)); }},
    {"qkey", Ext::kDeth, [](const Headers& h) -> uint64_t { return h.deth.qkey.value(); },
     [](Headers& h, uint64_t v) { h.deth.qkey = QKey(low(v)); }},
    {"from", Ext::kDeth, [](const Headers& h) -> uint64_t { return h.deth.source_qp.value(); },
     [](Headers& h, uint64_t v) { h.deth.source_qp = Qpn(low(v)); }},
    {"msn", Ext::kAeth, [](const Headers& h) -> uint64_t { return h.aeth.msn.value(); },
     [](Headers& h, uint64_t v) { h.aeth.msn = Msn(low(v)); }},
    {"syndrome", Ext::kAeth, [](const Headers& h) -> uint64_t { return h.aeth.syndrome; },
     [](Headers& h, uint64_t v) { h.aeth.syndrome = static_cast<uint8_t>(v); }},
};

/// credits, nak and rnr are the syndrome in words.
bool is_syndrome(std::string_view key) {
  return key == "credits" || key == "nak" || key == "rnr" || key == "syndrome";
}

const FieldRow* row_of(std::string_view key) {
  const std::string_view name = is_syndrome(key) ? "syndrome" : key;
  const auto* row = std::find_if(std::begin(kFields), std::end(kFields),
                                 [&](const FieldRow& field) { return field.name == name; });
  return row == std::end(kFields) ? nullptr : row;
}

uint64_t value_of_word(const Word& word, const Names& names) {
  if (word.key == "rkey") return names.key_of(word);
  if (word.key == "qp" || word.key == "from") {
    if (word.number == kScriptQpn) return names.qpn;
    if (word.number == kScriptPeerQpn) return names.peer_qpn;
  }
  if (word.key == "rnr") return rnr_syndrome(static_cast<uint8_t>(word.number));
  return word.number;
}

std::string shown(std::string_view field, uint64_t value) {
  const bool decimal = field == "psn" || field == "msn" || field == "len" || field == "dma" ||
                       field == "ack" || field == "solicited" || field == "migreq";
  return decimal ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string hexadecimal(std::span<const uint8_t> bytes) {
  constexpr size_t kShown = 32;
  std::string text;
  for (const uint8_t byte : bytes.first(std::min(bytes.size(), kShown))) {
    text += fmt::format("{:02x}", byte);
  }
  return bytes.size() > kShown ? text + "..." : text;
}

}  // namespace

std::vector<uint8_t> pattern(std::string_view text, size_t length) {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; ++i) {
    const size_t at = text == "count" ? 0 : 2 * i % text.size();
    bytes[i] = text == "count"
                   ? static_cast<uint8_t>(i)
                   : static_cast<uint8_t>(*parse_number("0x" + std::string(text.substr(at, 2))));
  }
  return bytes;
}

std::vector<uint8_t> build_packet(const Statement& statement, const Flow& flow,
                                  const Headers& defaults, const Names& names) {
  Headers headers = defaults;
  headers.bth.opcode = Opcode(static_cast<uint8_t>(statement.subject_id));
  for (const Word& word : statement.words) {
    if (const FieldRow* row = row_of(word.key)) row->set(headers, value_of_word(word, names));
  }
  const Word* data = statement.find("data");
  const std::string_view text = data == nullptr ? std::string_view("count") : data->text;
  const size_t written = data == nullptr || text == "count" ? 0 : text.size() / 2;
  const std::vector<uint8_t> payload = pattern(text, statement.number("len", written));
  std::vector<uint8_t> packet(64);
  packet.resize(write_headers(packet.data(), headers, payload.size()));
  packet.insert(packet.end(), payload.begin(), payload.end());
  packet.resize((packet.size() + 3) / 4 * 4 + 4);
  // BTH, byte 1: two flags, the pad count, and the version (9.2).
  if (const Word* pad = statement.find("pad")) {
    packet[1] = static_cast<uint8_t>((packet[1] & 0xcfU) | (pad->number << 4U));
  }
  packet[1] = static_cast<uint8_t>(packet[1] | statement.number("tver"));
  write_icrc(flow, 0, packet);
  if (statement.find("icrc") != nullptr) packet.back() ^= 0x55U;
  return packet;
}

std::vector<Difference> differences(const Statement& statement, const PacketView& packet,
                                    const Names& names) {
  std::vector<Difference> found;
  const OpcodeInfo& info = opcode_info(packet.headers.bth.opcode);
  const Opcode wanted(static_cast<uint8_t>(statement.subject_id));
  if (packet.headers.bth.opcode != wanted) {
    found.push_back({"opcode", std::string(opcode_info(wanted).name), std::string(info.name)});
  }
  for (const Word& word : statement.words) {
    if (word.key == "optional") continue;
    if (word.key == "data") {
      const size_t length = word.text == "count" ? packet.payload.size() : word.text.size() / 2;
      const std::vector<uint8_t> bytes = pattern(word.text, statement.number("len", length));
      if (!std::equal(bytes.begin(), bytes.end(), packet.payload.begin(), packet.payload.end())) {
        found.push_back({"data", hexadecimal(bytes), hexadecimal(packet.payload)});
      }
      continue;
    }
    const FieldRow* row = row_of(word.key);
    const uint64_t expected = value_of_word(word, names);
    const bool there =
        row == nullptr || row->extension == Ext::kNone || has(info.extensions, row->extension);
    const std::string_view name = row == nullptr ? "len" : row->name;
    const uint64_t came = row == nullptr ? packet.payload.size() : row->get(packet.headers);
    if (there && came == expected) continue;
    found.push_back({std::string(name), shown(name, expected), there ? shown(name, came) : "none"});
  }
  return found;
}

}  // namespace urxe::drill
