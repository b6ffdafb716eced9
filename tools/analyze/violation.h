// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packet/wire/gid.h"
#include "packet/wire/types.h"

namespace urxe::analyze {

/// The rules that are checked. Each is one whose violation is certain, whatever the capture missed.
enum class Rule : uint8_t {
  kTransportVersion,
  kReservedOpcode,
  kPadding,
  kUnexpectedPayload,
  kSolicited,
  kInvalidPKey,
  kPKeyMismatch,
  kGsiQKey,
  kCnpFormat,
  kNotPathMtu,
  kLastPacketSize,
  kOpcodeSequence,
  kMessageLength,
  kMessageTooLong,
  kReservedSyndrome,
  kMsnBackwards,
  kReadResponseSize,
  kReadResponseOpcode,
  kResponseKind,
  kCount,
};

struct RuleText {
  std::string_view name;     ///< "opcode_sequence", for scripts
  std::string_view text;     ///< the rule in words
  std::string_view section;  ///< of the InfiniBand Architecture Specification, volume 1
};
const RuleText& rule_text(Rule rule);

/// A packet that violates a rule, and whose it was.
struct Violation {
  uint64_t frame = 0;
  Rule rule = Rule::kTransportVersion;
  Gid source;
  Gid destination;
  Qpn dest_qp;
  std::string detail;  ///< what was found, "payload 100, path MTU 1024"; may be empty
};

/// Counts all, and keeps the first ones.
class ViolationLog {
 public:
  static constexpr size_t kKept = 1000;

  void add(Violation violation);
  [[nodiscard]] const std::vector<Violation>& kept() const { return kept_; }
  [[nodiscard]] uint64_t total() const { return total_; }
  [[nodiscard]] uint64_t count(Rule rule) const { return counts_.at(static_cast<size_t>(rule)); }

 private:
  std::vector<Violation> kept_;
  std::array<uint64_t, static_cast<size_t>(Rule::kCount)> counts_{};
  uint64_t total_ = 0;
};

}  // namespace urxe::analyze
