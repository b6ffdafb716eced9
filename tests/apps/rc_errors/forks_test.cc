// SPDX-License-Identifier: BSD-2-Clause
// fork() after ibv_fork_init(), which a program must call before it registers memory: so these are
// run as a process of their own.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr size_t kBlock = 4097;
constexpr size_t kBlocks = 20;

struct Forks : PairTest {};

/// Returns how the child ended, as waitpid() tells.
int fork_and_read(const std::vector<std::vector<uint8_t>>& blocks) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool has_all = std::ranges::all_of(
        blocks, [](const auto& block) { return block.front() == 1 && block.back() == 1; });
    ::_exit(has_all ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child ? status : -1;
}

// The blocks share pages with what the verbs have allocated in between. Expect: the child starts,
// and has the memory.
TEST_F(Forks, ChildHasRegisteredMemory) {
  ASSERT_EQ(ibv_fork_init(), 0);
  connect();
  std::vector<std::vector<uint8_t>> blocks;
  std::vector<MrPtr> regions;
  std::vector<ibv_cq*> queues;
  for (size_t i = 0; i < kBlocks; ++i) {
    std::vector<uint8_t>& block = blocks.emplace_back(kBlock, 1);
    regions.emplace_back(ibv_reg_mr(left_->pd.get(), block.data(), block.size(), kAllAccess));
    queues.push_back(ibv_create_cq(left_->pd->context, 10, nullptr, nullptr, 0));
    ASSERT_TRUE(regions.back() != nullptr && queues.back() != nullptr);
    ASSERT_EQ(fork_and_read(blocks), 0) << i;
  }
  for (ibv_cq* queue : queues) EXPECT_EQ(ibv_destroy_cq(queue), 0);
}

/// Whether a child has the page.
bool child_has(void* page, size_t size) {
  const pid_t child = ::fork();
  if (child == 0) {
    unsigned char resident[16];
    ::_exit(::mincore(page, size, resident) == 0 ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// Expect: what the program itself keeps from its children stays so, whatever the verbs do.
TEST_F(Forks, WhatTheProgramKeepsIsNotInTheChild) {
  ASSERT_EQ(ibv_fork_init(), 0);
  connect();
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const kept =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(kept, MAP_FAILED);
  EXPECT_TRUE(child_has(kept, page));
  ASSERT_EQ(::madvise(kept, page, MADV_DONTFORK), 0);
  {
    const MrPtr region(ibv_reg_mr(left_->pd.get(), kept, page, kAllAccess));
    ASSERT_NE(region, nullptr);
    EXPECT_FALSE(child_has(kept, page));
  }
  EXPECT_FALSE(child_has(kept, page));
  ASSERT_EQ(::madvise(kept, page, MADV_DOFORK), 0);
  EXPECT_TRUE(child_has(kept, page));
  ::munmap(kept, page);
}

// As a kernel that copies pinned memory on fork() says.
TEST_F(Forks, NeedNoPreparation) {
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

}  // namespace
}  // namespace rc_errors
