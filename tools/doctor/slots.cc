// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <set>
#include <string_view>

#include "packet/host/byte_lock.h"
#include "packet/host/network_identity.h"
#include "packet/host/user_directory.h"
#include "packet/sharing/directory/network_directory.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "packet/wire/qpn_layout.h"
#include "tools/doctor/directories.h"

namespace urxe::doctor {
namespace {

constexpr const char* kSlotsCheck = "slots";
constexpr unsigned kNearlyAll = kSlots * 9 / 10;

/// The slots that have a socket's file: "slot-<n>".
std::set<uint32_t> list_sockets(const NetworkDirectory& directory) {
  constexpr std::string_view kStart = "slot-";
  std::set<uint32_t> slots;
  const auto entries = list_directory(directory.fd.get());
  while (const dirent* const entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kStart)) continue;
    uint32_t slot = 0;
    const auto [end, failed] =
        std::from_chars(name.data() + kStart.size(), name.data() + name.size(), slot);
    if (failed == std::errc() && end == name.data() + name.size()) slots.insert(slot);
  }
  return slots;
}

SlotFacts count(const NetworkDirectory& directory) {
  SlotFacts facts;
  facts.directory = directory.path;
  const std::set<uint32_t> sockets = list_sockets(directory);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const bool taken = is_byte_locked(directory.locks.get(), slot_lock(slot));
    const bool has_socket = sockets.contains(slot);
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
    const auto directory = open_network_directory(*user, network_identity(), IfMissing::kFail);
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
  if (facts.stale > 0) what += fmt::format(", {} left by ended programs", facts.stale);
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
