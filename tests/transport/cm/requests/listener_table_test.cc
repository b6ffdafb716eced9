// SPDX-License-Identifier: BSD-2-Clause
// Listeners: which one gets a request, and which may be beside which.
#include <cerrno>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmListeners, OneOfAServiceAndAddress) {
  Bench bench;
  const ListenerId any = bench.listen();
  EXPECT_NE(any, ListenerId{});
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, std::nullopt).error().value, EADDRINUSE);
  EXPECT_TRUE(bench.cm.listen(kService, kAllBits, bench.ours));
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, bench.ours).error().value, EADDRINUSE);
  EXPECT_EQ(bench.cm.listen(kService, ~uint64_t{0xffff}, std::nullopt).error().value, EADDRINUSE);
  EXPECT_TRUE(bench.cm.listen(ServiceId{kService.value() + 1}, kAllBits, std::nullopt));
  bench.cm.stop_listening(any);
  EXPECT_TRUE(bench.cm.listen(kService, kAllBits, std::nullopt));
}

TEST(CmListeners, TheOneOnTheAddressIsPreferred) {
  Bench bench;
  const ListenerId any = bench.listen();
  const ListenerId local = *bench.cm.listen(kService, kAllBits, bench.ours);
  ASSERT_TRUE(bench.cm.listen(kService, kAllBits, gid_of(9)));
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, local);
  bench.cm.stop_listening(local);
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x7000'0002};
  req.local_qpn = Qpn{0x23};
  bench.receive(req);
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, any);
}

TEST(CmListeners, AMaskTakesManyServices) {
  Bench bench;
  const auto all = bench.cm.listen(ServiceId{0x0106'0000}, ~uint64_t{0xffff}, std::nullopt);
  ASSERT_TRUE(all);
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, std::nullopt).error().value, EADDRINUSE);
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, *all);
  bench.cm.stop_listening(*all);
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x7000'0002};
  req.local_qpn = Qpn{0x23};
  bench.receive(req);
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kInvalidServiceId);
}

TEST(CmListeners, AreBounded) {
  CmConfig config = Bench::default_config();
  config.max_ids = 2;
  Bench bench(config);
  ASSERT_TRUE(bench.cm.listen(ServiceId{1}, kAllBits, std::nullopt));
  ASSERT_TRUE(bench.cm.listen(ServiceId{2}, kAllBits, std::nullopt));
  EXPECT_EQ(bench.cm.listen(ServiceId{3}, kAllBits, std::nullopt).error().value, ENOMEM);
}

}  // namespace
}  // namespace urxe::test
