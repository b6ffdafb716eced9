// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/gsi/service_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace urxe {
namespace {

constexpr size_t kSlotWord = 3;  ///< after the words that say where the holder listens

HolderKey table_key(ServiceId service) {
  return {HolderKey::Kind::kService, service.value()};
}

bool is_same_place(const HolderTable::Words& a, const HolderTable::Words& b) {
  return std::equal(a.begin(), a.begin() + kSlotWord, b.begin());
}

}  // namespace

ServiceDirectory::Places::key_type ServiceDirectory::key(ServiceId service,
                                                         const std::optional<Gid>& local) {
  return {service, local ? local->bytes : decltype(Gid::bytes){}};
}

HolderTable::Words ServiceDirectory::words(const std::optional<Gid>& local) const {
  HolderTable::Words words{};
  static_assert(kSlotWord * sizeof words[0] == sizeof(Gid) + sizeof(uint64_t));
  if (local) std::memcpy(words.data(), local->bytes.data(), sizeof(Gid));
  words[2] = interface_index_;
  words[kSlotWord] = slot_;
  return words;
}

Expected<void, Errno> ServiceEntry::enter() {
  const auto place = table_->take(key_, record_, [this](const HolderTable::Words& other) {
    return is_same_place(other, record_.what);
  });
  if (!place) return Unexpected<Errno>(place.error());
  kept_.mapped() = *place;
  return {};
}

Expected<ServiceEntry, Errno> ServiceDirectory::prepare_listening(ServiceId service,
                                                                  const std::optional<Gid>& local) {
  if (listens(service, local)) return error(EADDRINUSE);
  if (auto ready = open_holder(); !ready) return Unexpected<Errno>(ready.error());
  ServiceEntry entry;
  entry.table_ = table_;
  entry.key_ = table_key(service);
  entry.record_ = {holder_.number, words(local)};
  Places places{{key(service, local), 0}};
  entry.kept_ = places.extract(places.begin());
  return entry;
}

void ServiceDirectory::start_listening(ServiceEntry entry) {
  services_.insert(std::move(entry.kept_));
  ++started_;
}

Expected<void, Errno> ServiceDirectory::listen(ServiceId service, const std::optional<Gid>& local) {
  auto entry = prepare_listening(service, local);
  if (!entry) return Unexpected<Errno>(entry.error());
  if (auto entered = entry->enter(); !entered) return entered;
  start_listening(*std::move(entry));
  return {};
}

void ServiceDirectory::stop_listening(ServiceId service, const std::optional<Gid>& local) {
  const auto found = services_.find(key(service, local));
  if (found == services_.end()) return;
  table_->release(found->second, holder_.number);
  services_.erase(found);
}

bool ServiceDirectory::listens(ServiceId service, const std::optional<Gid>& local) const {
  return services_.contains(key(service, local));
}

uint32_t ServiceDirectory::changes() {
  return (table() ? table_->changes() : 0) + started_;
}

std::optional<UnixName> ServiceDirectory::find_other(ServiceId service,
                                                     const std::optional<Gid>& local) {
  if (!table()) return std::nullopt;
  const HolderTable::Words what = words(local);
  for (const HolderTable::Record& record : table_->find(table_key(service))) {
    // The slot of a dead holder may be another process's by now.
    if (is_same_place(record.what, what) && record.holder != holder_.number &&
        table_->lives(record.holder)) {
      return directory_.services_name(static_cast<uint32_t>(record.what[kSlotWord]));
    }
  }
  return std::nullopt;
}

Expected<HolderTable*, Errno> ServiceDirectory::table() {
  if (table_ != nullptr) return table_;
  auto table = HolderTable::open(directory_);
  if (table) table_ = *table;
  return table;
}

Expected<void, Errno> ServiceDirectory::open_holder() {
  if (holder_.number != 0) return {};
  if (auto opened = table(); !opened) return Unexpected<Errno>(opened.error());
  auto socket = open_named_socket(directory_.services_name(slot_));
  if (!socket) return Unexpected<Errno>(socket.error());
  auto holder = make_holder(directory_);
  if (!holder) return Unexpected<Errno>(holder.error());
  socket_ = *std::move(socket);
  holder_ = *std::move(holder);
  return {};
}

}  // namespace urxe
