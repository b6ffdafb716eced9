// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/timers/probe.h"

#include <algorithm>
#include <new>

namespace urxe {
namespace {

constexpr Duration kNextMoment = nanoseconds(1);
/// From kPeerQuiet to the question: the consumer looks at the port meanwhile.
constexpr Duration kForTheConsumer = milliseconds(10);

bool is_probed(const CmCore& core, const Communication& c) {
  const CmConfig& config = core.config;
  // The target end of XRC may outlive its communication.
  return config.probe_interval > Duration{} && config.probes_per_second > 0 && !c.forgotten &&
         c.transport != CmTransport::kExtended && is_urxe(config, c);
}

void send_probe(CmCore& core, Communication& c) {
  CmDreq dreq;
  dreq.local_comm_id = c.id;
  dreq.remote_comm_id = c.remote_id;
  dreq.remote_qpn = kProbeQpn;
  // The same each time: an answer may take longer than the interval.
  if (!c.probe_transaction_id) c.probe_transaction_id = core.ids.next_transaction();
  core.send_message(c.flow, dreq, *c.probe_transaction_id);
}

/// The pause until the next question, if this one is answered.
Duration pause_of(const CmConfig& config, const PeerProcess& process) {
  if (process.suspects > 0) return kNextMoment;
  const auto members = static_cast<int64_t>(process.size);
  return std::min(config.probe_interval, nanoseconds(config.probe_round.ns / members));
}

void arm(CmCore& core, PeerProcess& process, Instant deadline, Instant now) {
  core.processes.deadlines.set(process, std::max(deadline, now + kNextMoment));
}

/// Whether the turn of the process has come, at probes_per_second for all processes together.
bool take_turn(CmCore& core, PeerProcess& process, Instant now) {
  if (!process.slot_taken) {
    const Instant slot = std::max(core.next_probe_slot, now);
    core.next_probe_slot = slot + nanoseconds(1'000'000'000 / core.config.probes_per_second);
    if (slot > now) {
      process.slot_taken = true;
      arm(core, process, slot, now);
      return false;
    }
  }
  process.slot_taken = false;
  return true;
}

/// Counts the last question if it was not answered.
void count_unanswered(const CmConfig& config, PeerProcess& process, Instant now) {
  if (!process.silence) {
    process.silence = now;
  } else if (now - *process.silence >= config.probe_again) {
    process.silence = now;
    ++process.unanswered;
  }
}

bool is_quiet(const CmCore& core, const PeerProcess& process) {
  return core.config.quiet_after > 0 && process.unanswered >= core.config.quiet_after;
}

/// Before each question to a quiet process, has the consumer look at its host's port. Returns false
/// if it is the question's turn.
bool look_comes_first(CmCore& core, PeerProcess& process) {
  process.told_quiet = is_quiet(core, process) && !process.told_quiet;
  if (process.told_quiet) core.tell_quiet(process.members.front()->flow);
  return process.told_quiet;
}

/// Questions to a quiet process come at random intervals: at regular ones, each report of the
/// host's kernel, one a second, could go to a question instead of to a look.
Duration pause_while_unanswered(CmCore& core, const PeerProcess& process) {
  const Duration again = core.config.probe_again;
  if (!is_quiet(core, process)) return again;
  const auto part = core.ids.next_transaction() % static_cast<uint64_t>(again.ns / 8 + 1);
  return again + nanoseconds(static_cast<int64_t>(part));
}

/// Connections of a silent process that end in one turn: there may be tens of thousands, and the
/// caller holds up others.
constexpr size_t kGivenUpAtOnce = 16;

void give_up(CmCore& core, PeerProcess& process, Instant now) {
  const size_t all = process.size;
  const auto kind = process.port_closed ? CmEvent::Kind::kPeerGone : CmEvent::Kind::kPeerSilent;
  if (all > kGivenUpAtOnce) arm(core, process, now, now);
  // The last member takes the PeerProcess with it.
  for (size_t left = std::min(all, kGivenUpAtOnce); left > 0; --left) {
    Communication& c = *process.members.front();
    core.tell(c, kind, CmDrep{});
    core.enter(c, cm_step(c.state, CmInput::kPeerGone).next, now);
  }
}

void hear(CmCore& core, PeerProcess& process, Instant now) {
  process.silence.reset();
  process.unanswered = 0;
  process.told_quiet = false;
  process.port_closed = false;
  if (process.slot_taken) return;  // it is about to be asked again, which does no harm
  arm(core, process, process.asked_at + pause_of(core.config, process), now);
}

}  // namespace

bool is_urxe(const CmConfig& config, const Communication& c) {
  return (c.remote_ca_guid & config.probe_guid_mask) == config.probe_guid_value;
}

void start_probing(CmCore& core, Communication& c, Instant now) {
  if (!is_probed(core, c)) return;
  try {
    PeerProcess& process = core.processes.link(c);
    if (process.scheduled()) return;
    // Processes whose connections were established together are not asked together.
    const auto interval = static_cast<uint64_t>(core.config.probe_interval.ns);
    const auto part = static_cast<int64_t>(core.ids.next_transaction() % interval);
    arm(core, process, now + nanoseconds(core.config.probe_interval.ns / 2 + part), now);
  } catch (const std::bad_alloc&) {
    // The process is not asked before its next connection is established.
  }
}

void run_probe(CmCore& core, PeerProcess& process, Instant now) {
  const uint32_t limit = core.config.probe_limit;
  const auto is_over = [&] { return process.unanswered >= limit || process.port_closed; };
  if (is_over()) return give_up(core, process, now);
  if (!take_turn(core, process, now)) return;
  count_unanswered(core.config, process, now);
  process.port_closed =
      is_quiet(core, process) && core.closed_ports.has(process.members.front()->flow, now);
  if (is_over()) return give_up(core, process, now);
  if (look_comes_first(core, process)) return arm(core, process, now + kForTheConsumer, now);
  Communication& c = *process.members.front();
  process.members.move_to_back(c);
  send_probe(core, c);
  process.asked_at = now;
  if (process.suspects > 0) --process.suspects;
  const Duration pause =
      std::min(pause_of(core.config, process), pause_while_unanswered(core, process));
  arm(core, process, now + pause, now);
}

bool ask_soon(CmCore& core, Communication& c, Instant now) {
  PeerProcess* const process = c.peer_process;
  if (process == nullptr) return false;
  process->members.move_to_front(c);
  if (!process->slot_taken) arm(core, *process, now, now);
  return true;
}

void ConnectionManager::port_is_closed(const Gid& local, const Gid& peer, Instant now) {
  begin_call().closed_ports.note(local, peer, now);
}

bool answers_probe(const Communication& c, const MadContext& context) {
  return c.probe_transaction_id == context.transaction_id;
}

MadFate receive_probe_answer(CmCore& core, Communication& c, Instant now) {
  if (c.peer_process == nullptr) return kMadDuplicate;
  hear(core, *c.peer_process, now);
  return kMadReceived;
}

MadFate find_peer_gone(CmCore& core, Communication& c, const CmDrep& drep,
                       const MadContext& context) {
  if (c.peer_process != nullptr) {
    // The answer may come from the successor of the process, which knows none of its connections.
    c.peer_process->suspects = c.peer_process->size - 1;
    hear(core, *c.peer_process, context.now);
  }
  core.tell(c, CmEvent::Kind::kPeerGone, drep, context.flow);
  core.enter(c, cm_step(c.state, CmInput::kPeerGone).next, context.now);
  return kMadReceived;
}

/// The answer is not counted in the budget for strangers: a flood must not make a living connection
/// look dead.
MadFate receive_probe(CmCore& core, Communication& c, const MadContext& context) {
  if (c.state == CmState::kTimeWait) {
    CmDrep drep;
    drep.local_comm_id = c.id;
    drep.remote_comm_id = c.remote_id;
    core.answer_peer(context, drep);
  } else {
    CmMra mra;
    mra.local_comm_id = c.id;
    mra.remote_comm_id = c.remote_id;
    mra.answered = CmAnswered::kOther;
    core.answer_peer(context, mra);
  }
  return kMadDuplicate;
}

}  // namespace urxe
