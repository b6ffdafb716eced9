// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/kernel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "packet/host/file_descriptor.h"
#include "tests/provider/netlink/reading.h"

namespace urxe::netlink {
namespace {

/// A socket whose other end, in the place of the kernel, has answered already.
class KernelNetlink : public testing::Test {
 protected:
  KernelNetlink() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    program_ = FileDescriptor(ends[0]);
    kernel_ = FileDescriptor(ends[1]);
  }
  void answer(const Bytes& bytes) {
    EXPECT_EQ(send(kernel_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  static Bytes device_message(uint32_t index) {
    return write_request(5121, NLM_F_MULTI, [&](MessageWriter& w) { w.add_u32(1, index); });
  }
  KernelAnswer ask() {
    question_ = write_request(5121, NLM_F_DUMP, [](MessageWriter&) {});
    return ask_by(program_.get(), 55, read_message(question_)).value();
  }

  FileDescriptor program_;
  FileDescriptor kernel_;
  Bytes question_;
};

TEST_F(KernelNetlink, DumpEndsWithItsEnd) {
  Bytes two = device_message(1);
  const Bytes second = device_message(2);
  two.insert(two.end(), second.begin(), second.end());
  answer(two);
  answer(device_message(3));
  answer(end_dump(read_message(two), 9));
  const KernelAnswer all = ask();
  ASSERT_EQ(all.messages.size(), 3U);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read_message(all.messages[i]).number(1), i + 1);
    EXPECT_EQ(read_message(all.messages[i]).header.nlmsg_pid, 55U);  // the program's, not 9
  }
  EXPECT_EQ(read_message(all.end).header.nlmsg_type, NLMSG_DONE);
  EXPECT_EQ(read_message(all.end).header.nlmsg_pid, 55U);
  EXPECT_FALSE(all.is_error);
}

TEST_F(KernelNetlink, RequestIsPassedOnAsItWas) {
  (void)ask();
  Bytes passed(1000);
  const ssize_t size = recv(kernel_.get(), passed.data(), passed.size(), MSG_DONTWAIT);
  ASSERT_EQ(size, static_cast<ssize_t>(question_.size()));
  passed.resize(question_.size());
  EXPECT_EQ(passed, question_);
}

TEST_F(KernelNetlink, ErrorIsTheEnd) {
  question_ = write_request(5121, 0, [](MessageWriter&) {});
  answer(acknowledge(read_message(question_), {.port = 9, .errno_value = 1}));
  const KernelAnswer all = ask();
  EXPECT_TRUE(all.messages.empty());
  EXPECT_TRUE(all.is_error);
  EXPECT_EQ(read_message(all.end).header.nlmsg_type, NLMSG_ERROR);
}

TEST_F(KernelNetlink, AcknowledgementIsNoError) {
  question_ = write_request(5121, NLM_F_ACK, [](MessageWriter&) {});
  answer(device_message(1));
  answer(acknowledge(read_message(question_), {.port = 9}));
  const KernelAnswer all = ask();
  EXPECT_EQ(all.messages.size(), 1U);
  EXPECT_FALSE(all.is_error);
}

TEST_F(KernelNetlink, AnswerWithoutAnEndIsWhole) {
  answer(device_message(1));
  const KernelAnswer all = ask();
  EXPECT_EQ(all.messages.size(), 1U);
  EXPECT_TRUE(all.end.empty());
}

}  // namespace
}  // namespace urxe::netlink
