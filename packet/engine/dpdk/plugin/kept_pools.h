// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <mutex>
#include <string>

struct rte_mempool;

namespace urxe {

/// The buffers of ports that could not be removed when they were closed: a device of which the
/// program itself has told DPDK stays, and has some of them. The next that opens the port uses
/// them again. Thread-safe.
class KeptPools {
 public:
  static KeptPools& instance();

  void keep(const std::string& port, rte_mempool* pool);
  /// Those of the port; nullptr: there are none.
  [[nodiscard]] rte_mempool* take(const std::string& port);

 private:
  std::mutex mutex_;
  std::map<std::string, rte_mempool*> pools_;  ///< by the port's name
};

}  // namespace urxe
