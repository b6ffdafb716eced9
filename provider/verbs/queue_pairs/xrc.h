// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/objects.h"

namespace urxe {

// The handles of an XRC target. Any number of them share one queue pair (ibv_open_qp(3)), which
// exists until the last one is destroyed. One of them, the holder, owns the queue pair's source
// ports. Every other type of queue pair has one handle. With the device's lock held.

/// The handle that holds what belongs to the queue pair.
inline Qp& holder_of(const Qp& qp) {
  return *static_cast<Qp*>(qp.queue_pair->user);
}

/// Makes the handle one of a target in the domain.
void join_domain(Qp& qp, Xrcd& xrcd);

/// Undoes join_domain(), and takes the handle off the list of those that share its queue pair.
/// False: it was the last one.
bool leave_sharers(Qp& qp);

}  // namespace urxe
