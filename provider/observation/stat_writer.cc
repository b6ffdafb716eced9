// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/file_size.h"
#include "provider/observation/process_state.h"

namespace urxe {
namespace {

/// Records that one call of publish() writes at most.
constexpr size_t kRecordsAtOnce = 128;
constexpr size_t kGrowth = 64;  // records
constexpr size_t kNoPlace = SIZE_MAX;

template <size_t Size>
void copy_text(std::string_view from, std::array<char, Size>& to) {
  from = from.substr(0, Size - 1);
  std::ranges::copy(from, to.begin());
}

constexpr size_t place_offset(size_t place) {
  return kPlacesOffset + place * sizeof(StatRecord);
}

/// Changes what has a `turn`, so that observers can tell what they read meanwhile.
template <class Shared, class Change>
void in_a_turn(Shared& shared, Change change) {
  std::atomic_ref turn(shared.turn);
  const uint64_t before = turn.load(std::memory_order_relaxed);
  turn.store(before + 1, std::memory_order_relaxed);
  change();
  turn.store(before + 2, std::memory_order_release);
}

/// A visitor that copies the reports, as many as there is room for.
template <class Report, size_t Size>
auto fill(std::array<Report, Size>& room) {
  return [&room, used = size_t{0}](const Report& report) mutable {
    if (used < Size) copy_words(report, room[used++]);
  };
}

}  // namespace

StatWriter::StatWriter(StatFile file, std::string_view device, std::string_view engine, Instant now)
    : file_(std::move(file)) {
  if (!file_.fd) return;
  void* const memory =
      mmap(nullptr, kStatBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd.get(), 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  // A write behind the end of the file, or to a full file system, would be SIGBUS.
  if (!make_room(0)) {
    munmap(std::exchange(memory_, nullptr), kStatBytes);
    // Observers tell that this one is missing. If not even that can be said, doctor finds it.
    if (may_grow_file_to(kNoRoomBytes)) (void)!ftruncate(file_.fd.get(), kNoRoomBytes);
    return;
  }
  for (size_t place = kCmIdReports; place > 0; --place) free_cm_id_places_.push_back(place - 1);
  describe(device, engine, now);
}

void StatWriter::describe(std::string_view device, std::string_view engine, Instant now) {
  StatHeader begin;
  begin.pid = static_cast<uint64_t>(getpid());
  begin.started_ns = begin.published_ns = now.ns;
  copy_text(device, begin.device);
  copy_text(program_invocation_short_name, begin.program);
  copy_text(engine, begin.engine);
  begin.network_namespace = own_network_namespace();
  begin.pid_namespace = own_pid_namespace();
  if (const auto process = read_process_state(static_cast<uint32_t>(getpid()))) {
    begin.process_started = process->started;
  }
  // Observers take the file for unfinished until the last step.
  copy_words(begin, header());
  std::atomic_ref(header().magic).store(kStatMagic, std::memory_order_release);
}

StatWriter::~StatWriter() {
  end(clock_now());
}

StatWriter::StatWriter(StatWriter&& other) noexcept
    : file_(std::move(other.file_)),
      memory_(std::exchange(other.memory_, nullptr)),
      room_(std::exchange(other.room_, 0)),
      next_(std::exchange(other.next_, 0)),
      object_changes_(std::exchange(other.object_changes_, 0)),
      cm_id_places_(std::move(other.cm_id_places_)),
      free_cm_id_places_(std::move(other.free_cm_id_places_)) {}

StatWriter& StatWriter::operator=(StatWriter&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  std::swap(room_, other.room_);
  std::swap(next_, other.next_);
  std::swap(object_changes_, other.object_changes_);
  std::swap(cm_id_places_, other.cm_id_places_);
  std::swap(free_cm_id_places_, other.free_cm_id_places_);
  return *this;
}

void StatWriter::end(Instant now) {
  const bool is_kept = memory_ != nullptr && header().ended != 0;
  if (is_kept) std::atomic_ref(header().ended_ns).store(now.ns, std::memory_order_release);
  if (file_.fd && !is_kept) unlink(file_.path.c_str());
  abandon();
}

void StatWriter::abandon() {
  if (memory_ != nullptr) munmap(std::exchange(memory_, nullptr), kStatBytes);
  file_.fd.reset();
  room_ = next_ = object_changes_ = 0;
  cm_id_places_.clear();
}

/// Gives the file space for so many records. False: it gets none, and keeps what it has.
bool StatWriter::make_room(size_t places) {
  const size_t wanted = std::min((places + kGrowth - 1) / kGrowth * kGrowth, kStatRecords);
  const auto bytes = static_cast<off_t>(place_offset(wanted));
  if (!may_grow_file_to(static_cast<uint64_t>(bytes))) return false;
  if (posix_fallocate(file_.fd.get(), 0, bytes) != 0) return false;
  room_ = wanted;
  return true;
}

void StatWriter::write(size_t offset, const QpReport* report, Instant ended) {
  auto& shared = at<StatRecord>(offset);
  in_a_turn(shared, [&] {
    std::atomic_ref(shared.used).store(report != nullptr ? 1 : 0, std::memory_order_release);
    std::atomic_ref(shared.ended_ns).store(ended.ns, std::memory_order_release);
    if (report != nullptr) copy_words(*report, shared.report);
  });
  if (report != nullptr && failure_of(*report) != nullptr) {
    std::atomic_ref(header().has_failures).store(1, std::memory_order_relaxed);
  }
}

void StatWriter::tell_memory_packets(uint64_t packets) {
  if (memory_ == nullptr) return;
  std::atomic_ref(header().memory_packets).store(packets, std::memory_order_relaxed);
}

void StatWriter::end_queue_pair(const Device& device, size_t place, Instant now) {
  if (memory_ == nullptr) return;
  if (place < room_) write(place_offset(place), nullptr, {});
  const auto report = device.report(place);
  if (!report || failure_of(*report) == nullptr) return;
  const uint64_t count = header().ended;
  write(kStatHeaderBytes + count % kEndedRecords * sizeof(StatRecord), &*report, now);
  std::atomic_ref(header().ended).store(count + 1, std::memory_order_release);
}

void StatWriter::publish_objects(const Device& device) {
  auto& shared = at<StatObjects>(kObjectsOffset);
  in_a_turn(shared, [&] {
    copy_words(device.object_counts(), shared.counts);
    device.report_domains(fill(shared.domains));
    device.report_regions(fill(shared.regions));
    device.report_completion_queues(fill(shared.completion_queues));
    device.report_shared_receive_queues(fill(shared.shared_receive_queues));
  });
  object_changes_ = device.object_changes();
}

void StatWriter::tell_contexts(std::span<const uint32_t> numbers, size_t count) {
  if (memory_ == nullptr) return;
  auto& shared = at<StatContexts>(kContextsOffset);
  in_a_turn(shared, [&] {
    std::atomic_ref(shared.count).store(count, std::memory_order_release);
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::atomic_ref(shared.numbers[i]).store(numbers[i], std::memory_order_release);
    }
  });
}

void StatWriter::write_cm_id(size_t place, const CmIdReport* report) {
  if (place == kNoPlace) return;
  auto& shared = at<StatCmId>(kCmIdsOffset + place * sizeof(StatCmId));
  in_a_turn(shared, [&] {
    std::atomic_ref(shared.used).store(report != nullptr ? 1 : 0, std::memory_order_release);
    if (report != nullptr) copy_words(*report, shared.report);
  });
}

void StatWriter::tell_cm_id(const CmIdReport& report) {
  if (memory_ == nullptr) return;
  try {
    const auto [id, is_new] = cm_id_places_.try_emplace(report.number, kNoPlace);
    if (is_new && !free_cm_id_places_.empty()) {
      id->second = free_cm_id_places_.back();
      free_cm_id_places_.pop_back();
    }
    write_cm_id(id->second, &report);
  } catch (const std::bad_alloc&) {
    return;  // it is not told
  }
  std::atomic_ref(header().cm_ids).store(cm_id_places_.size(), std::memory_order_relaxed);
}

void StatWriter::forget_cm_id(uint32_t number) {
  const auto id = cm_id_places_.find(number);
  if (memory_ == nullptr || id == cm_id_places_.end()) return;
  write_cm_id(id->second, nullptr);
  // There is room for all places since the beginning.
  if (id->second != kNoPlace) free_cm_id_places_.push_back(id->second);
  cm_id_places_.erase(id);
  std::atomic_ref(header().cm_ids).store(cm_id_places_.size(), std::memory_order_relaxed);
}

bool StatWriter::publish(const Device& device, Instant now) {
  if (memory_ == nullptr) return true;
  size_t places = std::min(device.report_places(), kStatRecords);
  const size_t wanted = places;
  if (places > room_ && !make_room(places)) places = room_;
  std::atomic_ref(header().left_out).store(wanted - places, std::memory_order_relaxed);
  std::atomic_ref(header().published_ns).store(now.ns, std::memory_order_relaxed);
  if (device.object_changes() != object_changes_) publish_objects(device);
  const size_t end = std::min(places, next_ + kRecordsAtOnce);
  for (; next_ < end; ++next_) {
    const auto report = device.report(next_);
    write(place_offset(next_), report ? &*report : nullptr, {});
  }
  const bool ends = next_ >= places;
  std::atomic_ref written(header().places);
  if (ends) {
    written.store(places, std::memory_order_release);
    next_ = 0;
  } else if (written.load(std::memory_order_relaxed) < next_) {
    written.store(next_, std::memory_order_release);
  }
  return ends;
}

}  // namespace urxe
