// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/message.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/provider/netlink/reading.h"

namespace urxe::netlink {
namespace {

Bytes some_request() {
  return write_request(100, NLM_F_ACK, [](MessageWriter& writer) {
    writer.add_u32(1, 10192);
    writer.add_string(2, "urxe_lo");
  });
}

TEST(NetlinkMessage, IsReadAsItWasWritten) {
  nlmsghdr header{};
  header.nlmsg_type = 9;
  MessageWriter writer(header);
  writer.add_u8(1, 5);
  const size_t table = writer.begin_nest(2);
  for (uint64_t value : {uint64_t{1} << 40, uint64_t{2}}) {
    const size_t entry = writer.begin_nest(3);
    writer.add_u64(4, value);
    writer.add_string(5, "name");
    writer.end_nest(entry);
  }
  writer.end_nest(table);
  writer.add_string(6, "behind");
  const Bytes bytes = writer.finish();

  const Request read = read_message(bytes);
  EXPECT_EQ(read.header.nlmsg_len, bytes.size());
  EXPECT_EQ(value_in<uint8_t>(read.payload, 1), 5);
  std::vector<uint64_t> values;
  for_each_entry(find_attribute(read.payload, 2), [&](auto entry) {
    values.push_back(value_in<uint64_t>(entry, 4));
    EXPECT_EQ(text_in(entry, 5), "name");
  });
  EXPECT_EQ(values, (std::vector<uint64_t>{uint64_t{1} << 40, 2}));
  EXPECT_EQ(text_in(read.payload, 6), "behind");
}

TEST(NetlinkMessage, DroppedNestLeavesNothing) {
  MessageWriter writer{nlmsghdr{}};
  const size_t before = writer.size();
  const size_t nest = writer.begin_nest(2);
  writer.add_u64(3, 1);
  writer.end_nest(nest);
  writer.drop_nest(nest);
  EXPECT_EQ(writer.size(), before);
}

TEST(NetlinkMessage, TakesOneRequestAfterAnother) {
  Bytes both = some_request();
  const Bytes second = write_request(200, 0, [](MessageWriter&) {});
  both.insert(both.end(), second.begin(), second.end());
  std::span<const uint8_t> rest(both);
  const auto first = take_request(rest);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number(1), 10192U);
  EXPECT_EQ(first->number(2), std::nullopt);  // a string
  EXPECT_EQ(first->number(3), std::nullopt);
  const auto last = take_request(rest);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->header.nlmsg_type, 200);
  EXPECT_FALSE(take_request(rest));
}

TEST(NetlinkMessage, CutOffRequestIsNone) {
  const Bytes whole = some_request();
  for (size_t length = 0; length < whole.size(); ++length) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    std::span<const uint8_t> rest(part);
    EXPECT_FALSE(take_request(rest)) << length;
  }
}

TEST(NetlinkMessage, TakesGarbageToItsEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = some_request();
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    std::span<const uint8_t> rest(bytes);
    size_t before = rest.size() + 1;
    while (const auto request = take_request(rest)) {
      ASSERT_LT(rest.size(), before);
      before = rest.size();
      (void)request->number(1);
    }
  }
}

TEST(NetlinkMessage, AcknowledgementTellsOfSuccess) {
  const Bytes question = some_request();
  const Bytes bytes = acknowledge(read_message(question), {.port = 5});
  const Request read = read_message(bytes);
  EXPECT_EQ(read.header.nlmsg_type, NLMSG_ERROR);
  EXPECT_EQ(read.header.nlmsg_seq, 77U);
  EXPECT_EQ(read.header.nlmsg_pid, 5U);
  EXPECT_EQ(read.header.nlmsg_flags, NLM_F_CAPPED);
  nlmsgerr body{};
  ASSERT_EQ(read.payload.size(), sizeof body);
  std::memcpy(&body, read.payload.data(), sizeof body);
  EXPECT_EQ(body.error, 0);
  EXPECT_EQ(body.msg.nlmsg_len, question.size());
}

TEST(NetlinkMessage, AcknowledgementHasTheRequestUnlessItIsCapped) {
  const Bytes question = some_request();
  const Request request = read_message(question);
  const Bytes whole = acknowledge(request, {.port = 5, .errno_value = 22});
  EXPECT_EQ(whole.size(), sizeof(nlmsghdr) + sizeof(nlmsgerr) + request.payload.size());
  EXPECT_EQ(read_message(whole).header.nlmsg_flags, 0);
  const Bytes capped = acknowledge(request, {.port = 5, .errno_value = 22, .caps = true});
  EXPECT_EQ(capped.size(), sizeof(nlmsghdr) + sizeof(nlmsgerr));
  EXPECT_EQ(read_message(capped).header.nlmsg_flags, NLM_F_CAPPED);
}

TEST(NetlinkMessage, AcknowledgementExplainsOnlyToThoseWhoAsked) {
  const Bytes question = some_request();
  Ending ending{.port = 5, .errno_value = 95, .explanation = "no", .caps = true};
  EXPECT_EQ(read_message(acknowledge(read_message(question), ending)).header.nlmsg_flags,
            NLM_F_CAPPED);
  ending.explains = true;
  const Bytes bytes = acknowledge(read_message(question), ending);
  const Request read = read_message(bytes);
  EXPECT_EQ(read.header.nlmsg_flags, NLM_F_CAPPED | NLM_F_ACK_TLVS);
  EXPECT_EQ(text_in(read.payload.subspan(sizeof(nlmsgerr)), NLMSGERR_ATTR_MSG), "no");
}

}  // namespace
}  // namespace urxe::netlink
