// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/file_size.h"
#include "provider/observation/process_state.h"

namespace urxe {
namespace {

/// Records that one call of publish() writes at most.
constexpr size_t kRecordsAtOnce = 128;
constexpr size_t kGrowth = 64;  // records

template <size_t Size>
void copy_text(std::string_view from, std::array<char, Size>& to) {
  from = from.substr(0, Size - 1);
  std::ranges::copy(from, to.begin());
}

constexpr size_t place_offset(size_t place) {
  return kPlacesOffset + place * sizeof(StatRecord);
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
      object_changes_(std::exchange(other.object_changes_, 0)) {}

StatWriter& StatWriter::operator=(StatWriter&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  std::swap(room_, other.room_);
  std::swap(next_, other.next_);
  std::swap(object_changes_, other.object_changes_);
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
}

StatRecord& StatWriter::record_at(size_t offset) const {
  return *reinterpret_cast<StatRecord*>(static_cast<uint8_t*>(memory_) + offset);
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
  StatRecord& shared = record_at(offset);
  std::atomic_ref turn(shared.turn);
  const uint64_t before = turn.load(std::memory_order_relaxed);
  turn.store(before + 1, std::memory_order_relaxed);
  std::atomic_ref(shared.used).store(report != nullptr ? 1 : 0, std::memory_order_release);
  std::atomic_ref(shared.ended_ns).store(ended.ns, std::memory_order_release);
  if (report != nullptr) copy_words(*report, shared.report);
  turn.store(before + 2, std::memory_order_release);
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
  auto& shared = *reinterpret_cast<StatObjects*>(static_cast<uint8_t*>(memory_) + kObjectsOffset);
  std::atomic_ref turn(shared.turn);
  const uint64_t before = turn.load(std::memory_order_relaxed);
  turn.store(before + 1, std::memory_order_relaxed);
  copy_words(device.object_counts(), shared.counts);
  size_t domains = 0;
  device.report_domains([&](const DomainReport& report) {
    if (domains < kDomainReports) copy_words(report, shared.domains[domains++]);
  });
  size_t regions = 0;
  device.report_regions([&](const RegionReport& report) {
    if (regions < kRegionReports) copy_words(report, shared.regions[regions++]);
  });
  turn.store(before + 2, std::memory_order_release);
  object_changes_ = device.object_changes();
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
