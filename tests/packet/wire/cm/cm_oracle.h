// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packet/wire/cm/cm_message.h"

namespace urxe::test {

// A second opinion on the positions of fields, bit by bit, that shares nothing with the library:
// the tables of IBTA vol. 1, chapter 12 once more, and strings of '0' and '1' for values.

/// `bits` bits from the byte and the bit of it, the highest being 0.
std::string bits_of(std::span<const uint8_t> bytes, size_t byte, size_t bit, size_t bits);
/// The low `bits` bits of `value`.
std::string binary(uint64_t value, size_t bits);

/// A field; its place counts from the end of the MAD header.
struct OracleField {
  const char* name;
  size_t byte;
  size_t bit;
  size_t bits;
  std::function<std::string(const CmBody&)> value;  ///< as bits_of() has it
  bool kept = true;  ///< false: always sent with that value, ignored when received
};

/// All fields of a message but those below.
std::vector<OracleField> oracle_fields(CmAttribute attribute);

/// A field that says how many bytes of another are used.
struct OracleLength {
  size_t byte;
  size_t bits;
  size_t capacity;
};
/// nullopt if the message has none. The field's bit is 0.
std::optional<OracleLength> oracle_length(CmAttribute attribute);
/// Byte of the two bits that say what an MRA or a REJ is about, of which 3 is reserved.
std::optional<size_t> oracle_answered(CmAttribute attribute);

/// A legal MAD header, then bytes that belong to no field yet.
MadBytes blank_mad(CmAttribute attribute, uint8_t fill);

inline constexpr CmAttribute kEveryCmAttribute[] = {
    CmAttribute::kReq,     CmAttribute::kMra,  CmAttribute::kRej,  CmAttribute::kRep,
    CmAttribute::kRtu,     CmAttribute::kDreq, CmAttribute::kDrep, CmAttribute::kSidrReq,
    CmAttribute::kSidrRep, CmAttribute::kLap,  CmAttribute::kApr};

}  // namespace urxe::test
