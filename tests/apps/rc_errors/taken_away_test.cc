// SPDX-License-Identifier: BSD-2-Clause
// Memory that the application takes away under a live region: the work request that needs it fails,
// its own or its peer's, and the process lives.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "pair.h"
#include "tests/support/own_addresses.h"

namespace rc_errors {
namespace {

constexpr size_t kPage = 65536;  // some pages, on any machine
constexpr size_t kBytes = 16 * kPage;

/// A way of getting memory, and one of taking it away.
struct Way {
  const char* name;
  std::function<void*()> get;
  std::function<void(void*)> take;
  std::function<void(void*)> end;  ///< what is left to give back
};

/// When they are unmapped, no other thread's memory takes their place.
void* map_pages(size_t bytes = kBytes) {
  void* pages = urxe::test::map_at_own_addresses(bytes);
  return pages == MAP_FAILED ? nullptr : pages;
}
void unmap(void* pages) {
  ::munmap(pages, kBytes);
}
void nothing(void* /*pages*/) {}

void* attach_segment() {
  const int id = ::shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  if (id < 0) return nullptr;
  void* at = ::shmat(id, urxe::test::own_addresses(kBytes), 0);
  ::shmctl(id, IPC_RMID, nullptr);
  return at == reinterpret_cast<void*>(-1) ? nullptr : at;
}

/// The data of a library, which is loaded anew each time.
void* library = nullptr;
void* load_library() {
  library = ::dlopen(URXE_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? ::dlsym(library, "urxe_rc_errors_data") : nullptr;
}

/// Memory of the allocator's that is unmapped as soon as it is freed: larger than what it keeps.
constexpr size_t kLargeBlock = size_t{48} << 20;
[[maybe_unused]] void* allocate() {
  return std::malloc(kLargeBlock);
}

void* volatile shrunk;  // what realloc() has left, out of the compiler's sight

const Way kWays[] = {
    {"munmap", [] { return map_pages(); }, unmap, nothing},
    {"munmap of a part", [] { return map_pages(); }, [](void* at) { ::munmap(at, kPage); }, unmap},
    {"mprotect", [] { return map_pages(); }, [](void* at) { ::mprotect(at, kBytes, PROT_NONE); },
     unmap},
    {"mmap over it", [] { return map_pages(); },
     [](void* at) {
       ::mmap(at, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
     },
     unmap},
    {"mremap elsewhere", [] { return map_pages(); },
     [](void* at) {
       void* target = map_pages();
       shrunk = ::mremap(at, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
     },
     [](void* /*at*/) { ::munmap(shrunk, kBytes); }},
    {"dlclose", load_library, [](void* /*at*/) { ::dlclose(library); }, nothing},
    {"shmdt", attach_segment, [](void* at) { ::shmdt(at); }, nothing},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    // A sanitizer's allocator is in front of whoever could tell that it was called.
    {"free", allocate, [](void* at) { std::free(at); }, nothing},
    {"realloc", allocate,
     [](void* at) {
       // So that it cannot grow where it is.
       void* other = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       shrunk = std::realloc(at, 4 * kLargeBlock);
       ::munmap(other, kBytes);
     },
     [](void* /*at*/) { std::free(shrunk); }},
#endif
};

using TakenAway = PairTest;

MrPtr register_at(Side& side, void* at) {
  MrPtr mr(ibv_reg_mr(side.pd.get(), at, kBytes, kAllAccess));
  EXPECT_NE(mr, nullptr);
  return mr;
}

ibv_sge sge_of(const MrPtr& mr, uint32_t length) {
  return {reinterpret_cast<uint64_t>(mr->addr), length, mr->lkey};
}

/// One request of the left side, which has worked once, is refused once the memory is taken.
void expect_refusal(PairTest* /*test*/, Side& left, const std::function<int(uint64_t)>& post,
                    const std::function<void()>& take, ibv_wc_status status) {
  ASSERT_EQ(post(1), 0);
  expect_completion(left.cq.get(), 1, IBV_WC_SUCCESS);
  take();
  ASSERT_EQ(post(2), 0);
  expect_completion(left.cq.get(), 2, status);
}

TEST_F(TakenAway, FromThePeer) {
  for (const Way& way : kWays) {
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
      SCOPED_TRACE(std::string(way.name) + ", opcode " + std::to_string(opcode));
      connect();
      Memory own(left_->pd.get(), 64);
      void* at = way.get();
      ASSERT_NE(at, nullptr);
      {
        const MrPtr mr = register_at(*right_, at);
        const auto post = [&](uint64_t id) {
          const auto remote = reinterpret_cast<uint64_t>(mr->addr);
          return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
                     ? post_atomic(left_->qp.get(), id, opcode, own.sge(8), remote, mr->rkey)
                     : post_rdma(left_->qp.get(), id, opcode, own.sge(64), remote, mr->rkey);
        };
        expect_refusal(
            this, *left_, post, [&] { way.take(at); }, IBV_WC_REM_ACCESS_ERR);
        EXPECT_EQ(state_of(right_->qp.get()), IBV_QPS_ERR);
      }
      way.end(at);
    }
  }
}

// Expect: dlclose() takes nothing from a library that is loaded more than once.
TEST_F(TakenAway, NotWithALibraryThatStays) {
  connect();
  Memory own(left_->pd.get(), 64);
  void* at = load_library();
  ASSERT_NE(at, nullptr);
  {
    const MrPtr mr = register_at(*right_, at);
    ASSERT_EQ(::dlopen(URXE_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL), library);
    ASSERT_EQ(::dlclose(library), 0);
    const auto remote = reinterpret_cast<uint64_t>(mr->addr);
    uint64_t id = 0;
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
      ASSERT_EQ(post_rdma(left_->qp.get(), ++id, opcode, own.sge(64), remote, mr->rkey), 0);
      expect_completion(left_->cq.get(), id, IBV_WC_SUCCESS);
    }
    ASSERT_EQ(post_atomic(left_->qp.get(), ++id, IBV_WR_ATOMIC_FETCH_AND_ADD, own.sge(8), remote,
                          mr->rkey),
              0);
    expect_completion(left_->cq.get(), id, IBV_WC_SUCCESS);
  }
  ::dlclose(library);
}

TEST_F(TakenAway, FromASend) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    connect();
    Memory receive(right_->pd.get(), 64);
    void* at = way.get();
    ASSERT_NE(at, nullptr);
    {
      const MrPtr mr = register_at(*left_, at);
      const auto post = [&](uint64_t id) {
        post_receive(right_->qp.get(), id, receive.sge(64));
        return post_send(left_->qp.get(), id, sge_of(mr, 64));
      };
      expect_refusal(
          this, *left_, post, [&] { way.take(at); }, IBV_WC_LOC_PROT_ERR);
    }
    way.end(at);
  }
}

TEST_F(TakenAway, FromAReceive) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    connect();
    Memory own(left_->pd.get(), 64);
    void* at = way.get();
    ASSERT_NE(at, nullptr);
    {
      const MrPtr mr = register_at(*right_, at);
      const auto post = [&](uint64_t id) {
        post_receive(right_->qp.get(), id, sge_of(mr, 64));
        return post_send(left_->qp.get(), id, own.sge(64));
      };
      expect_refusal(
          this, *left_, post, [&] { way.take(at); }, IBV_WC_REM_OP_ERR);
      expect_completion(right_->cq.get(), 1, IBV_WC_SUCCESS);
      expect_completion(right_->cq.get(), 2, IBV_WC_LOC_PROT_ERR);
    }
    way.end(at);
  }
}

TEST_F(TakenAway, FromAReadsDestination) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    connect();
    Memory remote(right_->pd.get(), 64);
    void* at = way.get();
    ASSERT_NE(at, nullptr);
    {
      const MrPtr mr = register_at(*left_, at);
      const auto post = [&](uint64_t id) {
        return post_rdma(left_->qp.get(), id, IBV_WR_RDMA_READ, sge_of(mr, 64), remote.address(),
                         remote.mr->rkey);
      };
      expect_refusal(
          this, *left_, post, [&] { way.take(at); }, IBV_WC_LOC_PROT_ERR);
    }
    way.end(at);
  }
}

// Expect: what is left of a region that has lost a page still works, all kinds of requests.
TEST_F(TakenAway, TheRestOfTheRegionStays) {
  connect();
  Memory own(left_->pd.get(), 64);
  auto* at = static_cast<uint8_t*>(map_pages());
  ASSERT_NE(at, nullptr);
  std::memset(at, 0x11, kBytes);
  std::memset(own.bytes.data(), 0x22, 64);
  const MrPtr mr = register_at(*right_, at);
  ASSERT_EQ(::munmap(at + kPage, kPage), 0);
  const uint64_t left_over = reinterpret_cast<uint64_t>(at) + 2 * kPage;
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, own.sge(64), left_over, mr->rkey), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(at[2 * kPage + 63], 0x22);
  ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_READ, own.sge(64), left_over + 64, mr->rkey),
            0);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  EXPECT_EQ(own.bytes[63], 0x11);
  ASSERT_EQ(post_atomic(left_->qp.get(), 3, IBV_WR_ATOMIC_FETCH_AND_ADD, own.sge(8),
                        left_over + 128, mr->rkey),
            0);
  expect_completion(left_->cq.get(), 3, IBV_WC_SUCCESS);
  EXPECT_EQ(own.bytes[0], 0x11);
  unmap(at);
}

// A remote WRITE landed in other memory, mapped where the region's had been unmapped. Expect: the
// requests fail, the new memory stays as it is, until it is registered itself.
TEST_F(TakenAway, WhatIsMappedAnewIsNotTheRegions) {
  for (const bool over : {false, true}) {
    SCOPED_TRACE(over ? "mapped over it" : "unmapped first");
    connect();
    Memory own(left_->pd.get(), 64);
    auto* at = static_cast<uint8_t*>(map_pages());
    ASSERT_NE(at, nullptr);
    std::memset(own.bytes.data(), 0x22, 64);
    {
      const MrPtr mr = register_at(*right_, at);
      if (!over) unmap(at);
      const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (over ? MAP_FIXED : MAP_FIXED_NOREPLACE);
      ASSERT_EQ(::mmap(at, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0), at);
      const auto remote = reinterpret_cast<uint64_t>(at);
      ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, own.sge(64), remote, mr->rkey), 0);
      expect_completion(left_->cq.get(), 1, IBV_WC_REM_ACCESS_ERR);
      EXPECT_EQ(at[0], 0);
    }
    left_.reset();
    right_.reset();
    connect();
    Memory again(left_->pd.get(), 64);
    std::memset(again.bytes.data(), 0x33, 64);
    {
      const MrPtr mr = register_at(*right_, at);
      ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_WRITE, again.sge(64),
                          reinterpret_cast<uint64_t>(at), mr->rkey),
                0);
      expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
      EXPECT_EQ(at[63], 0x33);
    }
    unmap(at);
    left_.reset();
    right_.reset();
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Registration caches do this. Expect: the region reaches the block while it is free, and after the
// allocator has given it out again.
TEST_F(TakenAway, AFreedBlockStaysReachable) {
  connect();
  Memory own(left_->pd.get(), 64);
  std::memset(own.bytes.data(), 0x44, 64);
  constexpr size_t kBlock = 16384;
  void* before = std::malloc(kBlock);
  auto* block = static_cast<uint8_t*>(std::malloc(kBlock));
  void* after = std::malloc(kBlock);  // so that the block is not at the heap's end
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), block, kBlock, kAllAccess));
  ASSERT_NE(mr, nullptr);
  const auto remote = reinterpret_cast<uint64_t>(block) + kBlock / 2;
  std::free(block);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, own.sge(64), remote, mr->rkey), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  auto* volatile again = static_cast<uint8_t*>(std::malloc(kBlock));
  ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_WRITE, own.sge(64), remote, mr->rkey), 0);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  std::free(again);
  std::free(before);
  std::free(after);
}
#endif

// Expect: memory beside a region may come and go; the region stays as fast, and whole.
TEST_F(TakenAway, NeighboursDoNotMatter) {
  connect();
  Memory own(left_->pd.get(), 64);
  auto* at = static_cast<uint8_t*>(map_pages());
  ASSERT_NE(at, nullptr);
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), at + kPage, kPage, kAllAccess));
  ASSERT_NE(mr, nullptr);
  ::munmap(at, kPage);
  ::munmap(at + 2 * kPage, kBytes - 2 * kPage);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, own.sge(64),
                      reinterpret_cast<uint64_t>(at) + 2 * kPage - 64, mr->rkey),
            0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  ::munmap(at + kPage, kPage);
}

/// What a peer keeps doing while the memory comes and goes.
class Tormentor {
 public:
  Tormentor(Side& side, Memory& own, ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey)
      : thread_([=, this, &side, &own] { run(side, own, opcode, remote, rkey); }) {}
  ~Tormentor() {
    if (thread_.joinable()) thread_.join();
  }
  Tormentor(const Tormentor&) = delete;
  Tormentor& operator=(const Tormentor&) = delete;

  /// Waits until one fails.
  ibv_wc_status end() {
    thread_.join();
    return status.load();
  }

  std::atomic<ibv_wc_status> status = IBV_WC_SUCCESS;
  std::atomic<int> done{0};

 private:
  /// Until one fails.
  void run(Side& side, Memory& own, ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey) {
    while (status == IBV_WC_SUCCESS) {
      const int posted = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
                             ? post_atomic(side.qp.get(), 7, opcode, own.sge(8), remote, rkey)
                             : post_rdma(side.qp.get(), 7, opcode, own.sge(8192), remote, rkey);
      if (posted != 0) return;
      status = next_completion(side.cq.get()).status;
      ++done;
    }
  }
  std::thread thread_;
};

constexpr ibv_wr_opcode kTorments[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
                                       IBV_WR_ATOMIC_FETCH_AND_ADD};

// The peer's requests go on while another thread takes the memory. Expect: they succeed until it is
// gone, then one is refused; never a crash. Many times over.
TEST_F(TakenAway, WhileThePeerGoesOn) {
  for (int round = 0; round < 60; ++round) {
    const Way& way = kWays[static_cast<size_t>(round) % std::size(kWays)];
    const ibv_wr_opcode opcode =
        kTorments[static_cast<size_t>(round) / std::size(kWays) % std::size(kTorments)];
    SCOPED_TRACE(std::string(way.name) + ", opcode " + std::to_string(opcode));
    connect();
    Memory own(left_->pd.get(), 8192);
    void* at = way.get();
    ASSERT_NE(at, nullptr);
    {
      const MrPtr mr = register_at(*right_, at);
      Tormentor peer(*left_, own, opcode, reinterpret_cast<uint64_t>(at), mr->rkey);
      while (peer.done.load() < 20 + round && peer.status.load() == IBV_WC_SUCCESS) {
        std::this_thread::yield();
      }
      ASSERT_EQ(peer.status.load(), IBV_WC_SUCCESS) << "before the memory was taken";
      way.take(at);
      EXPECT_EQ(peer.end(), IBV_WC_REM_ACCESS_ERR);
    }
    way.end(at);
    left_.reset();
    right_.reset();
  }
}

}  // namespace
}  // namespace rc_errors
