// SPDX-License-Identifier: BSD-2-Clause
#include <cinttypes>
#include <cstddef>
#include <string>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/text/append_text.h"
#include "packet/wire/text/format.h"

namespace urxe {
namespace {

void add_ids(std::string& line, CommId local, CommId remote) {
  append_text(line, " local 0x%" PRIx32 " remote 0x%" PRIx32, local.value(), remote.value());
}

const char* transport_name(const CmReq& req) {
  switch (req.transport) {
    case CmTransport::kRc:
      return "RC";
    case CmTransport::kUc:
      return "UC";
    case CmTransport::kRd:
      return "RD";
    case CmTransport::kExtended:
      break;
  }
  return req.extended_transport == 1 ? "XRC" : "extended";
}

const char* answered_name(CmAnswered answered) {
  switch (answered) {
    case CmAnswered::kReq:
      return "REQ";
    case CmAnswered::kRep:
      return "REP";
    case CmAnswered::kOther:
      break;
  }
  return "other";
}

void add_path(std::string& line, const char* name, const CmPath& path) {
  line += std::string(" ") + name + " " + path.local.to_string() + ">" + path.remote.to_string();
}

void add_reads(std::string& line, unsigned resources, unsigned depth) {
  append_text(line, " resources %u depth %u", resources, depth);
}

void add_ece(std::string& line, const CmEce& ece) {
  if (ece == CmEce{}) return;
  append_text(line, " ece 0x%" PRIx32 "/0x%" PRIx32, ece.vendor_id, ece.attr_mod);
}

void add(std::string& line, const CmReq& m) {
  append_text(line, " local 0x%" PRIx32 " service 0x%" PRIx64, m.local_comm_id.value(),
              m.service_id.value());
  append_text(line, " %s qp 0x%" PRIx32 " psn %" PRIu32, transport_name(m), m.local_qpn.value(),
              m.starting_psn.value());
  add_reads(line, m.responder_resources, m.initiator_depth);
  add_path(line, "path", m.primary);
  if (m.has_alternate) add_path(line, "alternate", m.alternate);
  add_ece(line, m.ece);
}

void add(std::string& line, const CmMra& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " of %s timeout %u", answered_name(m.answered), unsigned{m.service_timeout});
}

void add(std::string& line, const CmRej& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " of %s reason %u", answered_name(m.rejected), static_cast<unsigned>(m.reason));
}

void add(std::string& line, const CmRep& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " qp 0x%" PRIx32, m.local_qpn.value());
  if (m.local_eecn != Qpn(0)) append_text(line, " target 0x%" PRIx32, m.local_eecn.value());
  append_text(line, " psn %" PRIu32, m.starting_psn.value());
  add_reads(line, m.responder_resources, m.initiator_depth);
  add_ece(line, m.ece);
}

void add(std::string& line, const CmRtu& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
}

void add(std::string& line, const CmDreq& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " qp 0x%" PRIx32, m.remote_qpn.value());
}

void add(std::string& line, const CmDrep& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
}

void add(std::string& line, const CmSidrReq& m) {
  append_text(line, " request 0x%" PRIx32 " service 0x%" PRIx64, m.request_id.value(),
              m.service_id.value());
}

void add(std::string& line, const CmSidrRep& m) {
  append_text(line, " request 0x%" PRIx32 " service 0x%" PRIx64, m.request_id.value(),
              m.service_id.value());
  append_text(line, " status %u qp 0x%" PRIx32 " qkey 0x%" PRIx32, static_cast<unsigned>(m.status),
              m.qpn.value(), m.qkey.value());
  add_ece(line, m.ece);
}

void add(std::string& line, const CmLap& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " qp 0x%" PRIx32, m.remote_qpn.value());
  add_path(line, "alternate", m.alternate);
}

void add(std::string& line, const CmApr& m) {
  add_ids(line, m.local_comm_id, m.remote_comm_id);
  append_text(line, " status %u", static_cast<unsigned>(m.status));
}

std::string format_refused(std::span<const uint8_t> mad, MadDropReason reason) {
  std::string line = "MAD";
  if (mad.size() == kMadBytes) {
    const MadHeader header = read_mad_header(mad.first<kMadBytes>());
    append_text(line, " class 0x%02x method 0x%02x attribute 0x%04x",
                unsigned{header.management_class}, unsigned{header.method},
                unsigned{header.attribute_id});
  }
  append_text(line, " refused: %s", mad_drop_reason_name(reason));
  return line;
}

}  // namespace

std::string format_mad(std::span<const uint8_t> mad) {
  const auto message = parse_cm_message(mad);
  if (!message) return format_refused(mad, message.error());
  std::string line = "CM ";
  line += cm_attribute_name(attribute_of(message->body));
  append_text(line, " tid 0x%" PRIx64, message->transaction_id);
  std::visit([&](const auto& body) { add(line, body); }, message->body);
  return line;
}

}  // namespace urxe
