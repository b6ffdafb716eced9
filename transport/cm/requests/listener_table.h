// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "transport/cm/connection_manager.h"

namespace urxe {

/// The listeners by service id.
class CmListenerTable {
 public:
  explicit CmListenerTable(size_t max_listeners) : max_listeners_(max_listeners) {}

  /// EADDRINUSE: another listener on the same address would get some of the same requests; ENOMEM:
  /// too many.
  Expected<ListenerId, Errno> add(ServiceId service, uint64_t mask, std::optional<Gid> local);
  void remove(ListenerId id);
  [[nodiscard]] std::optional<ListenerId> find(ServiceId service, const Gid& local) const;
  [[nodiscard]] bool empty() const { return listeners_.empty(); }

 private:
  struct Listener {
    ListenerId id;
    uint64_t service = 0;  ///< masked
    uint64_t mask = 0;
    std::optional<Gid> local;
  };
  [[nodiscard]] bool is_taken(const Listener& wanted) const;
  [[nodiscard]] std::optional<ListenerId> find_on(ServiceId service,
                                                  const std::optional<Gid>& local) const;
  ListenerId next_id();

  size_t max_listeners_;
  std::unordered_map<uint32_t, Listener> listeners_;
  /// Listeners with a full mask, by service; and the others, which are few.
  std::unordered_map<uint64_t, std::vector<uint32_t>> exact_;
  std::vector<uint32_t> masked_;
  uint32_t last_id_ = 0;
};

}  // namespace urxe
