// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/progress/counter_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "provider/devices/counter_names.h"

namespace urxe {
namespace {

class CounterTableTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/urxe-counters-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    tree_ = name;
    ASSERT_EQ(mkdir((tree_ + "/devices").c_str(), 0700), 0);
    path_ = tree_ + "/devices/d.counters";
    std::ofstream file(path_, std::ios::binary);
    file << std::string(kCounterTableBytes, '\0');
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir((tree_ + "/devices").c_str());
    rmdir(tree_.c_str());
  }
  uint64_t value(uint32_t row, size_t column) const {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>((row * kCounterColumns + column) * sizeof(uint64_t)));
    uint64_t result = 0;
    file.read(reinterpret_cast<char*>(&result), sizeof result);
    return result;
  }

  std::string tree_;
  std::string path_;
};

TEST_F(CounterTableTest, ShowsCountersInItsRowOnly) {
  CounterTable table(tree_, "d", 3);
  Counters counters;
  counters.sent_packets = 7;
  counters.sent_bytes = 400;
  counters.drop(DropReason::kBadIcrc);
  counters.read_requests = 4;
  counters.flush_requests = 2;
  counters.held_requests = 3;
  counters.held_responses = 4;
  table.publish(counters,
                EngineCounters{.send_lost = 5, .forwarded = 6, .not_owner = 8, .not_copied = 9},
                CmCounters{});
  EXPECT_EQ(value(3, counter_column("rx_read_requests")), 4U);
  EXPECT_EQ(value(3, counter_column("rx_flush_requests")), 2U);
  EXPECT_EQ(value(3, counter_column("held_requests")), 3U);
  EXPECT_EQ(value(3, counter_column("held_responses")), 4U);
  EXPECT_EQ(value(3, counter_column("port_rcv_errors")), 1U);
  EXPECT_EQ(value(3, counter_column("port_xmit_discards")), 5U);
  EXPECT_EQ(value(3, counter_column("forwarded_pkts")), 6U);
  EXPECT_EQ(value(3, counter_column("drop_not_owner")), 8U);
  EXPECT_EQ(value(3, counter_column("uncopied_mads")), 9U);
  EXPECT_EQ(value(3, counter_column("sent_pkts")), 7U);
  EXPECT_EQ(value(3, counter_column("port_xmit_packets")), 7U);
  EXPECT_EQ(value(3, counter_column("port_xmit_data")), 100U);
  EXPECT_EQ(value(3, counter_column("drop_bad_icrc")), 1U);
  EXPECT_EQ(value(2, counter_column("sent_pkts")), 0U);
  EXPECT_EQ(value(4, counter_column("sent_pkts")), 0U);
}

TEST_F(CounterTableTest, ShowsFailures) {
  CounterTable table(tree_, "d", 3);
  Counters counters;
  counters.count_failed_send(IBV_WC_RETRY_EXC_ERR);
  counters.count_failed_receive(IBV_WC_WR_FLUSH_ERR);
  counters.count_failed_receive(IBV_WC_WR_FLUSH_ERR);
  counters.count_failed_send(IBV_WC_TM_ERR);  // has no counter
  counters.naks_sent[static_cast<size_t>(NakCode::kRemoteAccessError)] = 3;
  table.publish(counters, {}, {});
  EXPECT_EQ(value(3, counter_column("sq_num_tree")), 1U);
  EXPECT_EQ(value(3, counter_column("rq_num_wrfe")), 2U);
  EXPECT_EQ(value(3, counter_column("rq_num_rae")), 3U);
  EXPECT_EQ(value(3, counter_column("sq_num_wrfe")), 0U);
}

TEST_F(CounterTableTest, ShowsFaultsByDirection) {
  CounterTable table(tree_, "d", 3);
  EngineCounters engine;
  engine.outgoing_faults = {
      .passed = 9, .lost = 1, .duplicated = 2, .reordered = 3, .corrupted = 4};
  engine.incoming_faults = {
      .passed = 9, .lost = 5, .duplicated = 6, .reordered = 7, .corrupted = 8};
  table.publish({}, engine, {});
  uint64_t expected = 0;
  for (size_t column = counter_column("fault_tx_lost");
       column <= counter_column("fault_rx_corrupted"); ++column) {
    EXPECT_EQ(value(3, column), ++expected);
  }
  EXPECT_EQ(expected, 8U);
}

TEST_F(CounterTableTest, ShowsTheConnectionManagersMessages) {
  CmCounters cm;
  cm.sent[index_of(CmAttribute::kReq)] = 1;
  cm.retries[index_of(CmAttribute::kReq)] = 2;
  cm.received[index_of(CmAttribute::kRep)] = 3;
  cm.duplicates[index_of(CmAttribute::kApr)] = 4;
  cm.drops[static_cast<size_t>(MadDropReason::kWrongPeer)] = 5;
  CounterTable table(tree_, "d", 1);
  table.publish(Counters{}, EngineCounters{}, cm);
  const auto shown = [this](std::string_view group, std::string_view message) {
    const auto g = std::ranges::find(kCmCounterGroups, group) - kCmCounterGroups.begin();
    const auto m = std::ranges::find(kCmMessageNames, message) - kCmMessageNames.begin();
    return value(1, cm_counter_column(static_cast<size_t>(g)) + static_cast<size_t>(m));
  };
  EXPECT_EQ(shown("cm_tx_msgs", "req"), 1U);
  EXPECT_EQ(shown("cm_tx_retries", "req"), 2U);
  EXPECT_EQ(shown("cm_rx_msgs", "rep"), 3U);
  EXPECT_EQ(shown("cm_rx_duplicates", "apr"), 4U);
  EXPECT_EQ(shown("cm_rx_duplicates", "req"), 0U);
  EXPECT_EQ(value(1, counter_column("drop_mad_wrong_peer")), 5U);
}

// The row's earlier owner has ended: what it counted was sent all the same.
TEST_F(CounterTableTest, NextOwnerOfARowCountsOn) {
  Counters counters;
  counters.sent_packets = 5;
  CounterTable(tree_, "d", 0).publish(counters, EngineCounters{}, CmCounters{});
  CounterTable next(tree_, "d", 0);
  counters.sent_packets = 2;
  next.publish(counters, EngineCounters{}, CmCounters{});
  next.publish(counters, EngineCounters{}, CmCounters{});
  EXPECT_EQ(value(0, counter_column("sent_pkts")), 7U);
}

TEST_F(CounterTableTest, NoTableIsNoError) {
  CounterTable missing(tree_, "other", 0);
  CounterTable beyond(tree_, "d", kCounterRows);
  missing.publish(Counters{}, EngineCounters{}, CmCounters{});
  beyond.publish(Counters{}, EngineCounters{}, CmCounters{});
}

}  // namespace
}  // namespace urxe
