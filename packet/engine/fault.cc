// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault.h"

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <utility>

namespace urxe {
namespace {

void add(FaultCounters& sum, const FaultCounters& more) {
  sum.passed += more.passed;
  sum.lost += more.lost;
  sum.duplicated += more.duplicated;
  sum.reordered += more.reordered;
  sum.corrupted += more.corrupted;
}

}  // namespace

/// Nobody calls the control while a lane is in use. An only lane may release ports itself, as soon
/// as their packets have left; if there are several, the next call of the control does.
FaultEngine::FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan)
    : ForwardingEngine(std::move(engine)) {
  std::function<void()> sent_delayed;
  if (lanes() == 1) sent_delayed = [this] { release_ports(); };
  for (size_t i = 0; i < lanes(); ++i) {
    lanes_.push_back(std::make_unique<FaultyLane>(inner().lane(i), inner().batch_limits(i), plan, i,
                                                  sent_delayed));
  }
}

FaultEngine::~FaultEngine() {
  for (const auto& lane : lanes_) lane->send_rest();
}

void FaultEngine::close_address(const Gid& local) {
  std::erase_if(released_ports_, [&](const ReleasedPort& released) {
    if (released.local != local) return false;
    inner().release_source_port(local, released.port);
    return true;
  });
  inner().close_address(local);
}

Expected<uint16_t, EngineError> FaultEngine::claim_source_port(const Gid& local, uint16_t wanted) {
  release_ports();
  return inner().claim_source_port(local, wanted);
}

void FaultEngine::release_source_port(const Gid& local, uint16_t port) {
  release_ports();
  std::optional<Instant> last;
  for (const auto& lane : lanes_) {
    lane->send_held_back();
    last = std::max(last, lane->last_due());
  }
  if (!last) return inner().release_source_port(local, port);
  try {
    released_ports_.push_back({*last, local, port});
  } catch (const std::bad_alloc&) {
    inner().release_source_port(local, port);
  }
}

void FaultEngine::release_ports() {
  if (released_ports_.empty()) return;
  std::optional<Instant> next;
  for (const auto& lane : lanes_) {
    const std::optional<Instant> due = lane->next_due();
    if (due && (!next || *due < *next)) next = due;
  }
  while (!released_ports_.empty() && (!next || released_ports_.front().last_packet < *next)) {
    inner().release_source_port(released_ports_.front().local, released_ports_.front().port);
    released_ports_.pop_front();
  }
}

void FaultEngine::leave() {
  for (const auto& lane : lanes_) lane->send_rest();
  inner().leave();
}

void FaultEngine::abandon() {
  for (const auto& lane : lanes_) lane->forget_rest();
  inner().abandon();
}

EngineCounters FaultEngine::totals() const {
  EngineCounters totals = inner().totals();
  for (const auto& lane : lanes_) {
    add(totals.outgoing_faults, lane->outgoing());
    add(totals.incoming_faults, lane->incoming());
  }
  return totals;
}

}  // namespace urxe
