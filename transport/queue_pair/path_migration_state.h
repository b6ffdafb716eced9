// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "packet/wire/roce_packet.h"
#include "transport/path/congestion.h"

namespace urxe {

/// The alternate path of a connected queue pair, and how far its migration is prepared.
struct PathMigration {
  ibv_mig_state state = IBV_MIG_MIGRATED;
  Flow alternate;
  Path* path = nullptr;       ///< what is in flight there; null: no alternate path is loaded
  bool on_alternate = false;  ///< has migrated to `alternate`, which is the primary path since
  bool error_told = false;    ///< PATH_MIG_ERR was raised since the queue pair was armed
};

}  // namespace urxe
