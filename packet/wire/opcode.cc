// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/opcode.h"

#include <array>
#include <iterator>

namespace urxe {
namespace {

constexpr unsigned kRcBit = 1, kUcBit = 2, kUdBit = 4, kXrcBit = 8;
constexpr unsigned kReliable = kRcBit | kXrcBit;
constexpr unsigned kConnected = kReliable | kUcBit;

constexpr unsigned kRequest = 1, kStart = 2, kEnd = 4, kPayload = 8;
constexpr unsigned kOnly = kStart | kEnd;

struct Row {
  Operation operation;
  std::string_view name;
  unsigned services;
  Ext extensions;  ///< without those that the service adds: DETH for UD, XRCETH for XRC requests
  unsigned flags;
};

// IBTA vol. 1, table 38 (BTH opcodes) and 9.2..9.6 for the headers of each; annex A19 for FLUSH and
// ATOMIC WRITE. Left out, and so unknown to parse(): reliable datagram (dropped from the
// specification), RESYNC (reliable datagram only).
constexpr Row kRows[] = {
    {Operation::kSendFirst, "SEND First", kConnected, Ext::kNone, kRequest | kStart | kPayload},
    {Operation::kSendMiddle, "SEND Middle", kConnected, Ext::kNone, kRequest | kPayload},
    {Operation::kSendLast, "SEND Last", kConnected, Ext::kNone, kRequest | kEnd | kPayload},
    {Operation::kSendLastImm, "SEND Last Immediate", kConnected, Ext::kImmDt,
     kRequest | kEnd | kPayload},
    {Operation::kSendOnly, "SEND Only", kConnected | kUdBit, Ext::kNone,
     kRequest | kOnly | kPayload},
    {Operation::kSendOnlyImm, "SEND Only Immediate", kConnected | kUdBit, Ext::kImmDt,
     kRequest | kOnly | kPayload},
    {Operation::kWriteFirst, "WRITE First", kConnected, Ext::kReth, kRequest | kStart | kPayload},
    {Operation::kWriteMiddle, "WRITE Middle", kConnected, Ext::kNone, kRequest | kPayload},
    {Operation::kWriteLast, "WRITE Last", kConnected, Ext::kNone, kRequest | kEnd | kPayload},
    {Operation::kWriteLastImm, "WRITE Last Immediate", kConnected, Ext::kImmDt,
     kRequest | kEnd | kPayload},
    {Operation::kWriteOnly, "WRITE Only", kConnected, Ext::kReth, kRequest | kOnly | kPayload},
    {Operation::kWriteOnlyImm, "WRITE Only Immediate", kConnected, Ext::kReth | Ext::kImmDt,
     kRequest | kOnly | kPayload},
    {Operation::kReadRequest, "READ Request", kReliable, Ext::kReth, kRequest | kOnly},
    {Operation::kReadResponseFirst, "READ Response First", kReliable, Ext::kAeth,
     kStart | kPayload},
    {Operation::kReadResponseMiddle, "READ Response Middle", kReliable, Ext::kNone, kPayload},
    {Operation::kReadResponseLast, "READ Response Last", kReliable, Ext::kAeth, kEnd | kPayload},
    {Operation::kReadResponseOnly, "READ Response Only", kReliable, Ext::kAeth, kOnly | kPayload},
    {Operation::kAcknowledge, "ACK", kReliable, Ext::kAeth, kOnly},
    {Operation::kAtomicAcknowledge, "ATOMIC ACK", kReliable, Ext::kAeth | Ext::kAtomicAckEth,
     kOnly},
    {Operation::kCompareSwap, "COMPARE SWAP", kReliable, Ext::kAtomicEth, kRequest | kOnly},
    {Operation::kFetchAdd, "FETCH ADD", kReliable, Ext::kAtomicEth, kRequest | kOnly},
    {Operation::kSendLastInvalidate, "SEND Last Invalidate", kReliable, Ext::kIeth,
     kRequest | kEnd | kPayload},
    {Operation::kSendOnlyInvalidate, "SEND Only Invalidate", kReliable, Ext::kIeth,
     kRequest | kOnly | kPayload},
    {Operation::kFlush, "FLUSH", kReliable, Ext::kFeth | Ext::kReth, kRequest | kOnly},
    {Operation::kAtomicWrite, "ATOMIC WRITE", kReliable, Ext::kReth, kRequest | kOnly | kPayload},
};

struct ServiceRow {
  Service service;
  unsigned bit;
  std::string_view name;
  Ext request_extension;
};
constexpr ServiceRow kServices[] = {
    {Service::kRc, kRcBit, "RC ", Ext::kNone},
    {Service::kUc, kUcBit, "UC ", Ext::kNone},
    {Service::kUd, kUdBit, "UD ", Ext::kDeth},
    {Service::kXrc, kXrcBit, "XRC ", Ext::kXrceth},
};

constexpr uint8_t header_bytes(Ext extensions) {
  constexpr uint8_t kSizes[] = {4, 8, 4, 16, 28, 4, 8, 4, 4};  // in the order of Ext's bits
  unsigned bytes = 12;
  for (unsigned bit = 0; bit < std::size(kSizes); ++bit) {
    if (has(extensions, static_cast<Ext>(1U << bit))) bytes += kSizes[bit];
  }
  return static_cast<uint8_t>(bytes);
}

struct Name {
  std::array<char, 32> text{};
  size_t size = 0;

  constexpr void append(std::string_view more) {
    for (char c : more) text.at(size++) = c;
  }
};

constexpr std::array<Name, 256> make_names() {
  std::array<Name, 256> names{};
  for (const ServiceRow& service : kServices) {
    for (const Row& row : kRows) {
      if ((row.services & service.bit) == 0) continue;
      Name& name = names[Opcode(service.service, row.operation).value];
      name.append(service.name);
      name.append(row.name);
    }
  }
  names[kCnpOpcode.value].append("CNP");
  names[kDrainQueryOpcode.value].append("DRAIN Query");
  names[kDrainAnswerOpcode.value].append("DRAIN Answer");
  names[kGapQueryOpcode.value].append("GAP Query");
  names[kGapReportOpcode.value].append("GAP Report");
  return names;
}
constexpr std::array<Name, 256> kNames = make_names();

constexpr OpcodeInfo make_info(const ServiceRow& service, const Row& row) {
  OpcodeInfo info;
  const bool request = (row.flags & kRequest) != 0;
  info.extensions = request ? row.extensions | service.request_extension : row.extensions;
  info.is_request = request;
  info.starts_message = (row.flags & kStart) != 0;
  info.ends_message = (row.flags & kEnd) != 0;
  info.has_payload = (row.flags & kPayload) != 0;
  return info;
}

constexpr std::array<OpcodeInfo, 256> make_table() {
  std::array<OpcodeInfo, 256> table{};
  for (const ServiceRow& service : kServices) {
    for (const Row& row : kRows) {
      if ((row.services & service.bit) == 0) continue;
      table[Opcode(service.service, row.operation).value] = make_info(service, row);
    }
  }
  // Annex A17.9.3: a CNP is a BTH and 16 reserved bytes, which count as payload here. It is neither
  // request nor response; it is listed as a message of its own.
  OpcodeInfo& cnp = table[kCnpOpcode.value];
  cnp.starts_message = cnp.ends_message = cnp.has_payload = true;
  // The DETH names the queue pair that asks or answers.
  for (const Opcode opcode : {kDrainQueryOpcode, kDrainAnswerOpcode}) {
    OpcodeInfo& info = table[opcode.value];
    info.extensions = Ext::kDeth;
    info.starts_message = info.ends_message = true;
  }
  for (const Opcode opcode : {kGapQueryOpcode, kGapReportOpcode}) {
    OpcodeInfo& info = table[opcode.value];
    info.starts_message = info.ends_message = true;
  }
  table[kGapReportOpcode.value].has_payload = true;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].name = std::string_view(kNames[i].text.data(), kNames[i].size);
    table[i].header_bytes = header_bytes(table[i].extensions);
  }
  return table;
}

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodeTable = make_table();

}  // namespace urxe
