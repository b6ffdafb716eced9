// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/engine/dpdk/plugin/connect_attempt.h"
#include "packet/engine/dpdk/plugin/eal.h"
#include "packet/engine/dpdk/plugin_abi.h"
#include "packet/engine/raw/frame.h"

struct rte_mbuf;
struct rte_mempool;

namespace urxe {

/// One port of DPDK with one queue each way.
class Port {
 public:
  static constexpr uint16_t kBurst = 32;

  /// Sets the port up for packets of `mtu` bytes (0: as large as the driver says) and starts it. A
  /// memif whose server is not there is started later, by keep_connected().
  static Expected<Port, EngineError> open(Eal& eal, const std::string& name, uint32_t mtu);
  Port(Port&& other) noexcept;
  Port& operator=(Port&&) = delete;
  ~Port() { close(); }
  /// Gives the device back. There must be no buffers of the port left. If the peer reads from this
  /// process's memory (memif), gives it the time to read what was sent: the rest is lost.
  void close();
  /// For a forked child.
  void abandon();

  /// Takes up to kBurst frames; the caller frees them.
  [[nodiscard]] uint16_t receive(rte_mbuf** frames);
  /// Hands frames to the driver, which then owns them. Returns how many of them, the first ones.
  [[nodiscard]] uint16_t send(std::span<rte_mbuf*> frames);
  /// Empty buffers; false: there are not so many.
  [[nodiscard]] bool allocate(std::span<rte_mbuf*> buffers);

  [[nodiscard]] bool is_link_up() const;
  /// Call it while the link is down: connects a memif to its server, as soon as that is there.
  /// Never waits for it.
  void keep_connected(Instant now);

  /// The link is up: keeps the driver's descriptors from programs that this process executes.
  void note_connected() { eal_->close_on_exec(name_); }

  /// A descriptor that is readable once frames arrive, after arm_interrupt(); -1: there is none.
  [[nodiscard]] int interrupt_fd() const { return interrupt_fd_; }
  void arm_interrupt(bool on);

  [[nodiscard]] const MacAddress& mac() const { return mac_; }
  [[nodiscard]] uint32_t mtu() const { return mtu_; }
  /// Of the network interface that the kernel keeps for the port; 0: none.
  [[nodiscard]] uint32_t interface_index() const { return interface_index_; }
  /// Frames that the driver had no room or buffer for.
  [[nodiscard]] uint64_t missed() const;

 private:
  Port(Eal& eal, std::string name, uint16_t id) : eal_(&eal), name_(std::move(name)), id_(id) {}
  Expected<void, EngineError> set_up(uint32_t mtu);
  [[nodiscard]] int configure(uint32_t mtu, bool interrupts);
  Expected<void, EngineError> make_pool();
  [[nodiscard]] bool start();

  Eal* eal_;
  std::string name_;
  uint16_t id_;
  bool is_open_ = true;
  bool connects_ = false;  ///< a memif that needs another process's
  bool started_ = false;   ///< and no attempt is under way
  bool is_memif_ = false;
  bool has_sent_ = false;
  int interrupt_fd_ = -1;
  MacAddress mac_{};
  uint32_t mtu_ = 0;
  uint32_t interface_index_ = 0;
  rte_mempool* pool_ = nullptr;
  ConnectAttempt attempt_;
  Instant next_try_{};
};

/// What there is to know of a port without starting it. `words` are about it.
Expected<DpdkPluginPort, EngineError> describe_port(uint16_t id, const std::string& name,
                                                    const PortWords& words);

}  // namespace urxe
