// SPDX-License-Identifier: BSD-2-Clause
// What all tests of the suite stand on.
#pragma once

#include <cerrno>
#include <memory>
#include <string>

#include "tests/conformance/support/buffer.h"
#include "tests/conformance/support/completion.h"
#include "tests/conformance/support/device.h"
#include "tests/conformance/support/endpoint.h"
#include "tests/conformance/support/options.h"
#include "tests/conformance/support/work_request.h"

namespace conformance {

/// Opens the device for each test anew. A test says first what it checks.
class Conformance : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Names the man page or the specification's section whose word the test takes. Every failure
  /// from here on shows it.
  void checks(const std::string& reference);

  /// False where the device lacks what the test is about: the test is to return at once. It is
  /// skipped, or with --require-all has failed.
  bool need(bool offered, const std::string& feature);
  /// The same for what even a complete software device need not have: never a failure.
  bool need_if_any(bool offered, const std::string& feature);
  /// Whether queue pairs of this type can be made at all; as need().
  bool need_type(const QpConfig& config);
  /// Whether a result or errno says that the device does not have this at all.
  static bool is_unsupported(int errno_value);

  ibv_context* context() const { return device_.context.get(); }
  PdPtr alloc_pd() const { return PdPtr(ibv_alloc_pd(context())); }
  CqPtr create_cq(int entries = 64, ibv_comp_channel* channel = nullptr) const {
    return CqPtr(ibv_create_cq(context(), entries, nullptr, channel, 0));
  }

  Device device_;

 private:
  // Made by checks() and gone before the fixture: the scopes of GoogleTest's traces nest.
  std::unique_ptr<::testing::ScopedTrace> reference_;
};

/// Two endpoints that face each other.
class PairConformance : public Conformance {
 protected:
  /// Makes and connects both. Skips the test where the type does not exist.
  void connect_pair(const QpConfig& config = {});
  void connect_pair(const QpConfig& left, const QpConfig& right);
  /// Makes them only.
  void make_pair(const QpConfig& left, const QpConfig& right);
  /// Whether connect_pair() or make_pair() did not get as far as that.
  bool stopped() const { return IsSkipped() || HasFatalFailure() || HasFailure(); }

  ibv_qp* left_qp() const { return left_->qp.get(); }
  ibv_qp* right_qp() const { return right_->qp.get(); }
  ibv_cq* left_done() const { return left_->send_cq.get(); }
  ibv_cq* right_done() const { return right_->send_cq.get(); }
  ibv_cq* left_received() const { return left_->recv_cq.get(); }
  ibv_cq* right_received() const { return right_->recv_cq.get(); }

  std::unique_ptr<Endpoint> left_;
  std::unique_ptr<Endpoint> right_;
};

}  // namespace conformance
