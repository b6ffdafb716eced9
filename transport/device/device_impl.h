// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "packet/wire/qpn_layout.h"
#include "transport/device/device.h"
#include "transport/device/doorbell_list.h"

namespace urxe {

struct Device::Impl {
  explicit Impl(const DeviceConfig& config) : ca(config) {}

  [[nodiscard]] QueuePair* find(Qpn qpn) const {
    if (qps.empty()) return nullptr;
    QueuePair* qp = qps[index_of(qpn)].get();
    return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
  }
  void take_doorbells();
  /// Counts `qp` in (+1) or out (-1) where it uses other objects.
  void count_references(const QueuePair& qp, int by);
  void forget(const SharedReceiveQueue& srq);

  ChannelAdapter ca;
  DoorbellList doorbells;
  std::vector<std::unique_ptr<QueuePair>> qps;  ///< by index_of(); empty until the first is made
  size_t qp_count = 0;
  std::unordered_map<CompletionQueue*, std::unique_ptr<CompletionQueue>> cqs;
  std::unordered_map<XrcDomain*, std::unique_ptr<XrcDomain>> domains;
  std::unordered_map<uint32_t, uint32_t> pd_references;
  uint32_t next_pd = 1;
};

}  // namespace urxe
