// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/host/file_size.h"

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

uint64_t own_network_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
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
  // Observers take the file for unfinished until the last step.
  copy_words(begin, header());
  std::atomic_ref(header().magic).store(kStatMagic, std::memory_order_release);
}

StatWriter::~StatWriter() {
  remove();
}

StatWriter::StatWriter(StatWriter&& other) noexcept
    : file_(std::move(other.file_)),
      memory_(std::exchange(other.memory_, nullptr)),
      room_(std::exchange(other.room_, 0)),
      next_(std::exchange(other.next_, 0)) {}

StatWriter& StatWriter::operator=(StatWriter&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  std::swap(room_, other.room_);
  std::swap(next_, other.next_);
  return *this;
}

void StatWriter::remove() {
  if (file_.fd) unlink(file_.path.c_str());
  abandon();
}

void StatWriter::abandon() {
  if (memory_ != nullptr) munmap(std::exchange(memory_, nullptr), kStatBytes);
  file_.fd.reset();
  room_ = next_ = 0;
}

StatRecord& StatWriter::record(size_t place) const {
  auto* const bytes = static_cast<uint8_t*>(memory_);
  return *reinterpret_cast<StatRecord*>(bytes + kStatHeaderBytes + place * sizeof(StatRecord));
}

/// Gives the file space for so many records. False: it gets none, and keeps what it has.
bool StatWriter::make_room(size_t places) {
  const size_t wanted = std::min((places + kGrowth - 1) / kGrowth * kGrowth, kStatRecords);
  const auto bytes = static_cast<off_t>(kStatHeaderBytes + wanted * sizeof(StatRecord));
  if (!may_grow_file_to(static_cast<uint64_t>(bytes))) return false;
  if (posix_fallocate(file_.fd.get(), 0, bytes) != 0) return false;
  room_ = wanted;
  return true;
}

void StatWriter::write(const Device& device, size_t place) {
  const auto report = device.report(place);
  StatRecord& shared = record(place);
  std::atomic_ref turn(shared.turn);
  const uint64_t before = turn.load(std::memory_order_relaxed);
  turn.store(before + 1, std::memory_order_relaxed);
  std::atomic_ref(shared.used).store(report ? 1 : 0, std::memory_order_release);
  if (report) copy_words(*report, shared.report);
  turn.store(before + 2, std::memory_order_release);
}

bool StatWriter::publish(const Device& device, Instant now) {
  if (memory_ == nullptr) return true;
  size_t places = std::min(device.report_places(), kStatRecords);
  if (places > room_ && !make_room(places)) places = room_;
  std::atomic_ref(header().published_ns).store(now.ns, std::memory_order_relaxed);
  const size_t end = std::min(places, next_ + kRecordsAtOnce);
  for (; next_ < end; ++next_) write(device, next_);
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
