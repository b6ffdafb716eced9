// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/datagrams.h"

namespace conformance {

void DatagramConformance::start(QpConfig left, QpConfig right) {
  left.type = right.type = IBV_QPT_UD;
  connect_pair(left, right);
  if (stopped()) return;
  const uint32_t size = mtu_bytes() + 1024;
  local_ = std::make_unique<Buffer>(left_->pd, size);
  remote_ = std::make_unique<Buffer>(right_->pd, size);
  local_->fill_pattern();
  ah_ = create_ah(left_->pd);
  ASSERT_NE(ah_, nullptr) << "ibv_create_ah: " << std::strerror(errno);
}

void DatagramConformance::TearDown() {
  ah_.reset();
  local_.reset();
  remote_.reset();
  Conformance::TearDown();
}

AhPtr DatagramConformance::create_ah(ibv_pd* pd) const {
  ibv_ah_attr address = device_.own_address();
  return AhPtr(ibv_create_ah(pd, &address));
}

Send DatagramConformance::message(uint64_t id, uint32_t size) const {
  Send send(id);
  send.data(local_->sge(0, size)).to(ah_.get(), right_->number(), right_->config.qkey);
  return send;
}

}  // namespace conformance
