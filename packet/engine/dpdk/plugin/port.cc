// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/port.h"

#include <net/if.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/base/engine_error.h"
#include "packet/engine/dpdk/arguments.h"
#include "packet/engine/dpdk/memory_use.h"
#include "packet/engine/dpdk/plugin/eal_log.h"
#include "packet/engine/dpdk/plugin/kept_pools.h"
#include "packet/host/clock.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/pause.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

constexpr uint16_t kDescriptors = 1024;
constexpr unsigned kBuffers = 8191;
constexpr unsigned kCachedBuffers = 256;
/// The largest packet: path MTU 4096 and all headers.
constexpr uint32_t kLargestFrame = 4400;
/// net_af_packet insists that its slots, which must hold that packet and be a power of two, fit.
constexpr uint32_t kLargestSlot = 8192;
/// Between attempts to reach a memif's server, and how long one may take that has reached it.
constexpr Duration kRetryInterval = milliseconds(50);
constexpr Duration kConnectTime = milliseconds(500);
/// How long the peer of a memif gets to read the last frames: it may have to wait for a processor.
constexpr timespec kReadingTime{0, 100'000'000};

uint32_t mtu_of_interface(uint32_t index) {
  ifreq request{};
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || if_indextoname(index, request.ifr_name) == nullptr) return 0;
  return ioctl(fd.get(), SIOCGIFMTU, &request) == 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

/// The MTU that the port will have: as asked for, as its interface has it, or as the driver says.
uint32_t find_mtu(uint16_t id, const rte_eth_dev_info& info, uint32_t asked) {
  if (asked != 0) return asked;
  if (info.if_index != 0) {
    const uint32_t mtu = mtu_of_interface(info.if_index);
    if (mtu != 0) return std::min(mtu, kMostMtu);
  }
  uint16_t mtu = 0;
  return rte_eth_dev_get_mtu(id, &mtu) == 0 && mtu != 0 ? mtu : uint32_t{RTE_ETHER_MTU};
}

/// A driver that keeps the kernel's interface may not know how large its frames are.
Expected<void, EngineError> check_mtu(const std::string& name, const rte_eth_dev_info& info,
                                      uint32_t asked) {
  if (asked == 0 || info.if_index != 0 || asked <= info.max_mtu) return {};
  return engine_failure(EINVAL, "--dpdk-args: mtu=" + std::to_string(asked) +
                                    " is more than port " + name +
                                    " can have: " + std::to_string(info.max_mtu));
}

}  // namespace

Expected<DpdkPluginPort, EngineError> describe_port(uint16_t id, const std::string& name,
                                                    const PortWords& words) {
  rte_eth_dev_info info{};
  rte_ether_addr mac{};
  if (rte_eth_dev_info_get(id, &info) != 0 || rte_eth_macaddr_get(id, &mac) != 0) {
    return engine_failure(EIO, "DPDK does not tell what port " + name + " is");
  }
  if (auto right = check_mtu(name, info, words.mtu); !right) {
    return Unexpected<EngineError>(right.error());
  }
  DpdkPluginPort port{};
  std::strncpy(port.name, name.c_str(), sizeof port.name - 1);
  port.interface_index = info.if_index;
  port.mtu = find_mtu(id, info, words.mtu);
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id, &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN) {
    port.speed_mbps = link.link_speed;
  }
  std::memcpy(port.mac, mac.addr_bytes, sizeof port.mac);
  return port;
}

Expected<Port, EngineError> Port::open(Eal& eal, const std::string& name, uint32_t mtu) {
  auto id = eal.open_port(name);
  if (!id) return Unexpected<EngineError>(std::move(id.error()));
  Port port(eal, name, *id);
  EalLog::instance().keep();
  auto ready = port.set_up(mtu);
  const std::string logged = EalLog::instance().take();
  if (ready) return port;
  EngineError error = std::move(ready.error());
  if (!logged.empty()) error.what += ": " + logged;
  return Unexpected<EngineError>(std::move(error));
}

Port::Port(Port&& other) noexcept
    : eal_(other.eal_),
      name_(std::move(other.name_)),
      id_(other.id_),
      is_open_(std::exchange(other.is_open_, false)),
      connects_(other.connects_),
      started_(other.started_),
      is_memif_(other.is_memif_),
      has_sent_(other.has_sent_),
      interrupt_fd_(other.interrupt_fd_),
      mac_(other.mac_),
      mtu_(other.mtu_),
      interface_index_(other.interface_index_),
      pool_(std::exchange(other.pool_, nullptr)),
      attempt_(std::move(other.attempt_)),
      next_try_(other.next_try_) {}

void Port::close() {
  if (!is_open_) return;
  if (is_memif_ && has_sent_ && is_link_up()) pause_for(kReadingTime);
  is_open_ = false;
  if (!attempt_.wait()) {
    eal_->leave_port(name_, std::move(attempt_), pool_);
    return;
  }
  // Drivers complain, also later in DPDK's thread, about peers that are gone already; and memif
  // about memory that it frees twice, which DPDK notices. Until a port is opened again nobody is
  // told.
  EalLog::instance().keep();
  if (eal_->close_port(name_)) {
    rte_mempool_free(pool_);
  } else {
    KeptPools::instance().keep(name_, pool_);
  }
  pool_ = nullptr;
}

void Port::abandon() {
  is_open_ = false;
  eal_->abandon();
}

Expected<void, EngineError> Port::set_up(uint32_t mtu) {
  rte_eth_dev_info info{};
  rte_ether_addr mac{};
  if (rte_eth_dev_info_get(id_, &info) != 0 || rte_eth_macaddr_get(id_, &mac) != 0) {
    return engine_failure(EIO, "DPDK does not tell what port " + name_ + " is");
  }
  if (auto right = check_mtu(name_, info, mtu); !right) return right;
  std::memcpy(mac_.data(), mac.addr_bytes, mac_.size());
  interface_index_ = info.if_index;
  is_memif_ = std::strcmp(info.driver_name, "net_memif") == 0;
  connects_ = eal_->is_memif_client(name_);
  mtu_ = find_mtu(id_, info, mtu);
  if (auto made = make_pool(); !made) return made;
  // Interrupts if the driver has them, and the MTU if it takes it.
  int result = -1;
  for (const bool interrupts : {true, false}) {
    result = configure(mtu_, interrupts);
    if (result != 0) result = configure(0, interrupts);
    if (result == 0 && (connects_ || start())) break;
  }
  if (result != 0) return engine_failure(-result, "DPDK cannot set up port " + name_);
  if (!started_ && !connects_) return engine_failure(EIO, "DPDK cannot start port " + name_);
  eal_->close_on_exec(name_);        // of a memif's server the descriptor that it listens by
  rte_eth_allmulticast_enable(id_);  // some drivers have no filter to open
  interrupt_fd_ = started_ ? rte_eth_dev_rx_intr_ctl_q_get_fd(id_, 0) : -1;
  if (interrupt_fd_ >= 0 && rte_eth_dev_rx_intr_enable(id_, 0) != 0) interrupt_fd_ = -1;
  return {};
}

int Port::configure(uint32_t mtu, bool interrupts) {
  rte_eth_conf conf{};
  rte_eth_dev_info info{};
  if (const int wrong = rte_eth_dev_info_get(id_, &info); wrong != 0) return wrong;
  conf.rxmode.mtu = std::min<uint32_t>(mtu, info.max_mtu);
  conf.intr_conf.rxq = interrupts && !connects_ ? 1 : 0;
  if ((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0) {
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  }
  if (const int wrong = rte_eth_dev_configure(id_, 1, 1, &conf); wrong != 0) return wrong;
  uint16_t receive = kDescriptors;
  uint16_t transmit = kDescriptors;
  if (const int wrong = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receive, &transmit); wrong != 0) {
    return wrong;
  }
  rte_eth_txconf txconf = info.default_txconf;
  txconf.offloads = conf.txmode.offloads;
  const auto node = static_cast<unsigned>(rte_eth_dev_socket_id(id_));
  if (const int wrong = rte_eth_rx_queue_setup(id_, 0, receive, node, nullptr, pool_); wrong != 0) {
    return wrong;
  }
  return rte_eth_tx_queue_setup(id_, 0, transmit, node, &txconf);
}

Expected<void, EngineError> Port::make_pool() {
  static std::atomic<unsigned> made{0};
  pool_ = KeptPools::instance().take(name_);
  if (pool_ != nullptr) return {};
  const uint32_t frame = interface_index_ != 0 ? kLargestSlot : kLargestFrame;
  const uint32_t room = std::max(frame, mtu_ + RTE_ETHER_HDR_LEN) + RTE_PKTMBUF_HEADROOM;
  // The names of ports are longer than those of pools may be.
  const std::string name = "urxe_" + std::to_string(made++);
  pool_ = rte_pktmbuf_pool_create(name.c_str(), kBuffers, kCachedBuffers, 0,
                                  static_cast<uint16_t>(room), SOCKET_ID_ANY);
  if (pool_ != nullptr) return {};
  const bool lacks_memory = rte_errno == ENOMEM;
  return engine_failure(rte_errno,
                        "DPDK makes no buffers for port " + name_ + ": " +
                            (lacks_memory ? "64 MiB are needed (--dpdk-args \"-m 256 ...\")"
                                          : rte_strerror(rte_errno)));
}

bool Port::start() {
  started_ = rte_eth_dev_start(id_) == 0;
  return started_;
}

uint16_t Port::receive(rte_mbuf** frames) {
  const MemoryUse use(id_);
  return started_ ? rte_eth_rx_burst(id_, 0, frames, kBurst) : uint16_t{0};
}

uint16_t Port::send(std::span<rte_mbuf*> frames) {
  const auto count = static_cast<uint16_t>(std::min<size_t>(frames.size(), kBurst));
  const MemoryUse use(id_);
  has_sent_ = true;
  return started_ ? rte_eth_tx_burst(id_, 0, frames.data(), count) : uint16_t{0};
}

bool Port::allocate(std::span<rte_mbuf*> buffers) {
  return rte_pktmbuf_alloc_bulk(pool_, buffers.data(), static_cast<unsigned>(buffers.size())) == 0;
}

bool Port::is_link_up() const {
  rte_eth_link link{};
  if (!started_ || rte_eth_link_get_nowait(id_, &link) != 0) return false;
  return link.link_status == RTE_ETH_LINK_UP;
}

void Port::keep_connected(Instant now) {
  if (!connects_ || attempt_.is_under_way()) return;
  if (attempt_.take_started()) {
    started_ = true;
    next_try_ = now + kConnectTime;
  }
  if (now < next_try_) return;
  const bool was_started = std::exchange(started_, false);
  if (!attempt_.begin(id_, was_started)) started_ = was_started;
  next_try_ = now + kRetryInterval;
}

void Port::arm_interrupt(bool on) {
  if (interrupt_fd_ < 0) return;
  if (on) {
    rte_eth_dev_rx_intr_enable(id_, 0);
    return;
  }
  rte_eth_dev_rx_intr_disable(id_, 0);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = uncancelled::read(interrupt_fd_, &count, sizeof count);
}

uint64_t Port::missed() const {
  rte_eth_stats stats{};
  return started_ && rte_eth_stats_get(id_, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
}

}  // namespace urxe
