// SPDX-License-Identifier: BSD-2-Clause
// RC: every operation, sizes, scatter/gather lists, ordering, and what completions say.
#include <arpa/inet.h>

#include <array>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

constexpr std::array<uint32_t, 16> kSizes{0,    1,    2,    3,    4,    5,     255,    256,
                                          1023, 1024, 1025, 4096, 8193, 65536, 100001, 1 << 21};
constexpr uint32_t kLargest = kSizes.back();

struct Rc : PairConformance {
  void start(const QpConfig& config = {}, uint32_t size = kLargest) {
    connect_pair(config);
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, size);
    remote_ = std::make_unique<Buffer>(right_->pd, size);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  void expect_same(uint32_t size) {
    EXPECT_EQ(std::memcmp(local_->bytes.data(), remote_->bytes.data(), size), 0) << size;
    if (size < remote_->bytes.size()) {
      EXPECT_EQ(remote_->bytes[size], 0) << "beyond " << size;
    }
  }
  void next_pattern(uint8_t seed) {
    local_->fill_pattern(seed);
    std::fill(remote_->bytes.begin(), remote_->bytes.end(), uint8_t{0});
  }

  std::unique_ptr<Buffer> local_;
  std::unique_ptr<Buffer> remote_;
};

TEST_F(Rc, Send) {
  checks("ibv_post_send(3): IBV_WR_SEND; ibv_poll_cq(3)");
  start();
  if (stopped()) return;
  for (const uint32_t size : kSizes) {
    next_pattern(static_cast<uint8_t>(size));
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    ASSERT_EQ(conformance::Send(1).data(local_->sge(0, size)).post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_SEND);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    expect_same(size);
  }
}

TEST_F(Rc, CompletionMembersOfASend) {
  checks("ibv_poll_cq(3): qp_num, src_qp, wc_flags, vendor_err");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 8)).post(left_qp()), 0);
  const ibv_wc sent = expect_completion(left_done(), 1);
  EXPECT_EQ(sent.qp_num, left_->number());
  const ibv_wc wc = expect_completion(right_received(), 2);
  EXPECT_EQ(wc.qp_num, right_->number());
  EXPECT_EQ(wc.wc_flags, 0U) << "no GRH, no immediate data, no invalidated key";
}

TEST_F(Rc, SendWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_SEND_WITH_IMM; ibv_poll_cq(3): IBV_WC_WITH_IMM, imm_data");
  start();
  if (stopped()) return;
  for (const uint32_t size : {0U, 5U, 1024U, 5000U}) {
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    conformance::Send send(1, IBV_WR_SEND_WITH_IMM);
    ASSERT_EQ(send.data(local_->sge(0, size)).imm(0xa1b2c3d4).post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_SEND);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ntohl(wc.imm_data), 0xa1b2c3d4U);
    EXPECT_EQ(wc.byte_len, size);
  }
}

TEST_F(Rc, Write) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE");
  start();
  if (stopped()) return;
  for (const uint32_t size : kSizes) {
    next_pattern(static_cast<uint8_t>(size + 1));
    conformance::Send write(1, IBV_WR_RDMA_WRITE);
    write.data(local_->sge(0, size)).remote(remote_->address(), remote_->rkey());
    ASSERT_EQ(write.post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_RDMA_WRITE);
    expect_same(size);
  }
  expect_empty(right_received());
}

TEST_F(Rc, WriteWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE_WITH_IMM; ibv_poll_cq(3): RECV_RDMA_WITH_IMM");
  start();
  if (stopped()) return;
  for (const uint32_t size : {0U, 5U, 1024U, 5000U}) {
    next_pattern(static_cast<uint8_t>(size + 2));
    // A receive without memory will do: only its place is used.
    ASSERT_EQ(Recv(2).post(right_qp()), 0);
    conformance::Send write(1, IBV_WR_RDMA_WRITE_WITH_IMM);
    write.data(local_->sge(0, size)).remote(remote_->address(), remote_->rkey()).imm(7);
    ASSERT_EQ(write.post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_RDMA_WRITE);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ntohl(wc.imm_data), 7U);
    EXPECT_EQ(wc.byte_len, size);
    expect_same(size);
  }
}

TEST_F(Rc, Read) {
  checks("ibv_post_send(3): IBV_WR_RDMA_READ; ibv_poll_cq(3): byte_len");
  start();
  if (stopped()) return;
  for (const uint32_t size : kSizes) {
    remote_->fill_pattern(static_cast<uint8_t>(size));
    std::fill(local_->bytes.begin(), local_->bytes.end(), uint8_t{0});
    conformance::Send read(1, IBV_WR_RDMA_READ);
    read.data(local_->sge(0, size)).remote(remote_->address(), remote_->rkey());
    ASSERT_EQ(read.post(left_qp()), 0);
    const ibv_wc wc = expect_completion(left_done(), 1);
    EXPECT_EQ(wc.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(std::memcmp(local_->bytes.data(), remote_->bytes.data(), size), 0) << size;
    if (size < kLargest) {
      EXPECT_EQ(local_->bytes[size], 0);
    }
  }
}

TEST_F(Rc, FetchAndAdd) {
  checks("ibv_post_send(3): IBV_WR_ATOMIC_FETCH_AND_ADD");
  start({}, 64);
  if (stopped()) return;
  uint64_t value = 0xfffffffffffffff0;
  std::memcpy(&remote_->bytes[8], &value, 8);
  conformance::Send add(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  add.data(local_->sge(16, 8)).atomic(remote_->address(8), remote_->rkey(), 0x123);
  ASSERT_EQ(add.post(left_qp()), 0);
  EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_FETCH_ADD);
  uint64_t before = 0;
  std::memcpy(&before, &local_->bytes[16], 8);
  EXPECT_EQ(before, value);
  std::memcpy(&value, &remote_->bytes[8], 8);
  EXPECT_EQ(value, 0x113U) << "it wraps";
}

TEST_F(Rc, CompareAndSwap) {
  checks("ibv_post_send(3): IBV_WR_ATOMIC_CMP_AND_SWP");
  start({}, 64);
  if (stopped()) return;
  const auto swap_if = [&](uint64_t compare, uint64_t swap) {
    conformance::Send request(1, IBV_WR_ATOMIC_CMP_AND_SWP);
    request.data(local_->sge(0, 8)).atomic(remote_->address(), remote_->rkey(), compare, swap);
    EXPECT_EQ(request.post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_COMP_SWAP);
    uint64_t before = 0;
    std::memcpy(&before, local_->bytes.data(), 8);
    return before;
  };
  const auto value = [&] {
    uint64_t now = 0;
    std::memcpy(&now, remote_->bytes.data(), 8);
    return now;
  };
  EXPECT_EQ(swap_if(0, 0x1122334455667788), 0U);
  EXPECT_EQ(value(), 0x1122334455667788U);
  EXPECT_EQ(swap_if(0, 99), 0x1122334455667788U) << "not equal: unchanged";
  EXPECT_EQ(value(), 0x1122334455667788U);
  EXPECT_EQ(swap_if(0x1122334455667788, 5), 0x1122334455667788U);
  EXPECT_EQ(value(), 5U);
}

TEST_F(Rc, AtomicsOfTwoQueuePairsExcludeEachOther) {
  checks("IBTA 9.4.5: atomicity");
  start({}, 64);
  if (stopped()) return;
  QpConfig same_domain;
  same_domain.pd = right_->pd;
  Endpoint third(device_, same_domain);
  Endpoint fourth(device_, QpConfig{});
  third.connect_to(fourth.number());
  fourth.connect_to(third.number());
  Buffer other(fourth.pd, 64);
  constexpr uint64_t kCount = 100;
  for (uint64_t i = 0; i < kCount; ++i) {
    conformance::Send one(i, IBV_WR_ATOMIC_FETCH_AND_ADD);
    one.data(local_->sge(0, 8)).atomic(remote_->address(), remote_->rkey(), 1);
    ASSERT_EQ(one.post(left_qp()), 0);
    conformance::Send two(i, IBV_WR_ATOMIC_FETCH_AND_ADD);
    two.data(other.sge(0, 8)).atomic(remote_->address(), remote_->rkey(), 1);
    ASSERT_EQ(two.post(fourth.qp.get()), 0);
    expect_completion(left_done(), i);
    expect_completion(fourth.send_cq.get(), i);
  }
  uint64_t value = 0;
  std::memcpy(&value, remote_->bytes.data(), 8);
  EXPECT_EQ(value, 2 * kCount);
}

TEST_F(Rc, ScatterGatherListsOfManyParts) {
  checks("ibv_post_send(3), ibv_post_recv(3): sg_list in order, parts of any length");
  QpConfig config;
  config.cap.max_send_sge = config.cap.max_recv_sge = 4;
  start(config, 8192);
  if (stopped()) return;
  Recv receive(2);
  receive.data(remote_->sge(100, 1)).data(remote_->sge(0, 0)).data(remote_->sge(200, 2000));
  receive.data(remote_->sge(4000, 3000));
  ASSERT_EQ(receive.post(right_qp()), 0);
  conformance::Send send(1);
  send.data(local_->sge(5, 1500)).data(local_->sge(3000, 7)).data(local_->sge(0, 0));
  send.data(local_->sge(6000, 1200));
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  const ibv_wc wc = expect_completion(right_received(), 2);
  EXPECT_EQ(wc.byte_len, 2707U);
  std::vector<uint8_t> sent;
  for (const auto& [from, size] : {std::pair{5, 1500}, std::pair{3000, 7}, std::pair{6000, 1200}})
    sent.insert(sent.end(), local_->bytes.begin() + from, local_->bytes.begin() + from + size);
  std::vector<uint8_t> received;
  for (const auto& [to, size] : {std::pair{100, 1}, std::pair{200, 2000}, std::pair{4000, 706}})
    received.insert(received.end(), remote_->bytes.begin() + to,
                    remote_->bytes.begin() + to + size);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(remote_->bytes[4706], 0);
  EXPECT_EQ(remote_->bytes[101], 0);
}

TEST_F(Rc, ReadIntoManyParts) {
  checks("ibv_post_send(3): sg_list of IBV_WR_RDMA_READ");
  start({}, 8192);
  if (stopped()) return;
  remote_->fill_pattern(9);
  std::fill(local_->bytes.begin(), local_->bytes.end(), uint8_t{0});
  conformance::Send read(1, IBV_WR_RDMA_READ);
  read.data(local_->sge(0, 1)).data(local_->sge(100, 2000)).data(local_->sge(5000, 1000));
  read.remote(remote_->address(33), remote_->rkey());
  ASSERT_EQ(read.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(local_->bytes[0], remote_->bytes[33]);
  EXPECT_EQ(std::memcmp(&local_->bytes[100], &remote_->bytes[34], 2000), 0);
  EXPECT_EQ(std::memcmp(&local_->bytes[5000], &remote_->bytes[2034], 1000), 0);
  EXPECT_EQ(local_->bytes[6000], 0);
}

TEST_F(Rc, Inline) {
  checks("ibv_post_send(3): IBV_SEND_INLINE: no key needed, the memory may change at once");
  QpConfig config;
  config.cap.max_inline_data = 64;
  start(config, 4096);
  if (stopped()) return;
  std::array<uint8_t, 64> bytes{};
  for (const uint32_t size : {0U, 1U, 63U, 64U}) {
    bytes.fill(static_cast<uint8_t>(size + 1));
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    conformance::Send send(1);
    send.data({reinterpret_cast<uint64_t>(bytes.data()), size, 0xbadbad}).flags(IBV_SEND_INLINE);
    ASSERT_EQ(send.post(left_qp()), 0);
    bytes.fill(0xff);
    expect_completion(left_done(), 1);
    EXPECT_EQ(expect_completion(right_received(), 2).byte_len, size);
    if (size > 0) {
      EXPECT_EQ(remote_->bytes[size - 1], size + 1);
    }
  }
  bytes.fill(0x3c);
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data({reinterpret_cast<uint64_t>(bytes.data()), 64, 0}).flags(IBV_SEND_INLINE);
  ASSERT_EQ(write.remote(remote_->address(1000), remote_->rkey()).post(left_qp()), 0);
  bytes.fill(0xff);
  expect_completion(left_done(), 1);
  EXPECT_EQ(remote_->bytes[1063], 0x3c);
}

TEST_F(Rc, InlineOfManyParts) {
  checks("ibv_post_send(3): IBV_SEND_INLINE");
  QpConfig config;
  config.cap.max_inline_data = 64;
  start(config, 4096);
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  conformance::Send send(1);
  send.data(local_->sge(10, 20)).data(local_->sge(100, 3)).data(local_->sge(50, 30));
  ASSERT_EQ(send.flags(IBV_SEND_INLINE).post(left_qp()), 0);
  EXPECT_EQ(expect_completion(right_received(), 2).byte_len, 53U);
  EXPECT_EQ(std::memcmp(&remote_->bytes[0], &local_->bytes[10], 20), 0);
  EXPECT_EQ(std::memcmp(&remote_->bytes[20], &local_->bytes[100], 3), 0);
  EXPECT_EQ(std::memcmp(&remote_->bytes[23], &local_->bytes[50], 30), 0);
}

TEST_F(Rc, ListOfRequests) {
  checks("ibv_post_send(3), ibv_post_recv(3): a linked list, done in order");
  start({}, 4096);
  if (stopped()) return;
  std::array<Recv, 3> receives{Recv(10), Recv(11), Recv(12)};
  std::array<conformance::Send, 3> sends{conformance::Send(1), conformance::Send(2),
                                         conformance::Send(3)};
  for (size_t i = 0; i < 3; ++i) {
    receives[i].data(remote_->sge(i * 100, 100));
    sends[i].data(local_->sge(i * 10, 10));
    receives[i].wr()->next = i < 2 ? receives[i + 1].wr() : nullptr;
    sends[i].wr()->next = i < 2 ? sends[i + 1].wr() : nullptr;
  }
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(right_qp(), receives[0].wr(), &bad_receive), 0);
  ibv_send_wr* bad_send = nullptr;
  ASSERT_EQ(ibv_post_send(left_qp(), sends[0].wr(), &bad_send), 0);
  for (uint64_t i = 0; i < 3; ++i) {
    expect_completion(left_done(), i + 1);
    expect_completion(right_received(), i + 10);
    EXPECT_EQ(std::memcmp(&remote_->bytes[i * 100], &local_->bytes[i * 10], 10), 0);
  }
}

TEST_F(Rc, CompletionsInOrderOfPosting) {
  checks("IBTA 10.8.5: requests of one send queue complete in order, whatever they are");
  start({}, 65536);
  if (stopped()) return;
  for (uint64_t id = 0; id < 24; ++id) {
    const auto opcode = id % 3 == 0   ? IBV_WR_RDMA_READ
                        : id % 3 == 1 ? IBV_WR_RDMA_WRITE
                                      : IBV_WR_ATOMIC_FETCH_AND_ADD;
    conformance::Send request(id, opcode);
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      request.data(local_->sge(0, 8)).atomic(remote_->address(), remote_->rkey(), 1);
    } else {
      request.data(local_->sge(0, static_cast<uint32_t>(id * 1000)));
      request.remote(remote_->address(), remote_->rkey());
    }
    ASSERT_EQ(request.post(left_qp()), 0);
  }
  for (uint64_t id = 0; id < 24; ++id) expect_completion(left_done(), id);
}

TEST_F(Rc, FencedSendSeesWhatTheReadBrought) {
  checks("ibv_post_send(3): IBV_SEND_FENCE");
  start({}, 65536);
  if (stopped()) return;
  remote_->fill_pattern(3);
  Buffer inbox(right_->pd, 65536);
  ASSERT_EQ(Recv(3).data(inbox.sge()).post(right_qp()), 0);
  conformance::Send read(1, IBV_WR_RDMA_READ);
  read.data(local_->sge()).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(read.post(left_qp()), 0);
  ASSERT_EQ(conformance::Send(2).data(local_->sge()).flags(IBV_SEND_FENCE).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(left_done(), 2);
  expect_completion(right_received(), 3);
  EXPECT_EQ(inbox.bytes, remote_->bytes);
}

TEST_F(Rc, WriteIsThereWhenTheNextSendIsReceived) {
  checks("IBTA 9.5, o9-20: data of a WRITE is visible once a later SEND completes");
  start({}, 65536);
  if (stopped()) return;
  Buffer inbox(right_->pd, 8);
  ASSERT_EQ(Recv(3).data(inbox.sge()).post(right_qp()), 0);
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local_->sge()).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(write.post(left_qp()), 0);
  ASSERT_EQ(conformance::Send(2).post(left_qp()), 0);
  expect_completion(right_received(), 3);
  expect_same(65536);
}

// An application that has polled until now, posts several small requests and goes off to compute.
TEST_F(Rc, RequestsGoOutWithoutAnotherCall) {
  checks("ibv_post_send(3): what is posted is carried out, without another verb");
  constexpr uint8_t kRequests = 3;
  start({}, 64);
  if (stopped()) return;
  for (uint8_t round = 1; round <= 50; ++round) {
    for (int polls = 0; polls < 2000; ++polls) expect_empty(left_done());
    std::fill(local_->bytes.begin(), local_->bytes.end(), round);
    for (uint8_t i = 0; i < kRequests; ++i) {
      conformance::Send write(i, IBV_WR_RDMA_WRITE);
      write.data(local_->sge(0, 8)).remote(remote_->address() + i * 8U, remote_->rkey());
      ASSERT_EQ(write.post(left_qp()), 0);
    }
    const volatile uint8_t* const last = &remote_->bytes[kRequests * 8 - 1];
    ASSERT_TRUE(eventually([&] { return *last == round; })) << "round " << int{round};
    for (uint8_t i = 0; i < kRequests; ++i) expect_completion(left_done(), i);
  }
}

TEST_F(Rc, ReceiverNotReadyAtFirst) {
  checks("IBTA 9.7.5.2.8: RNR NAK; the SEND is tried again");
  start({}, 4096);
  if (stopped()) return;
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 3000)).post(left_qp()), 0);
  // A WRITE of the other direction there and back: the SEND has arrived before.
  conformance::Send write(2, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.post(right_qp()), 0);
  expect_completion(right_done(), 2);
  expect_empty(left_done());
  ASSERT_EQ(Recv(3).data(remote_->sge()).post(right_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 3);
  expect_same(3000);
}

TEST_F(Rc, BothDirectionsAtOnce) {
  checks("ibv_post_send(3)");
  QpConfig config;
  config.cap.max_send_wr = config.cap.max_recv_wr = 64;
  start(config, 65536);
  if (stopped()) return;
  for (uint64_t id = 0; id < 50; ++id) {
    ASSERT_EQ(Recv(id).data(remote_->sge(0, 2048)).post(right_qp()), 0);
    ASSERT_EQ(Recv(id).data(local_->sge(4096, 2048)).post(left_qp()), 0);
  }
  for (uint64_t id = 0; id < 50; ++id) {
    ASSERT_EQ(conformance::Send(id).data(local_->sge(0, 2000)).post(left_qp()), 0);
    ASSERT_EQ(conformance::Send(id).data(remote_->sge(4096, 1500)).post(right_qp()), 0);
  }
  for (uint64_t id = 0; id < 50; ++id) {
    EXPECT_EQ(expect_completion(right_received(), id).byte_len, 2000U);
    EXPECT_EQ(expect_completion(left_received(), id).byte_len, 1500U);
    expect_completion(left_done(), id);
    expect_completion(right_done(), id);
  }
}

TEST_F(Rc, ToItself) {
  checks("IBTA 10.2.4: a queue pair may be connected to itself");
  Endpoint alone(device_, QpConfig{});
  alone.connect_to(alone.number());
  Buffer local(alone.pd, 5000);
  Buffer remote(alone.pd, 5000);
  local.fill_pattern();
  ASSERT_EQ(Recv(2).data(remote.sge()).post(alone.qp.get()), 0);
  ASSERT_EQ(conformance::Send(1).data(local.sge()).post(alone.qp.get()), 0);
  expect_completion(alone.send_cq.get(), 1);
  expect_completion(alone.recv_cq.get(), 2);
  EXPECT_EQ(local.bytes, remote.bytes);
}

TEST_F(Rc, BetweenTwoContexts) {
  checks("ibv_open_device(3): two contexts of one process talk like two processes");
  const Device second = Device::open();
  Endpoint near(device_, QpConfig{});
  Endpoint far(second, QpConfig{});
  near.connect_to(far.number());
  far.connect_to(near.number());
  Buffer local(near.pd, 100000);
  Buffer remote(far.pd, 100000);
  local.fill_pattern();
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local.sge()).remote(remote.address(), remote.rkey());
  ASSERT_EQ(write.post(near.qp.get()), 0);
  expect_completion(near.send_cq.get(), 1);
  EXPECT_EQ(local.bytes, remote.bytes);
}

TEST_F(Rc, EveryPathMtu) {
  checks("ibv_modify_qp(3): path_mtu");
  for (int mtu = IBV_MTU_256; mtu <= device_.port_attr.active_mtu; ++mtu) {
    Endpoint near(device_, QpConfig{});
    Endpoint far(device_, QpConfig{});
    for (auto* side : {&near, &far}) {
      const Endpoint& peer = side == &near ? far : near;
      ASSERT_EQ(to_init(device_, side->qp.get(), side->config), 0);
      ibv_qp_attr attr = rtr_attr(device_, side->config, peer.number());
      attr.path_mtu = static_cast<ibv_mtu>(mtu);
      ASSERT_EQ(ibv_modify_qp(side->qp.get(), &attr, rtr_mask(IBV_QPT_RC)), 0) << mtu;
      ASSERT_EQ(to_rts(side->qp.get(), side->config), 0);
    }
    Buffer local(near.pd, 10000);
    Buffer remote(far.pd, 10000);
    local.fill_pattern();
    ASSERT_EQ(Recv(2).data(remote.sge()).post(far.qp.get()), 0);
    ASSERT_EQ(conformance::Send(1).data(local.sge()).post(near.qp.get()), 0);
    expect_completion(far.recv_cq.get(), 2);
    EXPECT_EQ(local.bytes, remote.bytes) << mtu;
    expect_completion(near.send_cq.get(), 1);
  }
}

// Zero bytes touch no memory: keys and addresses do not matter.
TEST_F(Rc, ZeroBytesWithABadKey) {
  checks("IBTA 9.7.4.1.4, C9-88: no R_Key check where the length is zero");
  start({}, 64);
  if (stopped()) return;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    ASSERT_EQ(conformance::Send(1, opcode).remote(0xdead0000, 0xbadbad).post(left_qp()), 0);
    expect_completion(left_done(), 1);
  }
  ASSERT_EQ(Recv(2).post(right_qp()), 0);
  conformance::Send write(3, IBV_WR_RDMA_WRITE_WITH_IMM);
  ASSERT_EQ(write.remote(0xdead0000, 0xbadbad).imm(1).post(left_qp()), 0);
  expect_completion(left_done(), 3);
  expect_completion(right_received(), 2);
}

TEST_F(Rc, ZeroBytesWithABadLocalKey) {
  checks("IBTA 10.7.2.2: an element of length zero is not checked");
  start({}, 64);
  if (stopped()) return;
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data({0xdead0000, 0, 0xbadbad}).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(write.post(left_qp()), 0);
  expect_completion(left_done(), 1);
}

TEST_F(Rc, LargestMessage) {
  checks("ibv_query_port(3): max_msg_sz");
  if (!need_if_any(options().slow, "--slow")) return;
  const auto size = std::min<uint32_t>(device_.port_attr.max_msg_sz, 1U << 30);
  start({}, size);
  if (stopped()) return;
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(local_->sge()).remote(remote_->address(), remote_->rkey()).post(left_qp()),
            0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(local_->bytes, remote_->bytes);
}

}  // namespace
}  // namespace conformance
