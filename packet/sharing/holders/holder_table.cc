// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holders/holder_table.h"

#include <pthread.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "packet/base/mix_bits.h"

namespace urxe {
namespace {

/// The tables of this process, by directory, and the lock for all changes. Never destroyed:
/// exit handlers may still release records.
struct Tables {
  static Tables& instance() {
    static auto* const tables = new Tables;
    return *tables;
  }
  std::mutex mutex;
  std::map<const SharingDirectory*, std::unique_ptr<HolderTable>> open;

 private:
  Tables() {
    SharingDirectory::prepare();
    pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                   [] { instance().mutex.unlock(); });
  }
};

/// The hash belongs to the layout of the file, which processes of different releases may share: if
/// it changes, the name of the directory must, too (network_directory_prefix()). One multiplication
/// spreads ports and services well enough, and only the user's own programs enter keys.
uint32_t bucket_of(HolderKey key) {
  const uint64_t mixed = (key.value ^ static_cast<uint64_t>(key.kind) << 56) * kGoldenRatio;
  return static_cast<uint32_t>(mixed >> 32) % HolderMemory::kBuckets;
}

bool has_key(const HolderCell& cell, HolderKey key) {
  return cell.kind == static_cast<uint32_t>(key.kind) && cell.key == key.value;
}

HolderTable::Words words_of(const HolderCell& cell) {
  HolderTable::Words words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = cell.what[i];
  return words;
}

/// Readers take no lock: they skip a record whose version is odd, or differs after reading.
void write(HolderCell& cell, HolderKey key, const HolderTable::Record& record) {
  const uint32_t version = cell.version | 1;
  cell.version = version;
  cell.kind = static_cast<uint32_t>(key.kind);
  cell.key = key.value;
  for (size_t i = 0; i < record.what.size(); ++i) cell.what[i] = record.what[i];
  cell.holder = record.holder;
  cell.version = version + 1;
}

std::optional<HolderTable::Record> read(const HolderCell& cell, HolderKey key) {
  const uint32_t version = cell.version;
  const HolderTable::Record record{cell.holder, words_of(cell)};
  const bool is_wanted = record.holder != 0 && has_key(cell, key);
  if (!is_wanted || version % 2 != 0 || cell.version != version) return std::nullopt;
  return record;
}

}  // namespace

/// The cells of a key's bucket. Visiting ends even if the file is damaged.
class HolderTable::Chain {
 public:
  Chain(const HolderMemory& memory, uint32_t bucket) : memory_(memory), bucket_(bucket) {}

  /// Calls `tell` with each cell and its place until it returns false.
  template <class Visit>
  void visit(Visit tell) const {
    uint32_t place = memory_.first(bucket_);
    for (uint32_t steps = 0; steps < HolderMemory::kMostCells; ++steps) {
      HolderCell* const cell = memory_.cell(place);
      if (cell == nullptr || !tell(*cell, place)) return;
      place = cell->next;
    }
  }

  void add(uint32_t place) const {
    memory_.cell(place)->next = memory_.first(bucket_).load();
    memory_.first(bucket_) = place;
  }

 private:
  const HolderMemory& memory_;
  uint32_t bucket_;
};

void HolderTable::prepare() {
  Tables::instance();
}

Expected<std::unique_ptr<HolderTable>, Errno> HolderTable::map(FileDescriptor file,
                                                               const SharingDirectory& directory) {
  auto memory = HolderMemory::map(std::move(file));
  if (!memory) return Unexpected<Errno>(memory.error());
  auto* const table = new (std::nothrow) HolderTable(*std::move(memory), directory);
  if (table == nullptr) return error(ENOMEM);
  return std::unique_ptr<HolderTable>(table);
}

Expected<HolderTable*, Errno> HolderTable::open(const SharingDirectory& directory) try {
  Tables& tables = Tables::instance();
  std::lock_guard lock(tables.mutex);
  auto& table = tables.open[&directory];
  if (table == nullptr) {
    auto file = directory.open_file("held");
    if (!file) return Unexpected<Errno>(file.error());
    auto made = map(*std::move(file), directory);
    if (!made) return Unexpected<Errno>(made.error());
    table = *std::move(made);
  }
  return table.get();
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

Expected<uint32_t, Errno> HolderTable::take(HolderKey key, const Record& record,
                                            const Conflict& conflict) {
  std::lock_guard lock(Tables::instance().mutex);
  const uint32_t bucket = bucket_of(key);
  const auto alone = HolderMemory::Lock::take(*memory_, bucket);
  if (!alone) return Unexpected<Errno>(alone.error());
  const Chain chain(*memory_, bucket);
  if (is_taken(chain, key, 0, conflict)) return error(EADDRINUSE);
  if (const uint32_t place = find_free(chain, record.holder); place != 0) {
    write(*memory_->cell(place), key, record);
    ++memory_->written();
    return place;
  }
  const auto place = memory_->add_cell();
  if (!place) return Unexpected<Errno>(place.error());
  write(*memory_->cell(*place), key, record);
  chain.add(*place);
  ++memory_->written();
  return *place;
}

Expected<void, Errno> HolderTable::change(uint32_t place, HolderKey key, const Record& record,
                                          const Conflict& conflict) {
  std::lock_guard lock(Tables::instance().mutex);
  const uint32_t bucket = bucket_of(key);
  const auto alone = HolderMemory::Lock::take(*memory_, bucket);
  if (!alone) return Unexpected<Errno>(alone.error());
  if (is_taken(Chain(*memory_, bucket), key, place, conflict)) return error(EADDRINUSE);
  write(*memory_->cell(place), key, record);
  ++memory_->written();
  return {};
}

// Without the locks: no other process changes the record of a living holder.
void HolderTable::release(uint32_t place, uint64_t holder) {
  memory_->cell(place)->holder.compare_exchange_strong(holder, 0);
}

std::vector<HolderTable::Record> HolderTable::find(HolderKey key) const {
  std::vector<Record> found;
  Chain(*memory_, bucket_of(key)).visit([&](const HolderCell& cell, uint32_t) {
    if (const auto record = read(cell, key)) found.push_back(*record);
    return true;
  });
  return found;
}

bool HolderTable::is_taken(const Chain& chain, HolderKey key, uint64_t besides,
                           const Conflict& conflict) {
  bool taken = false;
  chain.visit([&](HolderCell& cell, uint32_t place) {
    const bool is_other = cell.holder != 0 && place != besides && has_key(cell, key);
    taken = is_other && conflict(words_of(cell)) && !forget_if_dead(cell);
    return !taken;
  });
  return taken;
}

/// Returns the place of a free record of the chain, or 0 if all belong to living holders. A chain
/// is therefore never longer than the largest number of such records at one time.
uint32_t HolderTable::find_free(const Chain& chain, uint64_t own) {
  uint32_t free = 0;
  const auto is_unused = [&](const HolderCell& cell, uint32_t place) {
    if (cell.holder == 0) free = place;
    return free == 0;
  };
  chain.visit(is_unused);
  if (free != 0) return free;
  uint64_t living = own;  // records of one holder often follow each other
  chain.visit([&](HolderCell& cell, uint32_t place) {
    const uint64_t holder = cell.holder;
    if (holder == living || holder == own) return true;
    if (forget_if_dead(cell)) {
      free = place;
    } else {
      living = holder;
    }
    return free == 0;
  });
  return free;
}

bool HolderTable::forget_if_dead(HolderCell& cell) {
  uint64_t holder = cell.holder;
  if (lives(holder)) return false;
  cell.holder.compare_exchange_strong(holder, 0);
  return true;
}

}  // namespace urxe
