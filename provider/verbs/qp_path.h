// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "provider/verbs/objects.h"

namespace urxe {

// The engine's part in a queue pair's paths: local addresses that are open, and UDP source ports.
// With the device's lock held.

/// Opens the addresses that the change will use as sources; 0 or an errno. Those that are not valid
/// are for the transport to refuse.
int open_sources(Qp& qp, const ibv_qp_attr& attr, int mask);

/// After the change was made: source ports for the paths that it has set. 0 or an errno. Where no
/// port is to be had for the primary path, the queue pair is in the error state then; where for the
/// alternate one, that path is not loaded.
int claim_source_ports(Qp& qp, int mask);

void release_source_ports(Qp& qp);

}  // namespace urxe
