// SPDX-License-Identifier: BSD-2-Clause
// urxe_icrc_check FILE...: checks the ICRC of every RoCEv2 frame of capture files.
// Exit status: 0 all frames are right; 1 a wrong one; 2 a file cannot be read; 3 none is wrong but
// some could not be checked, or a file has no RoCEv2 frame.

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/support/icrc_check.h"

namespace {

using urxe::test::IcrcVerdict;

constexpr size_t kMaxReported = 10;

const char* describe(IcrcVerdict verdict) {
  switch (verdict) {
    case IcrcVerdict::kOk:
      return "ok";
    case IcrcVerdict::kBad:
      return "wrong ICRC";
    case IcrcVerdict::kNotRoce:
      return "not RoCEv2";
    case IcrcVerdict::kFragment:
      return "an IP fragment: cannot be checked alone";
    case IcrcVerdict::kCut:
      return "cut short by the capture: cannot be checked";
    case IcrcVerdict::kAggregate:
      return "an aggregate of segments: cannot be checked; capture with offload off";
  }
  return "?";
}

int check_file(const char* path) {
  const urxe::test::CaptureFile file = urxe::test::read_capture(path);
  std::array<size_t, 6> counts{};
  size_t number = 0;
  size_t reported = 0;
  for (const auto& frame : file.frames) {
    ++number;
    const IcrcVerdict verdict = check_icrc(frame);
    ++counts.at(static_cast<size_t>(verdict));
    if (verdict == IcrcVerdict::kOk || verdict == IcrcVerdict::kNotRoce) continue;
    if (++reported <= kMaxReported) std::printf("%s:%zu: %s\n", path, number, describe(verdict));
  }
  if (reported > kMaxReported) std::printf("%s: ... %zu in all\n", path, reported);
  const size_t ok = counts[static_cast<size_t>(IcrcVerdict::kOk)];
  const size_t bad = counts[static_cast<size_t>(IcrcVerdict::kBad)];
  const size_t other = counts[static_cast<size_t>(IcrcVerdict::kNotRoce)];
  const size_t unchecked = number - ok - bad - other;
  std::printf("%s: %zu ok, %zu bad, %zu unchecked, %zu other frames\n", path, ok, bad, unchecked,
              other);
  if (!file.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", path, file.error.c_str());
    return 2;
  }
  if (bad != 0) return 1;
  return unchecked != 0 || ok == 0 ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 2;
  }
  int status = 0;
  constexpr std::array<int, 4> kWeight = {0, 3, 2, 1};  // of the statuses, the gravest is reported
  for (int i = 1; i < argc; ++i) {
    const int one = check_file(argv[i]);
    if (kWeight.at(one) > kWeight.at(status)) status = one;
  }
  return status;
}
