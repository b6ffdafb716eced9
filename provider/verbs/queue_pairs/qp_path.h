// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "provider/verbs/objects.h"

namespace urxe {

// What a queue pair's paths need of the engine: open local addresses and UDP source ports. With the
// device's lock held.

/// Opens the addresses that the change will use as sources; 0 or an errno. The transport refuses
/// those that are not valid.
int open_sources(Qp& qp, const ibv_qp_attr& attr, int mask);

/// Claims source ports for the paths that a change has set, after it; 0 or an errno. If there is no
/// port for the primary path, the queue pair enters the error state; if there is none for the
/// alternate path, that path is not loaded.
int claim_source_ports(Qp& qp, int mask);

void release_source_ports(Qp& qp);

}  // namespace urxe
