// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// Finds out whether the other end of an established connection still exists. A process that was
// killed sends nothing, so its peers ask: they send a DREQ for a queue pair number that cannot
// exist.
//
// - An end that exists answers with an MRA "of another message", which asks for no time. This
//   answer ends nothing for any implementation. To one that has not asked, it means nothing at all
//   (12.6.6: an MRA is of a REQ, a REP or a LAP). One that waits for the answer to a LAP tells the
//   two apart by their transaction ids.
// - If the communication is unknown there, another process of the killed one's host, or its
//   successor, answers the DREQ with a DREP (12.6.11). The connection ends at once.
// - If no process of the host is left, its kernel reports port 4791 as closed (ICMP). The consumer
//   finds that out with a socket, from the second unanswered question on (kPeerQuiet). It does so
//   just before each question, because kernels send only one such report a second, and the question
//   would use it up.
// - Otherwise the connection ends after many unanswered questions in a row. The questions are
//   counted and the time is not measured, so a process that was stopped for a long time does not
//   take its peers for gone when it continues.
//
// Processes die, rather than single connections, so the questions go to processes: each question
// uses the next connection with that process, and an answer for one connection is an answer of the
// process. Ten thousand connections with one process cost little more than one. A connection that
// alone is gone is found by its own question, whose turn comes once per round, or at once if
// another connection with the same process was found gone.
//
// Only peers whose GUID marks them as urxe are asked: others would be right to ignore the question.

/// The queue pair of a DREQ that only asks: multicast's number, which no queue pair has.
inline constexpr Qpn kProbeQpn{kMulticastQpn};

/// Starts asking, for a connection that has become established.
void start_probing(CmCore& core, Communication& c, Instant now);
/// The time to ask the process has come. It may still have to wait for its turn among all
/// processes.
void run_probe(CmCore& core, PeerProcess& process, Instant now);
/// Asks for the other end of this connection as soon as the turn of the process comes. False: the
/// peer is not one that is asked.
bool ask_soon(CmCore& core, Communication& c, Instant now);
/// Whether the peer's GUID marks it as urxe.
bool is_urxe(const CmConfig& config, const Communication& c);
/// Whether the message has the transaction id of the communication's questions.
bool answers_probe(const Communication& c, const MadContext& context);
/// The peer answers that it exists.
MadFate receive_probe_answer(CmCore& core, Communication& c, Instant now);
/// The peer answers that it does not know the connection, which is established here.
MadFate find_peer_gone(CmCore& core, Communication& c, const CmDrep& drep,
                       const MadContext& context);
/// The peer asks for an end that exists here. In time-wait, the answer is that the connection is
/// over.
MadFate receive_probe(CmCore& core, Communication& c, const MadContext& context);

}  // namespace urxe
