// SPDX-License-Identifier: BSD-2-Clause
// Whether the other end of an established connection is still there. A process that was killed says
// nothing; but a DREQ is answered with a DREP where nobody knows the communication (12.6.11), and
// ignored where its queue pair is not the communication's. So a DREQ for a queue pair that cannot
// be asks a question that only silence answers well.
#include <algorithm>

#include "transport/cm/cm_core.h"

namespace urxe {
namespace {

bool is_probed(const CmCore& core, const Communication& c) {
  const CmConfig& config = core.config;
  // The target end of XRC may outlive its communication.
  return config.probe_interval > Duration{} && config.probes_per_second > 0 && !c.forgotten &&
         c.transport != CmTransport::kExtended &&
         (c.remote_ca_guid & config.probe_guid_mask) == config.probe_guid_value;
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

}  // namespace

void start_probing(CmCore& core, Communication& c, Instant now) {
  c.probe_slot_taken = false;
  if (!is_probed(core, c)) return;
  // Connections that were made together are not asked together.
  const auto interval = static_cast<uint64_t>(core.config.probe_interval.ns);
  const auto part = static_cast<int64_t>(core.ids.next_transaction() % interval);
  core.arm(c, nanoseconds(core.config.probe_interval.ns / 2 + part), now);
}

void run_probe(CmCore& core, Communication& c, Instant now) {
  if (!c.probe_slot_taken) {
    const Instant slot = std::max(core.next_probe_slot, now);
    core.next_probe_slot = slot + nanoseconds(1'000'000'000 / core.config.probes_per_second);
    if (slot > now) {
      c.probe_slot_taken = true;
      core.arm(c, slot - now, now);
      return;
    }
  }
  c.probe_slot_taken = false;
  send_probe(core, c);
  core.arm(c, core.config.probe_interval, now);
}

bool answers_probe(const Communication& c, const MadContext& context) {
  return c.state == CmState::kEstablished && c.probe_transaction_id == context.transaction_id;
}

MadFate find_peer_gone(CmCore& core, Communication& c, const CmDrep& drep,
                       const MadContext& context) {
  core.tell(c, CmEvent::Kind::kPeerGone, drep, context.flow);
  core.enter(c, cm_step(c.state, CmInput::kPeerGone).next, context.now);
  return kMadReceived;
}

MadFate receive_probe(CmCore& core, Communication& c, const MadContext& context) {
  if (c.state == CmState::kTimeWait) {
    CmDrep drep;
    drep.local_comm_id = c.id;
    drep.remote_comm_id = c.remote_id;
    core.send_unowned(context, drep);
  }
  return kMadDuplicate;
}

}  // namespace urxe
