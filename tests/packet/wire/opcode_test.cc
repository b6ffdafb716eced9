// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/opcode.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace urxe {
namespace {

// Written out from IBTA vol. 1, table 38 and annex A19, byte by byte; the library derives its table
// instead. Flags: q request, f first packet of a message, l last one, p may carry payload.
struct Row {
  const char* name;
  unsigned header_bytes;
  const char* extensions;
  const char* flags;
};
const std::map<unsigned, Row> expected_rows = {
    {0x00, {"RC SEND First", 12, "", "qfp"}},
    {0x01, {"RC SEND Middle", 12, "", "qp"}},
    {0x02, {"RC SEND Last", 12, "", "qlp"}},
    {0x03, {"RC SEND Last Immediate", 16, "imm", "qlp"}},
    {0x04, {"RC SEND Only", 12, "", "qflp"}},
    {0x05, {"RC SEND Only Immediate", 16, "imm", "qflp"}},
    {0x06, {"RC WRITE First", 28, "reth", "qfp"}},
    {0x07, {"RC WRITE Middle", 12, "", "qp"}},
    {0x08, {"RC WRITE Last", 12, "", "qlp"}},
    {0x09, {"RC WRITE Last Immediate", 16, "imm", "qlp"}},
    {0x0a, {"RC WRITE Only", 28, "reth", "qflp"}},
    {0x0b, {"RC WRITE Only Immediate", 32, "reth imm", "qflp"}},
    {0x0c, {"RC READ Request", 28, "reth", "qfl"}},
    {0x0d, {"RC READ Response First", 16, "aeth", "fp"}},
    {0x0e, {"RC READ Response Middle", 12, "", "p"}},
    {0x0f, {"RC READ Response Last", 16, "aeth", "lp"}},
    {0x10, {"RC READ Response Only", 16, "aeth", "flp"}},
    {0x11, {"RC ACK", 16, "aeth", "fl"}},
    {0x12, {"RC ATOMIC ACK", 24, "aeth atomicack", "fl"}},
    {0x13, {"RC COMPARE SWAP", 40, "atomic", "qfl"}},
    {0x14, {"RC FETCH ADD", 40, "atomic", "qfl"}},
    {0x16, {"RC SEND Last Invalidate", 16, "ieth", "qlp"}},
    {0x17, {"RC SEND Only Invalidate", 16, "ieth", "qflp"}},
    {0x1c, {"RC FLUSH", 32, "feth reth", "qfl"}},
    {0x1d, {"RC ATOMIC WRITE", 28, "reth", "qflp"}},
    {0x20, {"UC SEND First", 12, "", "qfp"}},
    {0x21, {"UC SEND Middle", 12, "", "qp"}},
    {0x22, {"UC SEND Last", 12, "", "qlp"}},
    {0x23, {"UC SEND Last Immediate", 16, "imm", "qlp"}},
    {0x24, {"UC SEND Only", 12, "", "qflp"}},
    {0x25, {"UC SEND Only Immediate", 16, "imm", "qflp"}},
    {0x26, {"UC WRITE First", 28, "reth", "qfp"}},
    {0x27, {"UC WRITE Middle", 12, "", "qp"}},
    {0x28, {"UC WRITE Last", 12, "", "qlp"}},
    {0x29, {"UC WRITE Last Immediate", 16, "imm", "qlp"}},
    {0x2a, {"UC WRITE Only", 28, "reth", "qflp"}},
    {0x2b, {"UC WRITE Only Immediate", 32, "reth imm", "qflp"}},
    {0x64, {"UD SEND Only", 20, "deth", "qflp"}},
    {0x65, {"UD SEND Only Immediate", 24, "deth imm", "qflp"}},
    {0x81, {"CNP", 12, "", "flp"}},
    {0xa0, {"XRC SEND First", 16, "xrc", "qfp"}},
    {0xa1, {"XRC SEND Middle", 16, "xrc", "qp"}},
    {0xa2, {"XRC SEND Last", 16, "xrc", "qlp"}},
    {0xa3, {"XRC SEND Last Immediate", 20, "xrc imm", "qlp"}},
    {0xa4, {"XRC SEND Only", 16, "xrc", "qflp"}},
    {0xa5, {"XRC SEND Only Immediate", 20, "xrc imm", "qflp"}},
    {0xa6, {"XRC WRITE First", 32, "xrc reth", "qfp"}},
    {0xa7, {"XRC WRITE Middle", 16, "xrc", "qp"}},
    {0xa8, {"XRC WRITE Last", 16, "xrc", "qlp"}},
    {0xa9, {"XRC WRITE Last Immediate", 20, "xrc imm", "qlp"}},
    {0xaa, {"XRC WRITE Only", 32, "xrc reth", "qflp"}},
    {0xab, {"XRC WRITE Only Immediate", 36, "xrc reth imm", "qflp"}},
    {0xac, {"XRC READ Request", 32, "xrc reth", "qfl"}},
    {0xad, {"XRC READ Response First", 16, "aeth", "fp"}},
    {0xae, {"XRC READ Response Middle", 12, "", "p"}},
    {0xaf, {"XRC READ Response Last", 16, "aeth", "lp"}},
    {0xb0, {"XRC READ Response Only", 16, "aeth", "flp"}},
    {0xb1, {"XRC ACK", 16, "aeth", "fl"}},
    {0xb2, {"XRC ATOMIC ACK", 24, "aeth atomicack", "fl"}},
    {0xb3, {"XRC COMPARE SWAP", 44, "xrc atomic", "qfl"}},
    {0xb4, {"XRC FETCH ADD", 44, "xrc atomic", "qfl"}},
    {0xb6, {"XRC SEND Last Invalidate", 20, "xrc ieth", "qlp"}},
    {0xb7, {"XRC SEND Only Invalidate", 20, "xrc ieth", "qflp"}},
    {0xbc, {"XRC FLUSH", 36, "xrc feth reth", "qfl"}},
    {0xbd, {"XRC ATOMIC WRITE", 32, "xrc reth", "qflp"}},
    {0xc0, {"DRAIN Query", 20, "deth", "fl"}},
    {0xc1, {"DRAIN Answer", 20, "deth", "fl"}},
    {0xc2, {"GAP Query", 12, "", "fl"}},
    {0xc3, {"GAP Report", 12, "", "flp"}},
};

std::string extensions_text(Ext extensions) {
  std::string text;
  const auto add = [&](Ext one, const char* word) {
    if (!has(extensions, one)) return;
    if (!text.empty()) text += ' ';
    text += word;
  };
  add(Ext::kXrceth, "xrc");
  add(Ext::kDeth, "deth");
  add(Ext::kFeth, "feth");
  add(Ext::kReth, "reth");
  add(Ext::kAtomicEth, "atomic");
  add(Ext::kAeth, "aeth");
  add(Ext::kAtomicAckEth, "atomicack");
  add(Ext::kImmDt, "imm");
  add(Ext::kIeth, "ieth");
  return text;
}

std::string flags_text(const OpcodeInfo& info) {
  std::string text;
  if (info.is_request) text += 'q';
  if (info.starts_message) text += 'f';
  if (info.ends_message) text += 'l';
  if (info.has_payload) text += 'p';
  return text;
}

TEST(Opcode, TableIsTheSpecifications) {
  for (unsigned value = 0; value < 256; ++value) {
    SCOPED_TRACE(value);
    const OpcodeInfo& info = opcode_info(Opcode(static_cast<uint8_t>(value)));
    const auto expected = expected_rows.find(value);
    if (expected == expected_rows.end()) {
      EXPECT_EQ(info.name, "");
      continue;
    }
    const Row& row = expected->second;
    EXPECT_EQ(info.name, row.name);
    EXPECT_EQ(info.header_bytes, row.header_bytes);
    EXPECT_EQ(extensions_text(info.extensions), row.extensions);
    EXPECT_EQ(flags_text(info), row.flags);
  }
}

TEST(Opcode, ByteIsServiceAndOperation) {
  const Opcode opcode(Service::kXrc, Operation::kSendOnlyInvalidate);
  EXPECT_EQ(opcode.value, 0xb7);
  EXPECT_EQ(opcode.service(), Service::kXrc);
  EXPECT_EQ(opcode.operation(), Operation::kSendOnlyInvalidate);
}

}  // namespace
}  // namespace urxe
