// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "packet/host/clock.h"
#include "provider/observation/stat_directory.h"

namespace urxe {
namespace {

/// How often a record is read that its writer keeps changing.
constexpr int kAttempts = 1000;

/// The mapped file, for as long as this exists. What is in it is the other process's to change at
/// any time.
class StatPage {
 public:
  explicit StatPage(int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(kStatHeaderBytes)) return;
    bytes_ = std::min(static_cast<size_t>(status.st_size), kStatBytes);
    void* const memory = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) memory_ = static_cast<uint8_t*>(memory);
  }
  ~StatPage() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  StatPage(const StatPage&) = delete;
  StatPage& operator=(const StatPage&) = delete;

  [[nodiscard]] bool is_open() const { return memory_ != nullptr; }
  [[nodiscard]] StatHeader header() const {
    StatHeader copy;
    copy_words(*reinterpret_cast<const StatHeader*>(memory_), copy);
    return copy;
  }
  /// Records that the file has.
  [[nodiscard]] size_t records() const { return (bytes_ - kStatHeaderBytes) / sizeof(StatRecord); }
  [[nodiscard]] std::optional<QpReport> report(size_t place) const;

 private:
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
};

std::optional<QpReport> StatPage::report(size_t place) const {
  auto& shared =
      *reinterpret_cast<StatRecord*>(memory_ + kStatHeaderBytes + place * sizeof(StatRecord));
  std::atomic_ref turn(shared.turn);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t before = turn.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    StatRecord copy;
    copy_words(shared, copy);
    if (turn.load(std::memory_order_relaxed) != before) continue;
    if (copy.used == 0) return std::nullopt;
    return copy.report;
  }
  return std::nullopt;
}

template <size_t Size>
std::string text_of(const std::array<char, Size>& text) {
  return {text.begin(), std::ranges::find(text, '\0')};
}

uint64_t own_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

DeviceObservation read_page(const StatPage& page, const StatHeader& header) {
  DeviceObservation seen;
  seen.pid = static_cast<uint32_t>(header.pid);
  seen.program = text_of(header.program);
  seen.device = text_of(header.device);
  seen.engine = text_of(header.engine);
  seen.started.ns = header.started_ns;
  seen.published.ns = header.published_ns;
  seen.observed = clock_now();
  const size_t places = std::min<uint64_t>(header.places, page.records());
  for (size_t place = 0; place < places; ++place) {
    if (const auto report = page.report(place)) seen.queue_pairs.push_back(*report);
  }
  return seen;
}

bool is_known(const StatHeader& header) {
  return header.magic == kStatMagic && header.record_bytes == sizeof(StatRecord);
}

}  // namespace

Observation observe(Whose whose) {
  Observation all;
  const uint64_t here = own_namespace();
  for (const StatFile& file : open_stat_files()) {
    const StatPage page(file.fd.get());
    if (!page.is_open()) continue;  // it is being made
    const StatHeader header = page.header();
    if (header.magic == 0) continue;
    if (!is_known(header)) {
      ++all.unreadable;
      continue;
    }
    if (whose == Whose::kThisNamespace && header.network_namespace != here) continue;
    all.devices.push_back(read_page(page, header));
  }
  std::ranges::sort(all.devices, {}, [](const DeviceObservation& seen) {
    return std::tuple(seen.pid, seen.device, seen.started);
  });
  return all;
}

}  // namespace urxe
