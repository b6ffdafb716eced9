// SPDX-License-Identifier: BSD-2-Clause
// The language of `urxe drill`, and how a script fails.
#include "tools/drill/script.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tools/drill/run.h"

namespace urxe::drill {
namespace {

const std::string kHead = "title t\nqp RC\n";

/// "LINE:COLUMN: expected ..." of a script that is wrong.
std::string error_of(const std::string& text) {
  const auto script = parse_script(text);
  if (script) return "no error";
  const ParseError& e = script.error();
  return std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.expected;
}

std::optional<Failure> failure_of(const std::string& body) {
  const auto script = parse_script(kHead + body);
  if (!script) return Failure{0, "a script", script.error().expected, {}};
  return run_script(*script);
}

TEST(DrillScript, ErrorsNameThePlace) {
  EXPECT_EQ(error_of(kHead + "post FLY"), "3:6: a work request such as SEND");
  EXPECT_EQ(error_of(kHead + "post"), "3:5: a work request such as SEND");
  EXPECT_EQ(error_of(kHead + "> ACK psn="), "3:11: a number in range");
  EXPECT_EQ(error_of(kHead + "> ACK psn=0x1000000"), "3:11: at most 16777215");
  EXPECT_EQ(error_of(kHead + "> ACK psn=1 psn=1"), "3:13: each field once");
  EXPECT_EQ(error_of(kHead + "> ACK height=1"), "3:7: a field of this statement");
  EXPECT_EQ(error_of(kHead + "> ACK icrc=bad"), "3:7: a field of this statement");
  EXPECT_EQ(error_of(kHead + "memory m data=00"), "3:8: the name of a region above, or local");
  EXPECT_EQ(error_of(kHead + "mr m\nmr m"), "4:4: a new name");
  EXPECT_EQ(error_of(kHead + "+5 nothing"), "3:1: a time such as +10us, @2ms or +1ms..2ms");
  EXPECT_EQ(error_of(kHead + "+2ms..1ms > ACK"), "3:1: a time such as +10us, @2ms or +1ms..2ms");
  EXPECT_EQ(error_of(kHead + "+1ms..2ms < ACK"), "3:1: a range of time only with >");
  EXPECT_EQ(error_of(kHead + "+1ms"), "3:5: a statement behind the time");
  EXPECT_EQ(error_of(kHead + "nothing"), "3:1: a time first");
  EXPECT_EQ(error_of(kHead + "qp RC"), "3:1: one qp or cm statement only");
  EXPECT_EQ(error_of("title t\nrecv"), "2:1: qp or cm first");
  EXPECT_EQ(error_of("qp RC\n"), "2:1: a title in the script");
  EXPECT_EQ(error_of("title t\n"), "2:1: a qp or cm statement in the script");
}

TEST(DrillScript, RoundTrip) {
  const std::string text =
      "title a title\nsection 9.7\nqp UD qkey=5\n+1ms..2ms > SEND_ONLY psn=7 data=0a\n";
  const auto script = parse_script("# comment\n\n" + text);
  ASSERT_TRUE(script);
  EXPECT_EQ(to_text(*script), text);
  const auto again = parse_script(to_text(*script));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->title, script->title);
  ASSERT_EQ(again->statements.size(), 2U);
  EXPECT_EQ(again->statements[1].number("psn"), 7U);
  EXPECT_EQ(again->statements[1].when->latest.ns, 2000000);
}

// Expect: every truncated line parses, or its error is at a column of the line or just behind it.
TEST(DrillScript, EveryTruncatedLine) {
  const std::string line = "+1ms..2ms > ACK psn=0x10 msn=1 credits=31 qp=0x22";
  for (size_t length = 0; length < line.size(); ++length) {
    const auto script = parse_script(kHead + line.substr(0, length));
    if (script) continue;
    EXPECT_EQ(script.error().line, 3) << length;
    EXPECT_GE(script.error().column, 1) << length;
    EXPECT_LE(script.error().column, static_cast<int>(length) + 1) << length;
    EXPECT_FALSE(script.error().expected.empty()) << length;
  }
}

TEST(DrillRun, ShowsEachFieldThatDiffers) {
  const auto failure = failure_of("post SEND len=4\n> SEND_ONLY psn=101 ack=0 len=4");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->line, 4);
  EXPECT_EQ(failure->came, "RC SEND Only qp 0x22 psn 100 ack len 4 at 0 ns");
  ASSERT_EQ(failure->fields.size(), 2U);
  EXPECT_EQ(failure->fields[0].field, "psn");
  EXPECT_EQ(failure->fields[0].expected, "101");
  EXPECT_EQ(failure->fields[0].came, "100");
  EXPECT_EQ(failure->fields[1].field, "ack");
}

TEST(DrillRun, FailsForWhatIsNotExpected) {
  EXPECT_EQ(failure_of("post SEND")->expected, "the end of the script");
  EXPECT_EQ(failure_of("post SEND\n+1us nothing")->line, 4);
  EXPECT_EQ(failure_of("> ACK")->came, "no packet");
  EXPECT_EQ(failure_of("wc SUCCESS")->came, "no completion");
  EXPECT_EQ(failure_of("event QP_FATAL")->came, "no event");
  EXPECT_EQ(failure_of("state ERR")->line, 3);
  EXPECT_EQ(failure_of("modify INIT")->came, "refused");
  EXPECT_EQ(failure_of("mr m\nmemory m data=01")->fields.size(), 1U);
  EXPECT_EQ(failure_of("post SEND\n+1us > SEND_ONLY")->fields[0].field, "time");
  EXPECT_EQ(failure_of("recv id=1\n< SEND_ONLY psn=200\nwc SUCCESS id=2")->fields[0].field, "id");
}

std::optional<Failure> cm_failure_of(const std::string& body) {
  const auto script = parse_script("title t\ncm\n" + body);
  if (!script) return Failure{0, "a script", script.error().expected, {}};
  return run_script(*script);
}

TEST(DrillScript, StatementsOfAConnectionManager) {
  const std::string head = "title t\ncm\n";
  EXPECT_EQ(error_of(head + "qp RC"), "3:1: one qp or cm statement only");
  EXPECT_EQ(error_of(head + "recv"), "3:1: call, <, >, event or nothing");
  EXPECT_EQ(error_of(head + "call FLY"), "3:6: a call such as CONNECT");
  EXPECT_EQ(error_of(head + "< ACK"), "3:3: a message such as REQ");
  EXPECT_EQ(error_of(head + "event QP_FATAL"), "3:7: an event such as REQUEST");
  EXPECT_EQ(error_of(head + "< REQ remote=mine"), "3:14: a number, or ours");
  EXPECT_EQ(error_of(head + "< REQ optional"), "3:7: a field of this statement");
  EXPECT_EQ(error_of(head + "< MRA timeout=32"), "3:15: at most 31");
  EXPECT_EQ(error_of(kHead + "call LISTEN"), "3:1: a script that begins with cm");
  EXPECT_EQ(error_of(head + "+1ms..2ms > REQ qpn=0x11"), "no error");
}

TEST(DrillRun, MessagesOfAConnectionManager) {
  const auto failure = cm_failure_of("call CONNECT psn=7\n> REQ psn=8 reason=1 qpn=0x11");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->line, 4);
  ASSERT_EQ(failure->fields.size(), 2U);
  EXPECT_EQ(failure->fields[0].expected, "0x8");
  EXPECT_EQ(failure->fields[0].came, "0x7");
  EXPECT_EQ(failure->fields[1].came, "none");
  EXPECT_EQ(cm_failure_of("call CONNECT\n> REP")->fields[0].came, "REQ");
  EXPECT_EQ(cm_failure_of("call CONNECT")->expected, "the end of the script");
  EXPECT_EQ(cm_failure_of("call ACCEPT")->came, "refused");
  EXPECT_EQ(cm_failure_of("call LISTEN\n< REQ\nevent REPLY")->came, "REQUEST");
  EXPECT_EQ(cm_failure_of("event REQUEST")->came, "no event");
}

TEST(DrillRun, SharedReceiveQueueOnlyIfTheScriptHasOne) {
  EXPECT_EQ(failure_of("srq limit=1")->came, "refused");
}

// Expect: an optional packet may be there or not; another one is left to the next statement.
TEST(DrillRun, OptionalPackets) {
  const std::string two = "mr m\n< WRITE_ONLY psn=200 ack dma=1 va=0x100000 rkey=m data=01\n";
  EXPECT_FALSE(failure_of(two + "> ACK psn=199 optional\n> ACK psn=200"));
  EXPECT_FALSE(failure_of(two + "> ACK psn=200 optional"));
  EXPECT_FALSE(failure_of("> ACK psn=200 optional"));
  EXPECT_EQ(failure_of(two + "> ACK psn=199 optional")->expected, "the end of the script");
  EXPECT_EQ(failure_of(two + "> ACK psn=200 optional\n> ACK psn=200")->came, "no packet");
}

// Expect: the page has ten examples, and all pass.
TEST(DrillRun, ExamplesOfThePage) {
  std::ifstream file(URXE_DRILL_PAGE);
  std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string fence = "```\n";
  int examples = 0;
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    const size_t begin = at + fence.size();
    const size_t end = page.find(fence, begin);
    ASSERT_NE(end, std::string::npos);
    const auto script = parse_script(page.substr(begin, end - begin));
    ASSERT_TRUE(script) << script.error().line << ": " << script.error().expected;
    const auto failure = run_script(*script);
    EXPECT_FALSE(failure) << script->title << ": " << failure->expected << ": " << failure->came;
    ++examples;
    at = end + fence.size();
  }
  EXPECT_EQ(examples, 10);
}

}  // namespace
}  // namespace urxe::drill
