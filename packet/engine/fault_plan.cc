// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

namespace urxe {
namespace {

constexpr std::string_view kAccepted =
    "accepted are loss=P%, duplication=P%, reordering=P% and corruption=P% (0 to 100), delay=T "
    "(such as 50us; to 10s), rate=R (such as 10G; to 1000G), seed=N and direction=in|out|both, "
    "joined by commas";
constexpr uint32_t kPerMillionInPercent = 10000;
constexpr size_t kDecimals = 4;

struct RateWord {
  std::string_view name;
  uint32_t FaultRates::*rate;
};
constexpr auto kRateWords = std::to_array<RateWord>({
    {"loss", &FaultRates::loss},
    {"duplication", &FaultRates::duplication},
    {"reordering", &FaultRates::reordering},
    {"corruption", &FaultRates::corruption},
});

Unexpected<std::string> refuse(std::string_view word, std::string_view why) {
  return Unexpected<std::string>("'" + std::string(word) + "': " + std::string(why));
}

/// All of `digits` as a decimal number; nullopt if they are none, are empty or do not fit.
template <class Number>
std::optional<Number> parse_digits(std::string_view digits) {
  Number number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, failed] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || failed != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

/// "0.25%" is 2500 of a million.
std::optional<uint32_t> parse_percentage(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const auto percent = parse_digits<uint32_t>(text.substr(0, point));
  if (!percent || *percent > 100) return std::nullopt;
  uint32_t per_million = *percent * kPerMillionInPercent;
  if (point != text.size()) {
    std::string decimals(text.substr(point + 1));
    if (decimals.empty() || decimals.size() > kDecimals) return std::nullopt;
    decimals.resize(kDecimals, '0');
    const auto fraction = parse_digits<uint32_t>(decimals);
    if (!fraction) return std::nullopt;
    per_million += *fraction;
  }
  if (per_million > 100 * kPerMillionInPercent) return std::nullopt;
  return per_million;
}

struct Unit {
  std::string_view name;
  uint64_t size;
};
constexpr auto kTimeUnits =
    std::to_array<Unit>({{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}});
constexpr auto kRateUnits = std::to_array<Unit>({{"K", 1000}, {"M", 1000000}, {"G", 1000000000}});
constexpr uint64_t kMostDelayNs = 10000000000;
constexpr uint64_t kMostRate = 1000000000000;

/// "50us" is 50000 of the smallest unit. The units are in an order in which none ends in a later
/// one but the last.
std::optional<uint64_t> parse_with_unit(std::string_view text, std::span<const Unit> units,
                                        uint64_t most) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    text.remove_suffix(unit.name.size());
    const auto number = parse_digits<uint64_t>(text);
    if (!number || *number > most / unit.size) return std::nullopt;
    return *number * unit.size;
  }
  return std::nullopt;
}

/// The plan as far as the words have been read.
struct Draft {
  uint64_t seed = 1;
  FaultRates rates;
  bool any_rate = false;
  bool out = true;
  bool in = true;
};

bool take_direction(std::string_view value, Draft& draft) {
  draft.in = value == "in" || value == "both";
  draft.out = value == "out" || value == "both";
  return draft.in || draft.out;
}

bool take_delay(std::string_view value, Draft& draft) {
  const auto ns = parse_with_unit(value, kTimeUnits, kMostDelayNs);
  if (ns) draft.rates.delay = nanoseconds(static_cast<int64_t>(*ns));
  draft.any_rate = true;
  return ns.has_value();
}

bool take_rate(std::string_view value, Draft& draft) {
  const auto bits = parse_with_unit(value, kRateUnits, kMostRate);
  if (bits) draft.rates.bits_per_second = *bits;
  draft.any_rate = true;
  return bits.has_value() && *bits > 0;
}

bool take_word(std::string_view name, std::string_view value, Draft& draft) {
  if (name == "direction") return take_direction(value, draft);
  if (name == "delay") return take_delay(value, draft);
  if (name == "rate") return take_rate(value, draft);
  if (name == "seed") {
    const auto seed = parse_digits<uint64_t>(value);
    if (seed) draft.seed = *seed;
    return seed.has_value();
  }
  const auto word = std::ranges::find(kRateWords, name, &RateWord::name);
  if (word == kRateWords.end()) return false;
  const auto rate = parse_percentage(value);
  if (!rate) return false;
  draft.rates.*word->rate = *rate;
  draft.any_rate = true;
  return true;
}

}  // namespace

Expected<FaultPlan, std::string> parse_fault_plan(std::string_view text) {
  Draft draft;
  std::vector<std::string_view> names;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    if (equals == word.size() || !take_word(name, word.substr(equals + 1), draft)) {
      return refuse(word, kAccepted);
    }
    if (std::ranges::find(names, name) != names.end()) return refuse(word, "given twice");
    names.push_back(name);
    start = end + 1;
  }
  if (!draft.any_rate) return refuse(text, "names no fault; " + std::string(kAccepted));
  FaultPlan plan;
  plan.seed = draft.seed;
  if (draft.out) plan.outgoing = draft.rates;
  if (draft.in) plan.incoming = draft.rates;
  return plan;
}

}  // namespace urxe
