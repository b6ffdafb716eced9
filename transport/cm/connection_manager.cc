// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/connection_manager.h"

#include <new>

#include "transport/cm/cm_core.h"
#include "transport/cm/messages/active.h"
#include "transport/cm/messages/alternate_path.h"
#include "transport/cm/messages/delay.h"
#include "transport/cm/messages/disconnect.h"
#include "transport/cm/messages/passive.h"
#include "transport/cm/messages/rejection.h"
#include "transport/cm/messages/service_resolution.h"

namespace urxe {
namespace {

/// A message by its body; each alternative has its handler.
struct Receive {
  CmCore& core;
  const MadContext& context;
  MadFate operator()(const CmReq& m) const { return receive_req(core, m, context); }
  MadFate operator()(const CmMra& m) const { return receive_mra(core, m, context); }
  MadFate operator()(const CmRej& m) const { return receive_rej(core, m, context); }
  MadFate operator()(const CmRep& m) const { return receive_rep(core, m, context); }
  MadFate operator()(const CmRtu& m) const { return receive_rtu(core, m, context); }
  MadFate operator()(const CmDreq& m) const { return receive_dreq(core, m, context); }
  MadFate operator()(const CmDrep& m) const { return receive_drep(core, m, context); }
  MadFate operator()(const CmSidrReq& m) const { return receive_sidr_req(core, m, context); }
  MadFate operator()(const CmSidrRep& m) const { return receive_sidr_rep(core, m, context); }
  MadFate operator()(const CmLap& m) const { return receive_lap(core, m, context); }
  MadFate operator()(const CmApr& m) const { return receive_apr(core, m, context); }
};

void count(CmCounters& counters, CmAttribute attribute, const MadFate& fate) {
  switch (fate.kind) {
    case MadFate::Kind::kReceived:
      ++counters.received[index_of(attribute)];
      return;
    case MadFate::Kind::kDuplicate:
      ++counters.duplicates[index_of(attribute)];
      return;
    case MadFate::Kind::kDropped:
      ++counters.drops[static_cast<size_t>(fate.reason)];
      return;
  }
}

}  // namespace

CmCore& ConnectionManager::begin_call() {
  core_->released.clear();
  return *core_;
}

ConnectionManager::ConnectionManager(const CmConfig& config)
    : core_(std::make_unique<CmCore>(config)) {}
ConnectionManager::~ConnectionManager() = default;

void ConnectionManager::configure(const CmConfig& config) {
  if (core_->table.size() == 0 && core_->listeners.empty()) {
    core_ = std::make_unique<CmCore>(config);
  }
}

Expected<ListenerId, Errno> ConnectionManager::listen(ServiceId service, uint64_t mask,
                                                      std::optional<Gid> local) {
  return begin_call().listeners.add(service, mask, local);
}

void ConnectionManager::stop_listening(ListenerId listener) {
  begin_call().listeners.remove(listener);
}

void ConnectionManager::receive(std::span<const uint8_t> mad, const Flow& flow, Instant now) {
  CmCore& core = begin_call();
  const auto message = parse_cm_message(mad);
  if (!message) {
    ++core.counters.drops[static_cast<size_t>(message.error())];
    return;
  }
  const MadContext context{message->transaction_id, flow, now};
  MadFate fate = mad_dropped(MadDropReason::kNoRoom);
  try {
    fate = std::visit(Receive{core, context}, message->body);
  } catch (const std::bad_alloc&) {
    // As if it had been lost.
  }
  count(core.counters, attribute_of(message->body), fate);
}

std::optional<CmState> ConnectionManager::state(CommId id) const {
  const Communication* c = core_->table.find(id);
  if (c == nullptr || c->forgotten) return std::nullopt;
  return c->state;
}

size_t ConnectionManager::size() const {
  return core_->table.size();
}
const CmCounters& ConnectionManager::counters() const {
  return core_->counters;
}

const OutgoingMad* ConnectionManager::take_outgoing() {
  return begin_call().outbox.take();
}
bool ConnectionManager::has_outgoing() const {
  return !core_->outbox.empty();
}

namespace {

std::optional<CmEvent> take_quiet(CmCore& core) {
  if (core.quiet.empty()) return std::nullopt;
  CmEvent event;
  event.kind = CmEvent::Kind::kPeerQuiet;
  event.flow = core.quiet.front();
  core.quiet.erase(core.quiet.begin());
  return event;
}

}  // namespace

std::optional<CmEvent> ConnectionManager::take_event() {
  CmCore& core = begin_call();
  if (core.events.empty()) return take_quiet(core);
  return core.events.pop(core.table.find(core.events.front().id));
}
bool ConnectionManager::has_event() const {
  return !core_->events.empty() || !core_->quiet.empty();
}

}  // namespace urxe
