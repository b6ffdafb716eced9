// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/report.h"

#include <gtest/gtest.h>

namespace urxe::doctor {
namespace {

const Findings kSome{ok("port", "free"), note("offload", "off", "turn it on"),
                     problem("slots", "full", "end some")};

TEST(DoctorReport, PrintsALineForEachFindingAndItsAdviceBelow) {
  EXPECT_EQ(format_text(kSome),
            "ok       port     free\n"
            "note     offload  off\n"
            "                  turn it on\n"
            "PROBLEM  slots    full\n"
            "                  end some\n");
}

TEST(DoctorReport, PrintsTheSameAsJson) {
  EXPECT_EQ(format_json({kSome[0], kSome[2]}), "{\n  \"urxe\": \"" URXE_VERSION
                                               "\",\n  \"problems\": 1,\n  \"findings\": [\n"
                                               "    {\n      \"name\": \"port\",\n"
                                               "      \"level\": \"ok\",\n"
                                               "      \"what\": \"free\"\n    },\n"
                                               "    {\n      \"name\": \"slots\",\n"
                                               "      \"level\": \"problem\",\n"
                                               "      \"what\": \"full\",\n"
                                               "      \"advice\": \"end some\"\n    }\n  ]\n}\n");
}

TEST(DoctorReport, OnlyProblemsChangeTheExitStatus) {
  EXPECT_EQ(exit_status({}), 0);
  EXPECT_EQ(exit_status({kSome[0], kSome[1]}), 0);
  EXPECT_EQ(exit_status(kSome), 1);
}

TEST(DoctorReport, NamesOfOthersCannotWriteToTheTerminal) {
  const Findings hostile{problem("port", "taken by a\x1b[2J\nok\xff", "end \x07it")};
  EXPECT_EQ(format_text(hostile), "PROBLEM  port  taken by a?[2J?ok?\n               end ?it\n");
  EXPECT_NE(format_json(hostile).find("taken by a?[2J?ok?"), std::string::npos);
}

}  // namespace
}  // namespace urxe::doctor
