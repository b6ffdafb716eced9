// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/abi/qp_layout.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "provider/verbs/abi/library.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

constexpr uint64_t kWithFlush = 1 << 11;  // IBV_QP_EX_WITH_FLUSH
constexpr uint64_t kAllOfRc = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;

/// Where verbs_qp.comp_mask is. The bytes of ibv_qp depend on the machine, what follows it does
/// not.
constexpr size_t kV36 = sizeof(ibv_qp) + 184;
constexpr size_t kV44 = kV36 + 8;
constexpr size_t kV45 = kV44 + 8;
constexpr size_t kLater = kV45 + 48;

/// ibv_qp_to_qp_ex() of a release that has the flags at that offset.
template <size_t kCompMask>
ibv_qp_ex* to_qp_ex(ibv_qp* qp) {
  uint32_t flags = 0;
  std::memcpy(&flags, reinterpret_cast<const char*>(qp) + kCompMask, sizeof flags);
  return (flags & 2) != 0 ? reinterpret_cast<ibv_qp_ex*>(qp) : nullptr;
}

struct Release {
  const char* name;
  QpToQpEx to_qp_ex;
  size_t comp_mask;
};

class QpLayoutTest : public testing::TestWithParam<Release> {};

TEST_P(QpLayoutTest, IsFound) {
  const auto layout = find_qp_layout(GetParam().to_qp_ex);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->comp_mask, GetParam().comp_mask);
}

TEST_P(QpLayoutTest, AnnouncedBuildersAreSeen) {
  abi::VerbsQp qp{};
  EXPECT_EQ(GetParam().to_qp_ex(&qp.qp), nullptr);
  announce_builders({GetParam().comp_mask}, qp);
  EXPECT_EQ(GetParam().to_qp_ex(&qp.qp), &qp.qp_ex);
}

TEST_P(QpLayoutTest, BuildersStayBelowTheFlags) {
  auto qp = std::make_unique<Qp>();
  set_send_operations(*qp, kAllOfRc, {GetParam().comp_mask});
  EXPECT_EQ(GetParam().to_qp_ex(&qp->qp), &qp->qp_ex);
  const std::span after_flags = std::span(qp->bytes).subspan(GetParam().comp_mask + 1);
  EXPECT_TRUE(std::ranges::all_of(after_flags, [](unsigned char byte) { return byte == 0; }));
}

TEST_P(QpLayoutTest, EveryBuilderOfTheReleaseIsSet) {
  auto qp = std::make_unique<Qp>();
  set_send_operations(*qp, kAllOfRc, {GetParam().comp_mask});
  for (size_t at = offsetof(ibv_qp_ex, wr_atomic_cmp_swp); at < GetParam().comp_mask; at += 8) {
    uint64_t function = 0;
    std::memcpy(&function, qp->bytes + at, sizeof function);
    EXPECT_NE(function, 0U) << at;
  }
}

TEST_P(QpLayoutTest, AtomicWriteTakesAReleaseThatHasIt) {
  const int refused = GetParam().comp_mask > kV36 ? 0 : EOPNOTSUPP;
  EXPECT_EQ(check_send_operations(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE, {GetParam().comp_mask}),
            refused);
}

TEST_P(QpLayoutTest, FlushTakesAReleaseThatHasIt) {
  const QpLayout layout{GetParam().comp_mask};
  const int refused = layout.comp_mask > kV44 ? 0 : EOPNOTSUPP;
  EXPECT_EQ(check_send_operations(IBV_QPT_RC, kWithFlush, layout), refused);
  EXPECT_EQ(check_send_operations(IBV_QPT_XRC_SEND, kWithFlush, layout), refused);
  EXPECT_EQ(check_send_operations(IBV_QPT_UC, kWithFlush, layout), EOPNOTSUPP);
  EXPECT_EQ(check_send_operations(IBV_QPT_UD, kWithFlush, layout), EOPNOTSUPP);
}

/// Expect: the builder of FLUSH, where the release has one, is another if FLUSH was asked for.
TEST_P(QpLayoutTest, FlushHasItsOwnBuilder) {
  const QpLayout layout{GetParam().comp_mask};
  if (!layout.has_wr_flush()) return;
  const auto builder_of = [&](uint64_t operations) {
    auto qp = std::make_unique<Qp>();
    set_send_operations(*qp, operations, layout);
    uint64_t function = 0;
    std::memcpy(&function, qp->bytes + kV44, sizeof function);
    return function;
  };
  EXPECT_NE(builder_of(kAllOfRc | kWithFlush), builder_of(kAllOfRc));
}

INSTANTIATE_TEST_SUITE_P(Releases, QpLayoutTest,
                         testing::Values(Release{"v36", to_qp_ex<kV36>, kV36},
                                         Release{"v44", to_qp_ex<kV44>, kV44},
                                         Release{"v45", to_qp_ex<kV45>, kV45},
                                         Release{"later", to_qp_ex<kLater>, kLater}),
                         [](const auto& test) { return test.param.name; });

TEST(QpLayout, OfALibraryThatHasNoBuildersIsNotFound) {
  EXPECT_EQ(find_qp_layout([](ibv_qp*) -> ibv_qp_ex* { return nullptr; }), std::nullopt);
}

TEST(QpLayout, OfTheInstalledLibraryIsFound) {
  void* handle = dlopen("libibverbs.so.1", RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  ASSERT_TRUE(find_library());
  auto to_qp_ex = reinterpret_cast<QpToQpEx>(dlsym(handle, "ibv_qp_to_qp_ex"));
  auto qp = std::make_unique<Qp>();
  EXPECT_EQ(to_qp_ex(&qp->qp), nullptr);
  set_send_operations(*qp, kAllOfRc, library().qp_layout);
  EXPECT_EQ(to_qp_ex(&qp->qp), &qp->qp_ex);
}

}  // namespace
}  // namespace urxe
