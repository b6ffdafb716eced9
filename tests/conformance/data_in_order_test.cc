// SPDX-License-Identifier: BSD-2-Clause
// Whether a reader may poll for data instead of completions.
#include <atomic>

#include "tests/conformance/support/fixture.h"

namespace conformance::data_in_order_test {
namespace {

// To ThreadSanitizer, polling for data is a data race, which it is by design.
#ifdef __SANITIZE_THREAD__
constexpr bool kPollingIsARace = true;
#else
constexpr bool kPollingIsARace = false;
#endif

struct DataInOrder : PairConformance {};

TEST_F(DataInOrder, AnswersYesOrNo) {
  checks("ibv_query_qp_data_in_order(3)");
  connect_pair();
  if (stopped()) return;
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND}) {
    const int answer = ibv_query_qp_data_in_order(left_qp(), opcode, 0);
    EXPECT_TRUE(answer == 0 || answer == 1) << opcode;
  }
}

TEST_F(DataInOrder, LastByteComesLast) {
  checks("ibv_query_qp_data_in_order(3): 1: the reader may poll for data");
  connect_pair();
  if (stopped()) return;
  if (!need_if_any(ibv_query_qp_data_in_order(right_qp(), IBV_WR_RDMA_WRITE, 0) == 1,
                   "data of a WRITE in order"))
    return;
  if (!need_if_any(!kPollingIsARace, "polling for data under ThreadSanitizer")) return;
  constexpr uint32_t kSize = 65536;
  const Buffer source(left_->pd, kSize, kAllAccess, 0xab);
  const Buffer target(right_->pd, kSize);
  for (int round = 0; round < 20; ++round) {
    auto* bytes = const_cast<uint8_t*>(target.bytes.data());
    std::memset(bytes, 0, kSize);
    Send write(1, IBV_WR_RDMA_WRITE);
    write.data(source.sge()).remote(target.address(), target.rkey());
    ASSERT_EQ(write.post(left_qp()), 0);
    const std::atomic_ref<uint8_t> last(bytes[kSize - 1]);
    ASSERT_TRUE(eventually([&] { return last.load(std::memory_order_acquire) != 0; }));
    EXPECT_EQ(target.bytes, source.bytes);
    expect_completion(left_done(), 1);
  }
}

}  // namespace
}  // namespace conformance::data_in_order_test
