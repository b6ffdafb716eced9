// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace urxe::doctor {
namespace {

constexpr const char* kLimitsCheck = "limits";
/// A program with one device takes some 30, with librdmacm 45.
constexpr uint64_t kNeeded = 64;
constexpr uint64_t kEnough = 1024;
/// What two programs share.
constexpr uint64_t kSharedBytes = uint64_t{2} << 20;

uint64_t read_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace

LimitFacts read_limits() {
  rlimit files{};
  const bool is_bounded = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY;
  return {read_limit(RLIMIT_NOFILE), read_limit(RLIMIT_FSIZE),
          is_bounded ? files.rlim_max : UINT64_MAX};
}

Finding judge_limits(const LimitFacts& facts) {
  if (facts.descriptors < kNeeded) {
    return problem(
        kLimitsCheck,
        fmt::format("programs may open {} files, and need up to {} for one device",
                    facts.descriptors, kNeeded),
        facts.most_descriptors < kNeeded
            ? fmt::format("root may raise the hard limit, which is {} (limits.conf(5), "
                          "systemd's LimitNOFILE=); then ulimit -n 1024",
                          facts.most_descriptors)
            : fmt::format("ulimit -n {}", std::min<uint64_t>(facts.most_descriptors, kEnough)));
  }
  if (facts.file_bytes < kSharedBytes) {
    return note(kLimitsCheck,
                "files may be too small for shared memory between programs, which UDP replaces",
                "ulimit -f unlimited");
  }
  return ok(kLimitsCheck, facts.descriptors == UINT64_MAX
                              ? "programs may open any number of files"
                              : fmt::format("programs may open {} files", facts.descriptors));
}

void blame_limits(Findings& findings) {
  for (Finding& finding : findings) {
    if (finding.what.find(std::strerror(EMFILE)) == std::string::npos) continue;
    finding.advice = "see the check limits: the limit of open files (ulimit -n) is too low";
  }
}

}  // namespace urxe::doctor
