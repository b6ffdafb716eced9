// SPDX-License-Identifier: BSD-2-Clause
// Protection domains.
#include <vector>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Pd : Conformance {};

TEST_F(Pd, AllocAndDealloc) {
  checks("ibv_alloc_pd(3)");
  ibv_pd* pd = ibv_alloc_pd(context());
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(pd->context, context());
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Pd, ManyAtOnce) {
  checks("ibv_alloc_pd(3)");
  std::vector<PdPtr> pds;
  for (int i = 0; i < 100; ++i) {
    pds.push_back(alloc_pd());
    ASSERT_NE(pds.back(), nullptr) << i;
  }
}

TEST_F(Pd, BusyWithARegion) {
  checks("ibv_alloc_pd(3): ibv_dealloc_pd() may fail if any other resource is associated");
  const PdPtr pd = alloc_pd();
  const Buffer buffer(pd.get(), 64);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST_F(Pd, BusyWithAQueuePair) {
  checks("ibv_alloc_pd(3): ibv_dealloc_pd() may fail if any other resource is associated");
  const Endpoint endpoint(device_, QpConfig{});
  EXPECT_EQ(ibv_dealloc_pd(endpoint.pd), EBUSY);
}

TEST_F(Pd, BusyWithAWindow) {
  checks("ibv_alloc_pd(3): ibv_dealloc_pd() may fail if any other resource is associated");
  if (!need(device_.attr.orig_attr.max_mw > 0, "memory windows")) return;
  const PdPtr pd = alloc_pd();
  const MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1));
  ASSERT_NE(mw, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST_F(Pd, BusyWithAnAddressHandle) {
  checks("ibv_alloc_pd(3): ibv_dealloc_pd() may fail if any other resource is associated");
  const PdPtr pd = alloc_pd();
  ibv_ah_attr address = device_.own_address();
  const AhPtr ah(ibv_create_ah(pd.get(), &address));
  if (!need(ah != nullptr || !is_unsupported(errno), "address handles")) return;
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

}  // namespace
}  // namespace conformance
