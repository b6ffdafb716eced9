// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "packet/engine/dpdk/arguments.h"
#include "packet/engine/dpdk/link/link_services.h"
#include "packet/engine/dpdk/plugin/dpdk_counters.h"
#include "packet/engine/dpdk/plugin/frame_sender.h"
#include "packet/engine/dpdk/plugin/kernel_sockets.h"
#include "packet/engine/dpdk/plugin/port.h"
#include "packet/engine/dpdk/plugin/sleeper.h"
#include "packet/engine/engine.h"

namespace urxe {

/// RoCEv2 over a port of DPDK, which belongs to this process alone. Frames are read in place from
/// the driver's buffers, and copied into such to be sent. The engine is the host on the link: it
/// answers for the addresses and asks for its neighbours (LinkServices), unless the kernel has the
/// port's interface and addresses, too. Packets to this process itself never leave it.
class DpdkEngine final : public OneLaneEngine {
 public:
  using LinkChanged = std::function<void(bool is_up)>;

  /// `words` are about the port; `link_changed` is called from within receive().
  static Expected<std::unique_ptr<DpdkEngine>, EngineError> open(Eal& eal, const std::string& port,
                                                                 const PortWords& words,
                                                                 LinkChanged link_changed);
  ~DpdkEngine() override;
  DpdkEngine(const DpdkEngine&) = delete;
  DpdkEngine& operator=(const DpdkEngine&) = delete;

  [[nodiscard]] EnginePromises promises() const override;
  Expected<void, EngineError> open_address(const Gid& local) override;
  void close_address(const Gid& local) override;
  Expected<uint16_t, EngineError> claim_source_port(const Gid& /*local*/,
                                                    uint16_t wanted) override {
    return wanted;
  }
  void release_source_port(const Gid& /*local*/, uint16_t /*port*/) override {}
  [[nodiscard]] bool find_hop(const Gid& destination) override;
  Expected<void, EngineError> join_group(const Gid& group) override;
  void leave_group(const Gid& group) override;
  void leave() override;
  void abandon() override;
  std::span<const RxPacket> receive() override;
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] LaneLimits limits() const override;
  [[nodiscard]] bool has_unsent() const override { return sender_.is_blocked(); }
  [[nodiscard]] bool reads_memory() const override { return !packets_.empty(); }
  [[nodiscard]] EngineCounters totals() const override;
  [[nodiscard]] bool begin_wait() override;
  void end_wait() override;
  [[nodiscard]] int wait_fd() const override { return sleeper_.fd(); }

 private:
  DpdkEngine(Port port, const LinkIdentity& identity, Sleeper sleeper, LinkChanged link_changed);

  [[nodiscard]] bool send(const TxBatch& batch, const TxBatch::Message& message);
  void send(const TxBatch::Message& packet, const uint8_t* memory, uint16_t identification);
  [[nodiscard]] rte_mbuf* make_frame(const TxBatch::Message& packet, const uint8_t* memory,
                                     uint16_t identification, const MacAddress& to);
  void release_frames();
  enum class From : uint8_t { kOurselves, kLink };
  void take(rte_mbuf* frame, From from);
  [[nodiscard]] bool is_ours(const Gid& destination) const;
  void look_around();
  void follow_link();

  DpdkCounters counters_;
  Port port_;
  LinkServices services_;
  FrameSender sender_;
  Sleeper sleeper_;
  KernelSockets kernel_;
  bool is_fixed_;  ///< the addresses are those of the arguments, and no kernel has them
  LinkChanged link_changed_;
  std::vector<Gid> addresses_;                              ///< opened
  std::vector<Gid> groups_;                                 ///< joined
  std::vector<RxPacket> packets_;                           ///< returned by receive()
  std::array<rte_mbuf*, size_t{3} * Port::kBurst> held_{};  ///< that packets_ lie in
  size_t held_count_ = 0;
  std::array<rte_mbuf*, Port::kBurst> early_{};  ///< received by begin_wait()
  size_t early_count_ = 0;
  Instant now_{};  ///< at the last look around
  Instant next_service_{};
  uint64_t received_before_wait_ = 0;
  uint32_t calls_until_look_ = 0;
  bool link_up_ = true;  ///< as was told last; until the first look it counts as up
  bool was_up_ = false;  ///< at the last look
  bool left_ = false;
  bool abandoned_ = false;
};

}  // namespace urxe
