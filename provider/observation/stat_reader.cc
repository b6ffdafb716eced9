// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "packet/host/clock.h"
#include "provider/observation/process_state.h"
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
    if (fstat(fd, &status) != 0) return;
    says_no_room_ = status.st_size == static_cast<off_t>(kNoRoomBytes);
    if (status.st_size < static_cast<off_t>(kPlacesOffset)) return;
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
  [[nodiscard]] bool says_no_room() const { return says_no_room_; }
  /// Records that the file has for places.
  [[nodiscard]] size_t records() const { return (bytes_ - kPlacesOffset) / sizeof(StatRecord); }
  [[nodiscard]] std::optional<StatRecord> in_place(size_t place) const {
    return read(kPlacesOffset + place * sizeof(StatRecord));
  }
  [[nodiscard]] std::optional<StatRecord> ended(size_t which) const {
    return read(kStatHeaderBytes + which * sizeof(StatRecord));
  }
  void read_objects(DeviceObservation& device) const;
  void read_contexts(DeviceObservation& device) const;
  void read_cm_ids(DeviceObservation& device) const;

 private:
  /// A copy of what the writer had finished; nullopt: it changes all the time.
  template <class Shared>
  [[nodiscard]] std::optional<Shared> copy(size_t offset) const;
  [[nodiscard]] std::optional<StatRecord> read(size_t offset) const {
    auto record = copy<StatRecord>(offset);
    return record && record->used != 0 ? record : std::nullopt;
  }

  bool says_no_room_ = false;
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
};

template <class Shared>
std::optional<Shared> StatPage::copy(size_t offset) const {
  auto& shared = *reinterpret_cast<Shared*>(memory_ + offset);
  std::atomic_ref turn(shared.turn);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t before = turn.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    Shared copy;
    copy_words(shared, copy);
    if (turn.load(std::memory_order_relaxed) == before) return copy;
  }
  return std::nullopt;
}

template <class Report, size_t Size>
std::vector<Report> first_of(const std::array<Report, Size>& all, uint64_t count) {
  return {all.begin(), all.begin() + std::min<uint64_t>(count, Size)};
}

void StatPage::read_objects(DeviceObservation& device) const {
  const auto objects = copy<StatObjects>(kObjectsOffset);
  if (!objects) return;
  device.counts = objects->counts;
  device.domains = first_of(objects->domains, device.counts.domains);
  device.regions = first_of(objects->regions, device.counts.regions);
  device.completion_queues = first_of(objects->completion_queues, device.counts.completion_queues);
  device.shared_receive_queues =
      first_of(objects->shared_receive_queues, device.counts.shared_receive_queues);
}

void StatPage::read_contexts(DeviceObservation& device) const {
  const auto contexts = copy<StatContexts>(kContextsOffset);
  if (!contexts) return;
  device.context_count = contexts->count;
  device.contexts = first_of(contexts->numbers, contexts->count);
}

void StatPage::read_cm_ids(DeviceObservation& device) const {
  for (size_t place = 0; place < kCmIdReports; ++place) {
    const auto id = copy<StatCmId>(kCmIdsOffset + place * sizeof(StatCmId));
    if (id && id->used != 0) device.cm_ids.push_back(id->report);
  }
}

template <size_t Size>
std::string text_of(const std::array<char, Size>& text) {
  return {text.begin(), std::ranges::find(text, '\0')};
}

char state_of_process(const StatHeader& header) {
  const auto process = read_process_state(static_cast<uint32_t>(header.pid));
  // In another PID namespace the number may be another process's.
  return process && process->started == header.process_started ? process->state : '?';
}

DeviceObservation read_header(const StatHeader& header) {
  DeviceObservation seen;
  seen.pid = static_cast<uint32_t>(header.pid);
  seen.process_started = header.process_started;
  seen.pid_namespace = header.pid_namespace;
  seen.program = text_of(header.program);
  seen.device = text_of(header.device);
  seen.engine = text_of(header.engine);
  if (header.memory_packets != 0) seen.engine += "+shm";
  seen.started.ns = header.started_ns;
  seen.published.ns = header.published_ns;
  seen.observed = clock_now();
  seen.left_out = header.left_out;
  seen.cm_id_count = header.cm_ids;
  return seen;
}

/// Of the places that the process has told of.
template <class Visit>
void for_each_record(const StatPage& page, const StatHeader& header, Visit visit) {
  const size_t places = std::min<uint64_t>(header.places, page.records());
  for (size_t place = 0; place < places; ++place) {
    if (const auto record = page.in_place(place)) visit(*record);
  }
}

void add_ended(const StatPage& page, const DeviceObservation& device, bool process_has_ended,
               Observation& all) {
  for (size_t i = 0; i < kEndedRecords; ++i) {
    const auto record = page.ended(i);
    if (!record) continue;
    all.ended.push_back({device, process_has_ended, Instant{record->ended_ns}, record->report});
  }
}

void add_live(const StatPage& page, const StatHeader& header, Observation& all) {
  DeviceObservation device = read_header(header);
  device.process_state = state_of_process(header);
  add_ended(page, device, false, all);
  page.read_objects(device);
  page.read_contexts(device);
  page.read_cm_ids(device);
  for_each_record(page, header,
                  [&](const StatRecord& record) { device.queue_pairs.push_back(record.report); });
  all.devices.push_back(std::move(device));
}

/// Of a process that has ended, or has left the device. One that was killed has not moved its queue
/// pairs to those that have ended.
void add_dead(const StatPage& page, const StatHeader& header, Observation& all) {
  const DeviceObservation device = read_header(header);
  const char state = state_of_process(header);
  add_ended(page, device, state == '?' || state == 'Z', all);
  if (header.ended_ns != 0) return;
  for_each_record(page, header, [&](const StatRecord& record) {
    if (failure_of(record.report) == nullptr) return;
    all.ended.push_back({device, true, device.published, record.report});
  });
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Each lane of a device tells of its queue pairs, and the first one of the other objects.
void add_lane(const DeviceObservation& lane, DeviceObservation& device) {
  device.published = std::max(device.published, lane.published);
  device.left_out += lane.left_out;
  if (lane.engine.size() > device.engine.size()) device.engine = lane.engine;
  append(device.queue_pairs, lane.queue_pairs);
  device.counts.domains += lane.counts.domains;
  device.counts.regions += lane.counts.regions;
  device.counts.completion_queues += lane.counts.completion_queues;
  device.counts.shared_receive_queues += lane.counts.shared_receive_queues;
  device.context_count += lane.context_count;
  device.cm_id_count += lane.cm_id_count;
  append(device.domains, lane.domains);
  append(device.regions, lane.regions);
  append(device.completion_queues, lane.completion_queues);
  append(device.shared_receive_queues, lane.shared_receive_queues);
  append(device.contexts, lane.contexts);
  append(device.cm_ids, lane.cm_ids);
}

/// Joins the lanes of each device. `lanes` are sorted by process and device.
std::vector<DeviceObservation> join_lanes(std::vector<DeviceObservation> lanes) {
  std::vector<DeviceObservation> devices;
  for (DeviceObservation& lane : lanes) {
    const bool is_further = !devices.empty() && process_of(devices.back()) == process_of(lane) &&
                            devices.back().device == lane.device;
    if (is_further) {
      add_lane(lane, devices.back());
    } else {
      devices.push_back(std::move(lane));
    }
  }
  return devices;
}

bool is_known(const StatHeader& header) {
  return header.magic == kStatMagic && header.record_bytes == sizeof(StatRecord);
}

}  // namespace

Observation observe(Whose whose, const std::vector<std::string>& more_places) {
  Observation all;
  const uint64_t here = own_network_namespace();
  all.pid_namespace = own_pid_namespace();
  const StatFiles files = open_stat_files(more_places);
  all.unopened = files.unopened;
  const auto read = [&](const StatFile& file, auto add) {
    const StatPage page(file.fd.get());
    all.without_room += page.says_no_room() ? 1 : 0;
    if (!page.is_open()) return;  // it is being made
    const StatHeader header = page.header();
    if (header.magic == 0) return;
    if (!is_known(header)) {
      ++all.unreadable;
      return;
    }
    if (whose == Whose::kThisNamespace && header.network_namespace != here) return;
    add(page, header, all);
  };
  for (const StatFile& file : files.live) read(file, add_live);
  for (const StatFile& file : files.ended) read(file, add_dead);
  std::ranges::sort(all.devices, {}, [](const DeviceObservation& seen) {
    return std::tuple(process_of(seen), seen.device, seen.started);
  });
  all.devices = join_lanes(std::move(all.devices));
  std::ranges::stable_sort(all.ended, {}, &EndedQueuePair::ended);
  return all;
}

}  // namespace urxe
