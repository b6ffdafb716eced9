// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/kept_pools.h"

#include <new>

namespace urxe {

KeptPools& KeptPools::instance() {
  static KeptPools pools;
  return pools;
}

void KeptPools::keep(const std::string& port, rte_mempool* pool) {
  const std::lock_guard lock(mutex_);
  try {
    pools_.insert_or_assign(port, pool);
  } catch (const std::bad_alloc&) {
    // The buffers stay in use until the program ends.
  }
}

rte_mempool* KeptPools::take(const std::string& port) {
  const std::lock_guard lock(mutex_);
  const auto taken = pools_.extract(port);
  return taken ? taken.mapped() : nullptr;
}

}  // namespace urxe
