// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <functional>
#include <set>
#include <string>

#include "packet/host/byte_lock.h"
#include "packet/host/network_identity.h"
#include "packet/host/user_directory.h"
#include "packet/sharing/directory/network_directory.h"
#include "packet/sharing/directory/slot_marks.h"
#include "packet/wire/qpn_layout.h"
#include "tools/doctor/directories.h"

namespace urxe::doctor {
namespace {

constexpr const char* kSlotsCheck = "slots";
constexpr unsigned kNearlyAll = kSlots * 9 / 10;

std::set<std::string, std::less<>> list_files(const NetworkDirectory& directory) {
  std::set<std::string, std::less<>> files;
  const auto entries = list_directory(directory.fd.get());
  while (const dirent* const entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    files.emplace(entry->d_name);
  }
  return files;
}

SlotFacts count(const NetworkDirectory& directory) {
  SlotFacts facts;
  facts.directory = directory.path;
  const auto files = list_files(directory);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const bool taken = is_byte_locked(directory.locks.get(), directory.marks.lock(slot));
    const bool has_socket =
        files.contains(directory.marks.file(SlotMarks::Socket::kSlot, slot).view());
    if (taken) ++facts.taken;
    if (taken && !has_socket) ++facts.bare;
    if (!taken && has_socket) ++facts.stale;
  }
  return facts;
}

}  // namespace

SlotFacts read_slots(const std::vector<PlaceFacts>& places) {
  SlotFacts facts;
  for (const PlaceFacts& place : places) {
    if (place.own.empty()) continue;
    const auto user = open_user_directory(place.path, IfMissing::kFail);
    if (!user) continue;
    const auto network = network_identity();
    if (!network) continue;
    const auto directory = open_network_directory(*user, *network, IfMissing::kFail);
    if (directory) return count(*directory);
    if (directory.error().errno_value != ENOENT) facts.lack = directory.error().what;
  }
  return facts;
}

Finding judge_slots(const SlotFacts& facts) {
  if (!facts.lack.empty()) {
    return problem(kSlotsCheck, "the slots of this user's programs cannot be read: " + facts.lack,
                   "end this user's urxe programs and remove the directory");
  }
  if (facts.directory.empty())
    return ok(kSlotsCheck, "no urxe program of this user has run here yet");
  std::string what = fmt::format("{} of {} taken", facts.taken, kSlots);
  if (facts.stale > 0)
    what += fmt::format(", {} of ended programs, which others may take", facts.stale);
  if (facts.taken == kSlots) {
    return problem(kSlotsCheck, what + ": no further program can use a device",
                   "end some: ss -xap lists the holders of " + facts.directory + "/slot-...");
  }
  if (facts.bare > 0) {
    return note(kSlotsCheck,
                fmt::format("{}, {} without a socket: programs that begin or end, or none of "
                            "urxe's",
                            what, facts.bare),
                "if it stays so, end the programs that have " + facts.directory + "/locks open");
  }
  if (facts.taken > kNearlyAll) return note(kSlotsCheck, what, "end programs that are not needed");
  return ok(kSlotsCheck, what);
}

}  // namespace urxe::doctor
