// SPDX-License-Identifier: BSD-2-Clause
// The part of RuntimeDevice that serves the connection manager and management agents.
#include <utility>

#include "packet/host/random.h"
#include "provider/devices/identity.h"
#include "provider/runtime/device/runtime_device.h"

namespace urxe {
namespace {

/// The mask of a listener for one service id.
constexpr uint64_t kOneService = UINT64_MAX;

/// Most losses are of full queues on this host, whose peers respond sooner than this.
constexpr Duration kFirstRetry = milliseconds(250);
/// An idle connection probes its peer so often. It so learns that the peer's process was killed, if
/// another process of the peer's host is left to say so.
constexpr Duration kProbeInterval = seconds(2);
/// Otherwise a peer counts as dead after 25 s of silence. That outlasts a short stop in a debugger,
/// a busy host and a link that is down for a while. If half of all packets are lost each way, so
/// many probes in a row fail once in a hundred thousand years.
constexpr Duration kProbeAgain = milliseconds(250);
constexpr uint32_t kProbeLimit = 100;

/// QP1 of each process has a source port of its own, so each process begins its search for a free
/// one elsewhere.
uint16_t wanted_source_port(uint32_t slot) {
  constexpr uint32_t kFirst = 0xc000;
  constexpr uint32_t kApart = 31;
  return static_cast<uint16_t>(kFirst | (slot * kApart & 0x3fff));
}

}  // namespace

void RuntimeDevice::configure_cm() {
  CmConfig config;
  config.ca_guid = description_.node_guid;
  config.id_prefix = slot_->number();
  config.id_secret = random_secret();
  config.first_retry = kFirstRetry;
  // On Linux the kernel tells the peers of a killed program. Here its peers have to probe.
  config.probe_interval = kProbeInterval;
  config.probe_again = kProbeAgain;
  config.probe_limit = kProbeLimit;
  config.probe_guid_mask = kNodeGuidMask;
  config.probe_guid_value = kNodeGuidValue;
  device_.cm().configure(config);
  device_.mads().configure({.id_prefix = slot_->number(), .id_secret = random_secret()});
}

Expected<void, EngineError> RuntimeDevice::open_in_engine(const Gid& local) {
  if (auto alone = sharing_->follow_user(local); !alone) return alone;
  PacketEngine& engine = *progress_.engine();
  if (auto opened = engine.open_address(local); !opened) return opened;
  if (engine.is_joining()) progress_.wait_for_joining();
  if (device_.gsi_source_port(local)) return {};
  auto port = engine.claim_source_port(local, wanted_source_port(slot_->number()));
  if (!port) return Unexpected<EngineError>(std::move(port.error()));
  device_.set_gsi_source_port(local, *port);
  return {};
}

Expected<std::pair<ListenerId, ServiceEntry>, Errno> RuntimeDevice::begin_listening(
    ServiceId service, const std::optional<Gid>& local) {
  Progress::Guard guard(progress_);
  if (auto started = start(); !started) return Unexpected<Errno>(started.error());
  refresh_gids();
  auto opened = local ? open_address(*local) : open_addresses();
  if (!opened) return Unexpected<Errno>(opened.error());
  auto entry = sharing_->begin_listening(service, local);
  if (!entry) return Unexpected<Errno>(entry.error());
  auto listener = device_.cm().listen(service, kOneService, local);
  if (!listener) return Unexpected<Errno>(listener.error());
  return std::pair(*listener, *std::move(entry));
}

// The table is waited for without the lock. Until the entry is there no request comes, and then the
// listener is there already.
Expected<ListenerId, Errno> RuntimeDevice::listen(ServiceId service,
                                                  const std::optional<Gid>& local) {
  auto begun = begin_listening(service, local);
  if (!begun) return Unexpected<Errno>(begun.error());
  auto& [listener, entry] = *begun;
  const auto entered = entry.enter();
  Progress::Guard guard(progress_);
  if (!entered) {
    device_.cm().stop_listening(listener);
    return Unexpected<Errno>(entered.error());
  }
  sharing_->end_listening(entry);
  services_[listener.value()] = {service, local};
  return listener;
}

Expected<void, Errno> RuntimeDevice::take_agent_requests(const MadAgentKey& key) {
  Expected<ServiceEntry, Errno> entry = error(ENOMEM);
  {
    Progress::Guard guard(progress_);
    if (auto started = start(); !started) return started;
    refresh_gids();
    if (auto opened = open_addresses(); !opened) return opened;
    entry = sharing_->begin_listening(agent_service(key), std::nullopt);
    if (!entry) return Unexpected<Errno>(entry.error());
  }
  if (auto entered = entry->enter(); !entered) return entered;
  Progress::Guard guard(progress_);
  sharing_->end_listening(*entry);
  return {};
}

void RuntimeDevice::stop_listening(ListenerId listener) {
  const auto found = services_.find(listener.value());
  if (found == services_.end()) return;
  sharing_->stop_listening(found->second.service, found->second.local);
  device_.cm().stop_listening(listener);
  services_.erase(found);
}

}  // namespace urxe
