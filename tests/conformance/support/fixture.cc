// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/fixture.h"

namespace conformance {

void Conformance::SetUp() {
  device_ = Device::open();
  ASSERT_NE(context(), nullptr) << "cannot open device "
                                << (options().device.empty() ? "(any)" : options().device)
                                << "; ibv_devices(1) lists what there is";
}

void Conformance::TearDown() {
  if (reference_ == nullptr && !IsSkipped() && !HasFailure())
    ADD_FAILURE() << "the test does not say what it checks";
}

void Conformance::checks(const std::string& reference) {
  reference_.reset();
  reference_ = std::make_unique<::testing::ScopedTrace>("", 0, "checks " + reference);
  RecordProperty("checks", reference);
}

bool Conformance::need(bool offered, const std::string& feature) {
  if (offered) return true;
  if (options().require_all) {
    [&] { FAIL() << "required, but not offered: " << feature; }();
  } else {
    need_if_any(offered, feature);
  }
  return false;
}

bool Conformance::need_if_any(bool offered, const std::string& feature) {
  if (!offered) [&] { GTEST_SKIP() << "not offered: " << feature; }();
  return offered;
}

bool Conformance::need_type(const QpConfig& config) {
  const bool is_xrc = config.type == IBV_QPT_XRC_SEND || config.type == IBV_QPT_XRC_RECV;
  if (is_xrc && !need(device_.offers(IBV_DEVICE_XRC), "XRC")) return false;
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  QpConfig plain = config;
  plain.srq = nullptr;
  const QpPtr probe(Endpoint::create(device_, plain, pd.get(), cq.get(), cq.get()));
  return need(probe != nullptr || !is_unsupported(errno),
              "queue pairs of type " + std::to_string(config.type));
}

bool Conformance::is_unsupported(int errno_value) {
  return errno_value == EOPNOTSUPP || errno_value == ENOSYS || errno_value == ENOTSUP;
}

void PairConformance::make_pair(const QpConfig& left, const QpConfig& right) {
  if (!need_type(left) || !need_type(right)) return;
  left_ = std::make_unique<Endpoint>(device_, left);
  right_ = std::make_unique<Endpoint>(device_, right);
}

void PairConformance::connect_pair(const QpConfig& config) {
  connect_pair(config, config);
}

void PairConformance::connect_pair(const QpConfig& left, const QpConfig& right) {
  make_pair(left, right);
  if (stopped()) return;
  left_->connect_to(right_->number());
  right_->connect_to(left_->number());
}

}  // namespace conformance
