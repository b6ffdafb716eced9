// SPDX-License-Identifier: BSD-2-Clause
// What a script on the wire needs beside the wire: names of agents, lines, bytes as text.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <variant>

#include "tools/drill/wire/agent.h"
#include "tools/drill/wire/command.h"
#include "tools/drill/wire/hexadecimal.h"
#include "tools/drill/wire/line_channel.h"
#include "tools/drill/wire/tcp.h"

namespace urxe::drill {
namespace {

std::string endpoint_of(const std::string& text) {
  const auto endpoint = parse_endpoint(text);
  return endpoint ? endpoint->host + " " + std::to_string(endpoint->port) : "wrong";
}

TEST(DrillWire, EndpointsOfAgents) {
  EXPECT_EQ(endpoint_of("host"), "host 18791");
  EXPECT_EQ(endpoint_of("host:5"), "host 5");
  EXPECT_EQ(endpoint_of("fd00::1"), "fd00::1 18791");
  EXPECT_EQ(endpoint_of("[fd00::1]"), "fd00::1 18791");
  EXPECT_EQ(endpoint_of("[fd00::1]:65535"), "fd00::1 65535");
  for (const char* text : {"", ":1", "host:", "host:0", "host:65536", "host:x", "[", "[]", "[]:1",
                           "[fd00::1", "[fd00::1]1", "[fd00::1]:"}) {
    EXPECT_EQ(endpoint_of(text), "wrong") << text;
  }
}

TEST(DrillWire, Hexadecimal) {
  const std::vector<uint8_t> bytes{0x00, 0x7f, 0xff};
  EXPECT_EQ(to_hexadecimal(bytes), "007fff");
  EXPECT_EQ(from_hexadecimal("007fff"), bytes);
  EXPECT_EQ(from_hexadecimal("")->size(), 0U);
  for (const char* text : {"0", "0g", "-1", "+1", " 1", "0x"}) {
    EXPECT_FALSE(from_hexadecimal(text)) << text;
  }
}

/// A channel, and the other end of its socket.
struct Ends {
  Ends() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    channel = LineChannel(FileDescriptor(fds[0]));
    other = FileDescriptor(fds[1]);
  }
  void write(const std::string& text) const {
    EXPECT_EQ(::send(other.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  LineChannel channel{FileDescriptor()};
  FileDescriptor other;
};

TEST(DrillWire, LinesAndBytesInTurn) {
  Ends ends;
  ends.write("one\n\nthree bytes of 5\nabcdelast\nrest");
  EXPECT_EQ(ends.channel.line(seconds(60)), "one");
  EXPECT_EQ(ends.channel.line(seconds(60)), "");
  EXPECT_EQ(ends.channel.line(seconds(60)), "three bytes of 5");
  EXPECT_EQ(ends.channel.bytes(5, seconds(60)), "abcde");
  EXPECT_EQ(ends.channel.line(seconds(60)), "last");
  EXPECT_EQ(ends.channel.line({}), std::nullopt) << "no end, and no time to wait";
  ends.other.reset();
  EXPECT_EQ(ends.channel.line(seconds(60)), std::nullopt) << "the other end is gone";
  EXPECT_EQ(ends.channel.bytes(5, seconds(60)), std::nullopt);
}

TEST(DrillWire, LinesAreBounded) {
  const std::string longest(LineChannel::kMaxLine, 'x');
  Ends ends;
  ends.write(longest + "\n");
  EXPECT_EQ(ends.channel.line(seconds(60)), longest);
  ends.write(longest + "x");
  EXPECT_EQ(ends.channel.line(seconds(60)), std::nullopt) << "at once, without an end of line";
}

// Expect: another descriptor is served while a line is waited for, also if half of one is there.
TEST(DrillWire, AnotherDescriptorMeanwhile) {
  Ends ends;
  int fds[2] = {-1, -1};
  ASSERT_EQ(pipe(fds), 0);
  const FileDescriptor from(fds[0]);
  const FileDescriptor to(fds[1]);
  ends.channel.watch(from.get(), [&] {
    char byte = 0;
    ASSERT_EQ(read(from.get(), &byte, 1), 1);
    ends.write(" a line\n");
  });
  ends.write("half");
  ASSERT_EQ(::write(to.get(), "x", 1), 1);
  EXPECT_EQ(ends.channel.line(seconds(60)), "half a line");
}

/// What is expected in place of a request of an agent's client.
std::string wrong_in(const std::string& line) {
  const auto command = parse_command(line);
  return command ? "nothing" : command.error().expected;
}

TEST(DrillWire, RequestsAreBounded) {
  const std::string gid(32, '0');
  const auto script = parse_command("script 1048576 0xffffff " + gid);
  ASSERT_TRUE(script);
  EXPECT_EQ(std::get<TakeScript>(*script).bytes, kMostScriptBytes);
  EXPECT_EQ(std::get<TakeScript>(*script).qpn, 0xffffffU);
  for (const char* wrong :
       {"script 1048577 1 ", "script 1 0x1000000 ", "script -1 1 ", "script 1 1 0"}) {
    EXPECT_EQ(wrong_in(wrong + gid), "script BYTES QPN GID") << wrong;
  }
  EXPECT_EQ(wrong_in("memory m 4294967295 4096"), "nothing");
  EXPECT_EQ(wrong_in("memory m 4294967296 1"), "memory NAME OFFSET LENGTH");
  EXPECT_EQ(wrong_in("memory m 0 4097"), "memory NAME OFFSET LENGTH");
  EXPECT_EQ(wrong_in("do"), "do N, of a statement of the script");
  EXPECT_EQ(wrong_in("farewell"), "script, do, poll, state or memory");
}

}  // namespace
}  // namespace urxe::drill
