// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/service_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace urxe {
namespace {

/// The number of the holder's socket, which is opened first.
constexpr uint32_t kHolderSocket = 0;

HolderKey table_key(ServiceId service) {
  return {HolderKey::Kind::kService, service.value()};
}

}  // namespace

UnixName service_name(uint32_t interface_index, ServiceId service,
                      const std::optional<Gid>& local) {
  char address[33] = "any";
  for (size_t i = 0; local && i < local->bytes.size(); ++i) {
    std::snprintf(address + 2 * i, 3, "%02x", local->bytes[i]);
  }
  return abstract_name("urxe/%u/service/%u/%016llx/%s", geteuid(), interface_index,
                       static_cast<unsigned long long>(service.value()), address);
}

ServiceDirectory::Key ServiceDirectory::key(ServiceId service, const std::optional<Gid>& local) {
  return {service, local ? local->bytes : decltype(Gid::bytes){}};
}

HolderTable::Words ServiceDirectory::words(const std::optional<Gid>& local) const {
  HolderTable::Words words{};
  static_assert(sizeof words >= sizeof(Gid) + sizeof(uint64_t));
  if (local) std::memcpy(words.data(), local->bytes.data(), sizeof(Gid));
  words[2] = interface_index_;
  return words;
}

Expected<std::vector<uint32_t>, Errno> ServiceDirectory::listen(ServiceId service,
                                                                const std::optional<Gid>& local) {
  if (listens(service, local)) return error(EADDRINUSE);
  if (auto ready = open_holder(); !ready) return Unexpected<Errno>(ready.error());
  Listening listening;
  auto named = add_name(service, local, listening);
  if (!named) return Unexpected<Errno>(named.error());
  const HolderTable::Words what = words(local);
  const auto place = table_->take(table_key(service), {holder_, what},
                                  [&](const HolderTable::Words& other) { return other == what; });
  if (!place) {
    remove_name(listening);
    return Unexpected<Errno>(place.error());
  }
  listening.place = *place;
  services_[key(service, local)] = listening;
  std::vector<uint32_t> opened;
  if (!std::exchange(told_of_holder_, true)) opened.push_back(kHolderSocket);
  if (listening.named) opened.push_back(*listening.named);
  return opened;
}

void ServiceDirectory::stop_listening(ServiceId service, const std::optional<Gid>& local) {
  const auto found = services_.find(key(service, local));
  if (found == services_.end()) return;
  table_->release(found->second.place, holder_);
  remove_name(found->second);
  services_.erase(found);
}

int ServiceDirectory::socket(uint32_t number) const {
  return number < sockets_.size() ? sockets_[number].get() : -1;
}

bool ServiceDirectory::listens(ServiceId service, const std::optional<Gid>& local) const {
  return services_.contains(key(service, local));
}

std::vector<UnixName> ServiceDirectory::find_others(ServiceId service,
                                                    const std::optional<Gid>& local) {
  std::vector<UnixName> names;
  if (table_ == nullptr) table_ = HolderTable::open().value_or(nullptr);
  if (table_ != nullptr) {
    const HolderTable::Words what = words(local);
    for (const HolderTable::Record& record : table_->find(table_key(service))) {
      if (record.what == what && record.holder != holder_) {
        names.push_back(holder_name(record.holder));
      }
    }
  }
  names.push_back(service_name(interface_index_, service, local));
  return names;
}

Expected<void, Errno> ServiceDirectory::open_holder() {
  if (holder_ != 0) return {};
  auto table = HolderTable::open();
  if (!table) return Unexpected<Errno>(table.error());
  auto holder = make_holder();
  if (!holder) return Unexpected<Errno>(holder.error());
  table_ = *table;
  add_socket(std::move(holder->socket));
  holder_ = holder->number;
  return {};
}

Expected<void, Errno> ServiceDirectory::add_name(ServiceId service, const std::optional<Gid>& local,
                                                 Listening& listening) {
  const bool may_do_without = table_->is_shared();
  if (may_do_without && named_ >= kMostNamed) return {};
  auto fd = open_named_socket(service_name(interface_index_, service, local));
  if (!fd && may_do_without && fd.error().value != EADDRINUSE) return {};
  if (!fd) return Unexpected<Errno>(fd.error());
  listening.named = add_socket(*std::move(fd));
  ++named_;
  return {};
}

uint32_t ServiceDirectory::add_socket(FileDescriptor fd) {
  auto place = std::ranges::find_if(sockets_, [](const FileDescriptor& s) { return !s; });
  if (place == sockets_.end()) place = sockets_.emplace(place);
  *place = std::move(fd);
  return static_cast<uint32_t>(place - sockets_.begin());
}

void ServiceDirectory::remove_name(Listening& listening) {
  if (!listening.named) return;
  sockets_[*listening.named].reset();
  listening.named.reset();
  --named_;
}

}  // namespace urxe
