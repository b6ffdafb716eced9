// SPDX-License-Identifier: BSD-2-Clause
// Imported objects, and what becomes of them when the originals end first, or are misused.
#include <cerrno>

#include "provider/verbs/context_table.h"
#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe::test {
namespace {

/// A context imports from itself, too.
class ImportTest : public testing::Test {
 protected:
  ImportTest() { ContextTable::instance().add(context_of(open_.context())); }
  ~ImportTest() override { ContextTable::instance().remove(context_of(open_.context())); }

  OpenContext open_;
  ibv_context* context_ = open_.context();
  const abi::VerbsContextOps& ops_ = open_.ops();
  ibv_pd* pd_ = open_.alloc_pd();
  char memory_[64]{};
};

TEST_F(ImportTest, ADomainIsTheSameOne) {
  ibv_pd* const shared = ops_.import_pd(context_, pd_->handle);
  ASSERT_NE(shared, nullptr);
  EXPECT_NE(shared, pd_);
  EXPECT_TRUE(same_domain(shared, pd_));
  ops_.unimport_pd(shared);
  EXPECT_EQ(ops_.dealloc_pd(pd_), 0);
  EXPECT_EQ(ops_.import_pd(context_, pd_->handle), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

// Expect: it stays, so that what was made with it can end.
TEST_F(ImportTest, ADomainInUseIsNotTakenAway) {
  ibv_pd* const shared = ops_.import_pd(context_, pd_->handle);
  ASSERT_NE(shared, nullptr);
  ibv_mr* const mr = open_.reg_mr(shared, memory_, sizeof memory_);
  ops_.unimport_pd(shared);
  EXPECT_EQ(check_handle(shared), 0);
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(mr)), 0);
  ops_.unimport_pd(shared);
  EXPECT_EQ(check_handle(shared), EINVAL);
}

TEST_F(ImportTest, WhatWasNotImportedIsNotTakenAway) {
  ibv_mr* const mr = open_.reg_mr(pd_, memory_, sizeof memory_);
  ibv_dm* const dm = open_.alloc_dm();
  ops_.unimport_mr(mr);
  ops_.unimport_dm(dm);
  ops_.unimport_pd(pd_);
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(mr)), 0);
  EXPECT_EQ(ops_.free_dm(dm), 0);
  EXPECT_EQ(ops_.dealloc_pd(pd_), 0);
}

TEST_F(ImportTest, ARegionIsItsOwners) {
  ibv_mr* const mr = open_.reg_mr(pd_, memory_, sizeof memory_);
  ibv_mr* const shared = ops_.import_mr(pd_, mr->handle);
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(verbs_mr(shared)->mr_type, abi::kImportedMr);
  EXPECT_EQ(shared->addr, nullptr);
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(shared)), EOPNOTSUPP);
  EXPECT_EQ(ops_.rereg_mr(verbs_mr(shared), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
            EOPNOTSUPP);
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(mr)), 0);
  EXPECT_EQ(ops_.import_mr(pd_, shared->handle), nullptr) << "imports are not imported again";
  EXPECT_EQ(errno, ENOENT);
  ops_.unimport_mr(shared);
  EXPECT_EQ(check_handle(verbs_mr(shared)), EINVAL);
}

TEST_F(ImportTest, ARegionOfAnotherDomain) {
  ibv_mr* const mr = open_.reg_mr(pd_, memory_, sizeof memory_);
  ibv_pd* const other = open_.alloc_pd();
  EXPECT_EQ(ops_.import_mr(other, mr->handle), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(mr)), 0);
}

// Expect: its bytes stay as long as a handle has them; a handle that was freed has none.
TEST_F(ImportTest, DeviceMemoryOutlivesItsFirstHandle) {
  ibv_dm* const dm = open_.alloc_dm();
  ibv_dm* const shared = ops_.import_dm(context_, dm->handle);
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(ops_.free_dm(shared), EOPNOTSUPP);
  const int in = 4711;
  ASSERT_EQ(dm->memcpy_to_dm(dm, 8, &in, sizeof in), 0);
  ASSERT_EQ(ops_.free_dm(dm), 0);
  int out = 0;
  EXPECT_EQ(shared->memcpy_from_dm(&out, shared, 8, sizeof out), 0);
  EXPECT_EQ(out, in);
  EXPECT_EQ(dm->memcpy_from_dm(&out, dm, 8, sizeof out), EFAULT);
  ops_.unimport_dm(shared);
  EXPECT_EQ(shared->memcpy_from_dm(&out, shared, 8, sizeof out), EFAULT);
}

// Expect: it stays, as a domain in use does: the region lies in its bytes.
TEST_F(ImportTest, DeviceMemoryWithARegionIsNotTakenAway) {
  ibv_dm* const dm = open_.alloc_dm();
  ibv_dm* const shared = ops_.import_dm(context_, dm->handle);
  ASSERT_NE(shared, nullptr);
  constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED;
  ibv_mr* const mr = kept(ops_.reg_dm_mr(pd_, shared, 0, 64, kAccess));
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(ops_.free_dm(dm), 0);
  ops_.unimport_dm(shared);
  int out = 0;
  EXPECT_EQ(shared->memcpy_from_dm(&out, shared, 0, sizeof out), 0) << "the bytes are there";
  EXPECT_EQ(ops_.dereg_mr(verbs_mr(mr)), 0);
  ops_.unimport_dm(shared);
  EXPECT_EQ(shared->memcpy_from_dm(&out, shared, 0, sizeof out), EFAULT);
}

TEST_F(ImportTest, AContextThatIsClosedEndsItsImports) {
  ibv_mr* const mr = open_.reg_mr(pd_, memory_, sizeof memory_);
  ASSERT_NE(kept(ops_.import_pd(context_, pd_->handle)), nullptr);
  ASSERT_NE(kept(ops_.import_mr(pd_, mr->handle)), nullptr);
  ASSERT_NE(kept(ops_.import_dm(context_, open_.alloc_dm()->handle)), nullptr);
}

}  // namespace
}  // namespace urxe::test
