// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/text/format.h"

#include <cinttypes>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/text/append_text.h"

namespace urxe {
namespace {

const char* nak_name(uint8_t code) {
  switch (static_cast<NakCode>(code)) {
    case NakCode::kPsnSequenceError:
      return "psn sequence error";
    case NakCode::kInvalidRequest:
      return "invalid request";
    case NakCode::kRemoteAccessError:
      return "remote access error";
    case NakCode::kRemoteOperationalError:
      return "remote operational error";
    case NakCode::kInvalidRdRequest:
      return "invalid RD request";
  }
  return "reserved";
}

void add_aeth(std::string& line, const Aeth& aeth) {
  const uint8_t value = syndrome_value(aeth.syndrome);
  switch (ack_kind(aeth.syndrome)) {
    case AckKind::kAck:
      if (const auto credits = credits_from_code(value))
        append_text(line, " credits %" PRIu32, *credits);
      break;
    case AckKind::kRnrNak:
      append_text(line, " rnr_nak %" PRId64 "us", rnr_timer(value).ns / 1000);
      break;
    case AckKind::kNak:
      append_text(line, " nak \"%s\"", nak_name(value));
      break;
    case AckKind::kReserved:
      append_text(line, " syndrome 0x%02x", unsigned{aeth.syndrome});
      break;
  }
  append_text(line, " msn %" PRIu32, aeth.msn.value());
}

void add_feth(std::string& line, const Feth& feth) {
  line += " placement";
  if (feth.placement == 0) line += " none";
  if ((feth.placement & Feth::kGlobal) != 0) line += " global";
  if ((feth.placement & Feth::kPersistent) != 0) line += " persistent";
  const unsigned reserved = feth.placement & ~unsigned{Feth::kGlobal | Feth::kPersistent};
  if (reserved != 0) append_text(line, " 0x%x", reserved);
  if (feth.selectivity == Feth::kRange) {
    line += " of a range";
  } else if (feth.selectivity == Feth::kRegion) {
    line += " of the region";
  } else {
    append_text(line, " level %u", unsigned{feth.selectivity});
  }
}

void add_extensions(std::string& line, Ext extensions, const Headers& h) {
  if (has(extensions, Ext::kXrceth)) append_text(line, " srq 0x%" PRIx32, h.xrc_srq.value());
  if (has(extensions, Ext::kDeth)) {
    append_text(line, " from 0x%" PRIx32 " qkey 0x%" PRIx32, h.deth.source_qp.value(),
                h.deth.qkey.value());
  }
  if (has(extensions, Ext::kFeth)) add_feth(line, h.feth);
  if (has(extensions, Ext::kReth)) {
    append_text(line, " va 0x%" PRIx64 " rkey 0x%" PRIx32 " dma %" PRIu32, h.reth.va,
                h.reth.rkey.value(), h.reth.dma_length);
  }
  if (has(extensions, Ext::kAtomicEth)) {
    append_text(line,
                " va 0x%" PRIx64 " rkey 0x%" PRIx32 " swap_or_add 0x%" PRIx64 " compare 0x%" PRIx64,
                h.atomic.va, h.atomic.rkey.value(), h.atomic.swap_or_add, h.atomic.compare);
  }
  if (has(extensions, Ext::kAeth)) add_aeth(line, h.aeth);
  if (has(extensions, Ext::kAtomicAckEth))
    append_text(line, " original 0x%" PRIx64, h.atomic_original);
  if (has(extensions, Ext::kImmDt)) {
    uint8_t immediate[4];
    std::memcpy(immediate, &h.immediate_be, sizeof immediate);
    append_text(line, " imm 0x%" PRIx32, load_be32(immediate));
  }
  if (has(extensions, Ext::kIeth))
    append_text(line, " invalidate 0x%" PRIx32, h.invalidate.value());
}

}  // namespace

std::string format(const PacketView& packet) {
  const Bth& bth = packet.headers.bth;
  const OpcodeInfo& info = opcode_info(bth.opcode);
  std::string line(info.name);
  if (line.empty()) append_text(line, "opcode 0x%02x", unsigned{bth.opcode.value});
  append_text(line, " qp 0x%" PRIx32 " psn %" PRIu32, bth.dest_qp.value(), bth.psn.value());
  if (bth.solicited) line += " solicited";
  if (bth.ack_req) line += " ack";
  if (bth.fecn) line += " fecn";
  if (bth.becn) line += " becn";
  add_extensions(line, info.extensions, packet.headers);
  if (info.has_payload) append_text(line, " len %zu", packet.payload.size());
  if (has(info.extensions, Ext::kDeth) && bth.dest_qp == kGsiQpn) {
    line += ": " + format_mad(packet.payload);
  }
  return line;
}

}  // namespace urxe
