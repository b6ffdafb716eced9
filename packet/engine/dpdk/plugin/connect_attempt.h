// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

namespace urxe {

/// Connects a memif to its server, in DPDK's interrupt thread. The driver waits there for as long
/// as the server takes no connection (it was stopped, or has no descriptor left), so nobody else
/// waits for that. Until the end of an attempt the port belongs to it.
class ConnectAttempt {
 public:
  /// Begins one: stops the port, if it is started, and starts it, by which memif connects. False:
  /// there was no memory for that, and the port stays as it is.
  [[nodiscard]] bool begin(uint16_t port, bool is_started);
  [[nodiscard]] bool is_under_way() const;
  /// Once it is not under way: whether the port has been started since the last call.
  [[nodiscard]] bool take_started();
  /// Waits for the end, for a second at most. False: it is still under way.
  [[nodiscard]] bool wait() const;

 private:
  struct State;
  static void run(void* argument);

  std::shared_ptr<State> state_;  ///< null: none is under way, and none has started the port
};

}  // namespace urxe
