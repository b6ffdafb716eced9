// SPDX-License-Identifier: BSD-2-Clause
// The part of RuntimeDevice that serves the connection manager and management agents.
#include <cerrno>
#include <new>
#include <utility>

#include "provider/runtime/device/runtime_device.h"

namespace urxe {
namespace {

/// The mask of a listener for one service id.
constexpr uint64_t kOneService = UINT64_MAX;

}  // namespace

Expected<std::pair<ListenerId, ServiceEntry>, Errno> RuntimeDevice::prepare_listening(
    ServiceId service, const std::optional<Gid>& local) {
  Guard guard(*this);
  if (auto started = start(); !started) return Unexpected<Errno>(started.error());
  refresh_gids();
  auto opened = local ? open_address(*local) : open_addresses();
  if (!opened) return Unexpected<Errno>(opened.error());
  if (!local) report_unopened();
  auto entry = first_.sharing().prepare_listening(service, local);
  if (!entry) return Unexpected<Errno>(entry.error());
  auto listener = device().cm().listen(service, kOneService, local);
  if (!listener) return Unexpected<Errno>(listener.error());
  try {
    services_[listener->value()] = {service, local};
  } catch (const std::bad_alloc&) {
    device().cm().stop_listening(*listener);
    return error(ENOMEM);
  }
  return std::pair(*listener, *std::move(entry));
}

// The table is waited for without the lock. Until the entry is there no request comes, and then the
// listener is there already. Nothing may fail from then on.
Expected<ListenerId, Errno> RuntimeDevice::listen(ServiceId service,
                                                  const std::optional<Gid>& local) {
  auto prepared = prepare_listening(service, local);
  if (!prepared) return Unexpected<Errno>(prepared.error());
  auto& [listener, entry] = *prepared;
  const auto entered = entry.enter();
  Guard guard(*this);
  if (!entered) {
    device().cm().stop_listening(listener);
    services_.erase(listener.value());
    return Unexpected<Errno>(entered.error());
  }
  first_.sharing().start_listening(std::move(entry));
  return listener;
}

Expected<void, Errno> RuntimeDevice::take_agent_requests(const MadAgentKey& key) {
  Expected<ServiceEntry, Errno> entry = error(ENOMEM);
  {
    Guard guard(*this);
    if (auto started = start(); !started) return started;
    refresh_gids();
    if (auto opened = open_addresses(); !opened) return opened;
    entry = first_.sharing().prepare_listening(agent_service(key), std::nullopt);
    if (!entry) return Unexpected<Errno>(entry.error());
  }
  if (auto entered = entry->enter(); !entered) return entered;
  Guard guard(*this);
  first_.sharing().start_listening(*std::move(entry));
  return {};
}

void RuntimeDevice::stop_listening(ListenerId listener) {
  const auto found = services_.find(listener.value());
  if (found == services_.end()) return;
  first_.sharing().stop_listening(found->second.service, found->second.local);
  device().cm().stop_listening(listener);
  services_.erase(found);
}

}  // namespace urxe
