// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/directories.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "packet/host/user_directory.h"

namespace urxe::doctor {
namespace {

constexpr const char* kDirectoryCheck = "directory";
/// What the files of one network namespace take.
constexpr uint64_t kNeededBytes = uint64_t{128} << 10;
/// With the counters of some devices.
constexpr uint64_t kAmpleBytes = uint64_t{4} << 20;

PlaceFacts read_place(const std::string& path) {
  PlaceFacts facts;
  facts.path = path;
  struct statvfs status {};
  if (statvfs(path.c_str(), &status) != 0 || access(path.c_str(), W_OK | X_OK) != 0) {
    facts.lack = std::strerror(errno);
    return facts;
  }
  facts.free_bytes = uint64_t{status.f_bavail} * status.f_frsize;
  const auto own = open_user_directory(path, IfMissing::kFail);
  if (own) {
    facts.own = own->path;
  } else if (own.error().errno_value != ENOENT) {
    facts.own_lack = own.error().what;
  }
  return facts;
}

bool is_usable(const PlaceFacts& place) {
  return place.lack.empty() && (place.free_bytes >= kNeededBytes || !place.own.empty());
}

std::string why_unusable(const PlaceFacts& place) {
  if (!place.lack.empty()) return place.path + ": " + place.lack;
  return fmt::format("{}: {} KiB are free", place.path, place.free_bytes >> 10);
}

/// "urxe-1000-0123456789abcdef".
bool has_suffix(const std::string& own) {
  return std::ranges::count(own.substr(own.rfind('/') + 1), '-') > 1;
}

Finding judge_used(const PlaceFacts& place) {
  const std::string free = fmt::format("{} MiB are free", place.free_bytes >> 20);
  const std::string where = place.own.empty() ? place.path + ", where nothing is yet" : place.own;
  if (!place.own_lack.empty()) {
    return note(kDirectoryCheck,
                place.own_lack + "; programs use a name with a random suffix, which works as well",
                "find out who made it: ls -ld " + place.path + "/urxe*");
  }
  if (has_suffix(place.own)) {
    return note(kDirectoryCheck,
                where + " is used: the usual name could not be, perhaps another user has made it",
                "find out who made it: ls -ld " + place.path + "/urxe*");
  }
  if (place.free_bytes < kAmpleBytes) {
    return note(kDirectoryCheck,
                fmt::format("{}: only {} KiB are free, so devices may lack counters", where,
                            place.free_bytes >> 10),
                "make room in " + place.path);
  }
  return ok(kDirectoryCheck, fmt::format("programs meet in {}; {}", where, free));
}

}  // namespace

std::vector<PlaceFacts> read_places() {
  std::vector<PlaceFacts> places;
  for (const std::string& path : user_directory_places()) places.push_back(read_place(path));
  return places;
}

Findings judge_places(const std::vector<PlaceFacts>& places) {
  Findings findings;
  const auto used = std::ranges::find_if(places, is_usable);
  std::string reasons;
  for (auto place = places.begin(); place != used; ++place) {
    reasons += (reasons.empty() ? "" : "; ") + why_unusable(*place);
  }
  if (used == places.end()) {
    return {problem(kDirectoryCheck, "there is no place where programs can meet: " + reasons,
                    "make /dev/shm a file system with room: mount -t tmpfs -o mode=1777 tmpfs "
                    "/dev/shm")};
  }
  if (!reasons.empty()) {
    findings.push_back(note(kDirectoryCheck, reasons + "; " + used->path + " is used instead",
                            "containers that share a network should share it"));
  }
  findings.push_back(judge_used(*used));
  return findings;
}

}  // namespace urxe::doctor
