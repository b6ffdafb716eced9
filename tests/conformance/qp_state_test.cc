// SPDX-License-Identifier: BSD-2-Clause
// The state table of each type of queue pair: which transitions there are, which attributes each
// requires, allows and refuses.
#include <fcntl.h>

#include "tests/conformance/support/fixture.h"
#include "tests/conformance/support/transitions.h"

namespace conformance {
namespace {

constexpr const char* kTable =
    "IBTA volume 1, 11.2.5.2, table \"QP State Transition Properties\"; ibv_modify_qp(3)";

struct QpStateTable : Conformance, ::testing::WithParamInterface<ibv_qp_type> {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    config_.type = GetParam();
    if (GetParam() == IBV_QPT_XRC_RECV) {
      ibv_xrcd_init_attr init{};
      init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
      init.fd = -1;
      init.oflags = O_CREAT;
      xrcd_.reset(ibv_open_xrcd(context(), &init));
      if (!need(xrcd_ != nullptr, "XRC domains")) return;
      config_.xrcd = xrcd_.get();
    }
    if (!need_type(config_)) return;
    transitions_ = transitions_of(GetParam());
  }

  /// The attributes that this device can be asked about.
  std::vector<int> attribute_bits() const {
    std::vector<int> bits;
    for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
      const bool path = bit == IBV_QP_ALT_PATH || bit == IBV_QP_PATH_MIG_STATE;
      if (path && !device_.offers(IBV_DEVICE_AUTO_PATH_MIG)) continue;
      if (bit == IBV_QP_CAP && device_.offers(IBV_DEVICE_RESIZE_MAX_WR)) continue;
      bits.push_back(bit);
    }
    return bits;
  }
  /// Programs that connect both ends of XRC name these at both; kernels overlook them.
  static int of_the_other_end() {
    if (GetParam() == IBV_QPT_XRC_SEND) return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (GetParam() != IBV_QPT_XRC_RECV) return 0;
    return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  }
  /// A new queue pair in the transition's first state does it with these attributes; the result.
  int carry_out(ibv_qp_state from, ibv_qp_state to, int mask) {
    Endpoint endpoint(device_, config_);
    bring_to(endpoint, from);
    ibv_qp_attr attr = all_attributes(endpoint);
    attr.qp_state = to;
    attr.cur_qp_state = from;
    const int result = ibv_modify_qp(endpoint.qp.get(), &attr, mask | IBV_QP_STATE);
    const ibv_qp_state expected = result == 0 ? to : from;
    const ibv_qp_state found = state_of(endpoint.qp.get());
    EXPECT_EQ(found, expected) << "state after result " << result;
    return result;
  }
  static std::string name_of(const Transition& one) {
    return std::string(state_name(one.from)) + " to " + state_name(one.to);
  }

  QpConfig config_;
  XrcdPtr xrcd_;
  std::vector<Transition> transitions_;
};

TEST_P(QpStateTable, EachTransitionWithItsRequiredAttributes) {
  checks(kTable);
  for (const Transition& one : transitions_)
    EXPECT_EQ(carry_out(one.from, one.to, one.required), 0) << name_of(one);
}

TEST_P(QpStateTable, EachRequiredAttributeIsRequired) {
  checks(kTable);
  for (const Transition& one : transitions_) {
    for (const int bit : attribute_bits()) {
      if ((one.required & bit) == 0) continue;
      EXPECT_EQ(carry_out(one.from, one.to, one.required & ~bit), EINVAL)
          << name_of(one) << " without attribute 0x" << std::hex << bit;
    }
  }
}

TEST_P(QpStateTable, EachOptionalAttributeIsTaken) {
  checks(kTable);
  for (const Transition& one : transitions_) {
    for (const int bit : attribute_bits()) {
      if ((one.optional & bit) == 0) continue;
      const int path = bit == IBV_QP_PATH_MIG_STATE ? IBV_QP_ALT_PATH : 0;
      EXPECT_EQ(carry_out(one.from, one.to, one.required | bit | path), 0)
          << name_of(one) << " with attribute 0x" << std::hex << bit;
    }
  }
}

TEST_P(QpStateTable, AllOptionalAttributesAtOnce) {
  checks(kTable);
  int known = 0;
  for (const int bit : attribute_bits()) known |= bit;
  for (const Transition& one : transitions_)
    EXPECT_EQ(carry_out(one.from, one.to, one.required | (one.optional & known)), 0)
        << name_of(one);
}

TEST_P(QpStateTable, EachOtherAttributeIsRefused) {
  checks(kTable);
  for (const Transition& one : transitions_) {
    for (const int bit : attribute_bits()) {
      if (((one.required | one.optional | of_the_other_end()) & bit) != 0) continue;
      EXPECT_EQ(carry_out(one.from, one.to, one.required | bit), EINVAL)
          << name_of(one) << " with attribute 0x" << std::hex << bit;
    }
  }
}

TEST_P(QpStateTable, EveryOtherTransitionIsRefused) {
  checks(kTable);
  const std::vector<ibv_qp_state> states = states_of(GetParam());
  for (const ibv_qp_state from : states) {
    for (const ibv_qp_state to : states) {
      // The specification and its implementations disagree about RESET to ERR.
      const bool undecided = from == IBV_QPS_RESET && to == IBV_QPS_ERR;
      if (undecided || find_transition(transitions_, from, to) != nullptr) continue;
      const int mask = to == IBV_QPS_INIT  ? init_mask(GetParam())
                       : to == IBV_QPS_RTR ? rtr_mask(GetParam())
                       : to == IBV_QPS_RTS ? rts_mask(GetParam())
                                           : 0;
      EXPECT_EQ(carry_out(from, to, mask), EINVAL) << state_name(from) << " to " << state_name(to);
    }
  }
}

TEST_P(QpStateTable, WrongCurrentState) {
  checks("ibv_modify_qp(3): IBV_QP_CUR_STATE");
  Endpoint endpoint(device_, config_);
  bring_to(endpoint, IBV_QPS_RTS);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.cur_qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(endpoint.qp.get(), &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
  EXPECT_EQ(state_of(endpoint.qp.get()), IBV_QPS_RTS);
}

TEST_P(QpStateTable, HandleShowsTheState) {
  checks("ibv_modify_qp(3): qp->state");
  Endpoint endpoint(device_, config_);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    Endpoint fresh(device_, config_);
    bring_to(fresh, state);
    EXPECT_EQ(fresh.qp->state, state);
  }
}

TEST_P(QpStateTable, AttributesWithoutAState) {
  checks("ibv_modify_qp(3): attr_mask without IBV_QP_STATE keeps the state");
  Endpoint endpoint(device_, config_);
  bring_to(endpoint, IBV_QPS_RTS);
  ibv_qp_attr attr{};
  attr.qkey = 0x999;
  attr.qp_access_flags = 0;
  const int mask = GetParam() == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  EXPECT_EQ(ibv_modify_qp(endpoint.qp.get(), &attr, mask), 0);
  EXPECT_EQ(state_of(endpoint.qp.get()), IBV_QPS_RTS);
}

std::string type_name(const ::testing::TestParamInfo<ibv_qp_type>& info) {
  switch (info.param) {
    case IBV_QPT_RC:
      return "RC";
    case IBV_QPT_UC:
      return "UC";
    case IBV_QPT_UD:
      return "UD";
    case IBV_QPT_XRC_SEND:
      return "XRC_SEND";
    default:
      return "XRC_RECV";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, QpStateTable,
                         ::testing::Values(IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
                                           IBV_QPT_XRC_RECV),
                         type_name);

}  // namespace
}  // namespace conformance
