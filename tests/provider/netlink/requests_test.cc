// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/requests.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <random>

#include "tests/provider/netlink/reading.h"

namespace urxe::netlink {
namespace {

constexpr uint16_t kDump = NLM_F_DUMP;

uint16_t type_of(uint16_t command) {
  return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

class NetlinkRequests : public testing::Test {
 protected:
  NetlinkRequests() {
    DeviceDescription up;
    up.name = "urxe_a";
    up.ifname = "a";
    up.ifindex = 3;
    up.node_guid = 0x1122334455667788;
    up.uverbs_number = 192;
    DeviceDescription down = up;
    down.name = "urxe_b";
    down.uverbs_number = 193;
    down.link_up = false;
    down.gone = true;
    sources_.devices = {up, down};
    sources_.counters = [this](const std::string&) { return sums_; };
    sources_.observe = [this] { return seen_; };
  }
  void add_process(const std::string& device, uint32_t pid, size_t queue_pairs) {
    DeviceObservation process;
    process.device = device;
    process.pid = pid;
    for (size_t i = 0; i < queue_pairs; ++i) {
      QpReport report;
      report.qpn = pid * 100000 + static_cast<uint32_t>(i);
      report.dest_qpn = 7;
      report.type = IBV_QPT_RC;
      report.state = IBV_QPS_RTS;
      report.send_cq = {1, 0, 64, false, false};
      report.receive_cq = {2, 0, 32, false, false};
      process.queue_pairs.push_back(report);
    }
    process.counts = {2, 1100, 3, 1};
    process.context_count = 2;
    process.cm_id_count = 3;
    process.domains = {{.number = 1, .users = 7, .owner = 4}, {.number = 2, .users = 0}};
    process.regions = {{0x1000, 64, 0x12345678, 1}};
    seen_.devices.push_back(process);
  }
  /// `device`: 0 for none.
  Answer ask(uint16_t command, uint16_t flags, uint32_t device, uint32_t port = 0,
             uint32_t lqpn = 0) {
    question_ = write_request(type_of(command), flags, [&](MessageWriter& writer) {
      if (device != 0) writer.add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, device);
      if (port != 0) writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, port);
      if (lqpn != 0) writer.add_u32(RDMA_NLDEV_ATTR_RES_LQPN, lqpn);
    });
    return answer(read_message(question_), 55, sources_);
  }

  static constexpr uint32_t kUp = kFirstDeviceIndex + 192;
  static constexpr uint32_t kDown = kFirstDeviceIndex + 193;
  Sources sources_;
  std::optional<CounterSums> sums_ = CounterSums{};
  Observation seen_;
  Bytes question_;
};

TEST_F(NetlinkRequests, DumpOfDevicesHasAll) {
  const Answer all = ask(RDMA_NLDEV_CMD_GET, kDump, 0);
  ASSERT_EQ(all.messages.size(), 2U);
  const Request first = read_message(all.messages[0]);
  EXPECT_EQ(first.header.nlmsg_type, type_of(RDMA_NLDEV_CMD_GET));
  EXPECT_EQ(first.header.nlmsg_flags, NLM_F_MULTI);
  EXPECT_EQ(first.header.nlmsg_seq, 77U);
  EXPECT_EQ(first.header.nlmsg_pid, 55U);
  EXPECT_EQ(first.number(RDMA_NLDEV_ATTR_DEV_INDEX), kUp);
  EXPECT_EQ(text_in(first.payload, RDMA_NLDEV_ATTR_DEV_NAME), "urxe_a");
  EXPECT_NE(value_in<uint64_t>(first.payload, RDMA_NLDEV_ATTR_CAP_FLAGS) & IBV_DEVICE_XRC, 0U);
  EXPECT_EQ(value_in<uint64_t>(first.payload, RDMA_NLDEV_ATTR_NODE_GUID), 0x1122334455667788);
  EXPECT_EQ(text_in(read_message(all.messages[1]).payload, RDMA_NLDEV_ATTR_DEV_NAME), "urxe_b");
}

TEST_F(NetlinkRequests, OneDeviceIsNoDump) {
  const Answer one = ask(RDMA_NLDEV_CMD_GET, 0, kDown);
  ASSERT_EQ(one.messages.size(), 1U);
  EXPECT_EQ(read_message(one.messages[0]).header.nlmsg_flags, 0);
  EXPECT_EQ(text_in(read_message(one.messages[0]).payload, RDMA_NLDEV_ATTR_DEV_NAME), "urxe_b");
}

TEST_F(NetlinkRequests, DeviceOrPortThatIsNotThereIsRefused) {
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_GET, 0, kDown + 1).errno_value, EINVAL);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_GET, 0, 0).errno_value, EINVAL);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_PORT_GET, 0, kUp, 2).errno_value, EINVAL);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_PORT_GET, 0, kUp).errno_value, EINVAL);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_RES_QP_GET, kDump, kUp, 2).errno_value, EINVAL);
}

TEST_F(NetlinkRequests, PortTellsOfItsLinkAndInterface) {
  Answer one = ask(RDMA_NLDEV_CMD_PORT_GET, 0, kUp, 1);
  ASSERT_EQ(one.messages.size(), 1U);
  Request port = read_message(one.messages[0]);
  EXPECT_EQ(value_in<uint8_t>(port.payload, RDMA_NLDEV_ATTR_PORT_STATE), IBV_PORT_ACTIVE);
  EXPECT_EQ(port.number(RDMA_NLDEV_ATTR_NDEV_INDEX), 3U);
  EXPECT_EQ(text_in(port.payload, RDMA_NLDEV_ATTR_NDEV_NAME), "a");
  one = ask(RDMA_NLDEV_CMD_PORT_GET, kDump, kDown);
  ASSERT_EQ(one.messages.size(), 1U);
  port = read_message(one.messages[0]);
  EXPECT_EQ(value_in<uint8_t>(port.payload, RDMA_NLDEV_ATTR_PORT_STATE), IBV_PORT_DOWN);
  EXPECT_FALSE(port.has(RDMA_NLDEV_ATTR_NDEV_NAME));  // it is gone
}

TEST_F(NetlinkRequests, EachCounterHasItsColumn) {
  for (size_t column = 0; column < kCounterColumns; ++column) (*sums_)[column] = column + 1000;
  const Answer all = ask(RDMA_NLDEV_CMD_STAT_GET, 0, kUp, 1);
  ASSERT_EQ(all.messages.size(), 1U);
  EXPECT_LE(all.messages[0].size(), 4096U);
  size_t count = 0;
  for_each_entry(
      find_attribute(read_message(all.messages[0]).payload, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS),
      [&](auto entry) {
        EXPECT_EQ(text_in(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME),
                  kHardwareCounterNames[count]);
        EXPECT_EQ(value_in<uint64_t>(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE),
                  1000 + kPortCounterNames.size() + count);
        ++count;
      });
  EXPECT_EQ(count, kHardwareCounterNames.size());
}

TEST_F(NetlinkRequests, CountersThatCannotBeReadAreAnError) {
  sums_.reset();
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_STAT_GET, 0, kUp, 1).errno_value, EIO);
}

TEST_F(NetlinkRequests, QueuePairsOfOneDeviceComeInSmallMessages) {
  add_process("urxe_a", 1, 500);
  add_process("urxe_b", 2, 3);
  add_process("urxe_a", 3, 1);
  const Answer all = ask(RDMA_NLDEV_CMD_RES_QP_GET, kDump, kUp);
  EXPECT_GT(all.messages.size(), 1U);
  std::vector<uint32_t> numbers;
  for (const Bytes& message : all.messages) {
    EXPECT_LE(message.size(), 4096U);
    for_each_entry(find_attribute(read_message(message).payload, RDMA_NLDEV_ATTR_RES_QP),
                   [&](auto entry) {
                     numbers.push_back(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_LQPN));
                     EXPECT_EQ(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_RQPN), 7U);
                   });
  }
  ASSERT_EQ(numbers.size(), 501U);
  EXPECT_EQ(numbers.front(), 100000U);
  EXPECT_EQ(numbers[499], 100499U);
  EXPECT_EQ(numbers.back(), 300000U);
}

TEST_F(NetlinkRequests, OneQueuePairIsFoundByItsNumber) {
  add_process("urxe_a", 1, 5);
  const Answer one = ask(RDMA_NLDEV_CMD_RES_QP_GET, 0, kUp, 1, 100003);
  ASSERT_EQ(one.messages.size(), 1U);
  EXPECT_EQ(read_message(one.messages[0]).number(RDMA_NLDEV_ATTR_RES_LQPN), 100003U);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0, kUp, 1, 999).errno_value, ENOENT);
  EXPECT_EQ(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0, kUp, 1).errno_value, ENOENT);
}

TEST_F(NetlinkRequests, RegionsAndDomainsOfOneDevice) {
  add_process("urxe_a", 1, 0);
  add_process("urxe_b", 2, 0);
  Answer one = ask(RDMA_NLDEV_CMD_RES_MR_GET, kDump, kUp);
  ASSERT_EQ(one.messages.size(), 1U);
  size_t count = 0;
  for_each_entry(find_attribute(read_message(one.messages[0]).payload, RDMA_NLDEV_ATTR_RES_MR),
                 [&](auto entry) {
                   ++count;
                   EXPECT_EQ(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_LKEY), 0x12345678U);
                   EXPECT_EQ(value_in<uint64_t>(entry, RDMA_NLDEV_ATTR_RES_MRLEN), 64U);
                   EXPECT_EQ(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_MRN), 0x123456U);
                   EXPECT_EQ(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_PDN), 1U);
                   EXPECT_EQ(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_PID), 1U);
                 });
  EXPECT_EQ(count, 1U);
  one = ask(RDMA_NLDEV_CMD_RES_PD_GET, kDump, kUp);
  ASSERT_EQ(one.messages.size(), 1U);
  std::map<uint32_t, uint64_t> users;
  for_each_entry(find_attribute(read_message(one.messages[0]).payload, RDMA_NLDEV_ATTR_RES_PD),
                 [&](auto entry) {
                   users[value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_PDN)] =
                       value_in<uint64_t>(entry, RDMA_NLDEV_ATTR_RES_USECNT);
                 });
  EXPECT_EQ(users, (std::map<uint32_t, uint64_t>{{1, 7}, {2, 0}}));
}

/// The entries of the table in the only message of a dump.
std::vector<std::span<const uint8_t>> entries_of(const Answer& answer, uint16_t table) {
  std::vector<std::span<const uint8_t>> entries;
  EXPECT_EQ(answer.messages.size(), 1U) << answer.explanation;
  if (answer.messages.size() != 1) return entries;
  for_each_entry(find_attribute(read_message(answer.messages[0]).payload, table),
                 [&](auto entry) { entries.push_back(entry); });
  return entries;
}

TEST_F(NetlinkRequests, CompletionQueuesThatNoQueuePairUses) {
  add_process("urxe_a", 1, 1);
  seen_.devices[0].completion_queues = {{2, 48, 1, 4}, {3, 16, 0, 4}};
  const Answer all = ask(RDMA_NLDEV_CMD_RES_CQ_GET, kDump, kUp);
  std::map<uint32_t, std::array<uint64_t, 3>> queues;
  for (const auto entry : entries_of(all, RDMA_NLDEV_ATTR_RES_CQ)) {
    queues[value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_CQN)] = {
        value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_CQE),
        value_in<uint64_t>(entry, RDMA_NLDEV_ATTR_RES_USECNT),
        value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_CTXN)};
  }
  EXPECT_EQ(queues, (std::map<uint32_t, std::array<uint64_t, 3>>{
                        {1, {64, 1, 0}}, {2, {48, 1, 4}}, {3, {16, 0, 4}}}));
}

TEST_F(NetlinkRequests, SharedReceiveQueuesNameTheirQueuePairs) {
  add_process("urxe_a", 1, 500);
  DeviceObservation& process = seen_.devices[0];
  process.shared_receive_queues = {{.number = 8, .domain = 1},
                                   {.number = 9, .domain = 2, .completion_queue = 3}};
  process.queue_pairs[1].srq = process.queue_pairs[3].srq = 8;
  const Answer all = ask(RDMA_NLDEV_CMD_RES_SRQ_GET, kDump, kUp);
  const auto entries = entries_of(all, RDMA_NLDEV_ATTR_RES_SRQ);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(value_in<uint32_t>(entries[0], RDMA_NLDEV_ATTR_RES_SRQN), 8U);
  EXPECT_EQ(value_in<uint8_t>(entries[0], RDMA_NLDEV_ATTR_RES_TYPE), IBV_SRQT_BASIC);
  EXPECT_EQ(value_in<uint32_t>(entries[0], RDMA_NLDEV_ATTR_RES_PDN), 1U);
  EXPECT_TRUE(find_attribute(entries[0], RDMA_NLDEV_ATTR_RES_CQN).empty());
  std::vector<uint32_t> users;
  for_each_entry(find_attribute(entries[0], RDMA_NLDEV_ATTR_RES_QP), [&](auto entry) {
    users.push_back(value_in<uint32_t>(entry, RDMA_NLDEV_ATTR_RES_LQPN));
  });
  EXPECT_EQ(users, (std::vector<uint32_t>{100001, 100003}));
  EXPECT_EQ(value_in<uint8_t>(entries[1], RDMA_NLDEV_ATTR_RES_TYPE), IBV_SRQT_XRC);
  EXPECT_EQ(value_in<uint32_t>(entries[1], RDMA_NLDEV_ATTR_RES_CQN), 3U);
}

TEST_F(NetlinkRequests, SharedReceiveQueueOfManyQueuePairsFitsIntoAMessage) {
  add_process("urxe_a", 1, 5000);
  DeviceObservation& process = seen_.devices[0];
  for (QpReport& report : process.queue_pairs) report.srq = 8;
  process.shared_receive_queues = {{.number = 8, .domain = 1}};
  const Answer all = ask(RDMA_NLDEV_CMD_RES_SRQ_GET, kDump, kUp);
  EXPECT_EQ(entries_of(all, RDMA_NLDEV_ATTR_RES_SRQ).size(), 1U);
  EXPECT_LE(all.messages[0].size(), 4096U);
}

TEST_F(NetlinkRequests, ContextsAndTheirObjects) {
  add_process("urxe_a", 1, 0);
  seen_.devices[0].contexts = {4, 6};
  const Answer all = ask(RDMA_NLDEV_CMD_RES_CTX_GET, kDump, kUp);
  const auto entries = entries_of(all, RDMA_NLDEV_ATTR_RES_CTX);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(value_in<uint32_t>(entries[1], RDMA_NLDEV_ATTR_RES_CTXN), 6U);
  EXPECT_EQ(value_in<uint32_t>(entries[1], RDMA_NLDEV_ATTR_RES_PID), 1U);
  const Answer domains = ask(RDMA_NLDEV_CMD_RES_PD_GET, kDump, kUp);
  EXPECT_EQ(
      value_in<uint32_t>(entries_of(domains, RDMA_NLDEV_ATTR_RES_PD)[0], RDMA_NLDEV_ATTR_RES_CTXN),
      4U);
}

TEST_F(NetlinkRequests, IdsOfTheConnectionManager) {
  add_process("urxe_a", 1, 0);
  CmIdReport listener;
  listener.number = 3;
  listener.port_space = 0x106;
  listener.state = 8;
  listener.source = {AF_INET, 0, 0x1c, 0x62};
  CmIdReport connected = listener;
  connected.number = 4;
  connected.state = 5;
  connected.qpn = 77;
  connected.qp_type = IBV_QPT_RC;
  connected.destination = {AF_INET, 0, 1, 2, 127, 0, 0, 1};
  seen_.devices[0].cm_ids = {listener, connected};
  const Answer all = ask(RDMA_NLDEV_CMD_RES_CM_ID_GET, kDump, kUp, 1);
  const auto entries = entries_of(all, RDMA_NLDEV_ATTR_RES_CM_ID);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(value_in<uint32_t>(entries[0], RDMA_NLDEV_ATTR_RES_PS), 0x106U);
  EXPECT_EQ(value_in<uint8_t>(entries[0], RDMA_NLDEV_ATTR_RES_STATE), 8U);
  EXPECT_EQ(value_in<uint32_t>(entries[0], RDMA_NLDEV_ATTR_PORT_INDEX), 1U);
  EXPECT_EQ(find_attribute(entries[0], RDMA_NLDEV_ATTR_RES_SRC_ADDR).size(),
            sizeof(sockaddr_storage));
  EXPECT_TRUE(find_attribute(entries[0], RDMA_NLDEV_ATTR_RES_DST_ADDR).empty());
  EXPECT_TRUE(find_attribute(entries[0], RDMA_NLDEV_ATTR_RES_LQPN).empty());
  EXPECT_EQ(value_in<uint32_t>(entries[1], RDMA_NLDEV_ATTR_RES_CM_IDN), 4U);
  EXPECT_EQ(value_in<uint32_t>(entries[1], RDMA_NLDEV_ATTR_RES_LQPN), 77U);
  const auto to = value_in<std::array<uint8_t, sizeof(sockaddr_storage)>>(
      entries[1], RDMA_NLDEV_ATTR_RES_DST_ADDR);
  EXPECT_EQ(to[4], 127);
}

TEST_F(NetlinkRequests, DeviceWithoutResourcesHasNone) {
  const Answer none = ask(RDMA_NLDEV_CMD_RES_QP_GET, kDump, kUp);
  EXPECT_EQ(none.errno_value, 0);
  EXPECT_TRUE(none.messages.empty());
}

TEST_F(NetlinkRequests, SummaryCounts) {
  add_process("urxe_a", 1, 5);
  add_process("urxe_a", 2, 1);
  add_process("urxe_b", 3, 9);
  const Answer one = ask(RDMA_NLDEV_CMD_RES_GET, 0, kUp);
  ASSERT_EQ(one.messages.size(), 1U);
  std::map<std::string, uint64_t> counts;
  for_each_entry(find_attribute(read_message(one.messages[0]).payload, RDMA_NLDEV_ATTR_RES_SUMMARY),
                 [&](auto entry) {
                   counts[text_in(entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)] =
                       value_in<uint64_t>(entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
                 });
  EXPECT_EQ(counts["qp"], 6U);
  EXPECT_EQ(counts["pd"], 4U);
  EXPECT_EQ(counts["mr"], 2200U);
  EXPECT_EQ(counts["cq"], 6U);
  EXPECT_EQ(counts["srq"], 2U);
  EXPECT_EQ(counts["ctx"], 4U);
  EXPECT_EQ(counts["cm_id"], 6U);
}

TEST_F(NetlinkRequests, ChangesAreRefused) {
  for (const uint16_t command : {RDMA_NLDEV_CMD_SET, RDMA_NLDEV_CMD_NEWLINK, RDMA_NLDEV_CMD_DELLINK,
                                 RDMA_NLDEV_CMD_SYS_SET, RDMA_NLDEV_CMD_STAT_SET}) {
    const Answer refused = ask(command, 0, kUp, 1);
    EXPECT_EQ(refused.errno_value, EOPNOTSUPP) << command;
    EXPECT_NE(refused.explanation.find("cannot be changed"), std::string_view::npos);
  }
}

TEST_F(NetlinkRequests, DevicesAreNeitherAddedNorDeleted) {
  for (const uint16_t command : {kNewDevice, kDeleteDevice}) {
    const Answer refused = ask(command, 0, kUp);
    EXPECT_EQ(refused.errno_value, EOPNOTSUPP) << command;
    EXPECT_NE(refused.explanation.find("cannot be changed"), std::string_view::npos);
  }
}

TEST_F(NetlinkRequests, GarbageIsAnsweredOrRefused) {
  add_process("urxe_a", 1, 5);
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    const auto command = static_cast<uint16_t>(random() % 40);
    (void)ask(command, random() % 2 != 0 ? kDump : 0, kUp, 1 + random() % 2);
    for (int i = 0; i < 3; ++i) {
      const size_t at = sizeof(nlmsghdr) + random() % (question_.size() - sizeof(nlmsghdr));
      question_[at] = static_cast<uint8_t>(random());
    }
    const Answer one = answer(read_message(question_), 55, sources_);
    EXPECT_TRUE(one.errno_value == 0 || one.messages.empty());
  }
}

}  // namespace
}  // namespace urxe::netlink
