// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/ledger.h"

namespace urxe::replay {
namespace {

uint32_t allowed_times(const std::vector<Allowance>& allowances, Difference difference) {
  uint32_t times = 0;
  for (const Allowance& allowance : allowances) {
    if (allowance.difference == difference) times += allowance.times;
  }
  return times;
}

}  // namespace

void Ledger::note(Difference difference, const std::string& where) {
  found_.at(static_cast<size_t>(difference)).push_back(where);
}

uint32_t Ledger::times(Difference difference) const {
  return static_cast<uint32_t>(found_.at(static_cast<size_t>(difference)).size());
}

std::string Ledger::verdict(const std::vector<Allowance>& allowances) const {
  std::string text;
  for (const std::string& error : errors_) text += error + "\n";
  for (const DifferenceRow& row : difference_table()) {
    const uint32_t allowed = allowed_times(allowances, row.difference);
    const uint32_t found = times(row.difference);
    if (row.everywhere || found == allowed) continue;
    text += "difference " + std::string(row.name) + ": found " + std::to_string(found) +
            " times, the table says " + std::to_string(allowed) + "\n";
    for (const std::string& where : found_.at(static_cast<size_t>(row.difference))) {
      text += "  " + where + "\n";
    }
  }
  return text;
}

}  // namespace urxe::replay
