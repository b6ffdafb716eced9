// SPDX-License-Identifier: BSD-2-Clause
// The conformance suite. See README.md beside this folder.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "tests/conformance/support/options.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string wrong = conformance::parse_options(argc, argv);
  if (!wrong.empty()) {
    std::fprintf(stderr,
                 "urxe_conformance: %s\n"
                 "usage: urxe_conformance [--device NAME] [--port N] [--gid-index N] "
                 "[--require-all] [--slow] [--gtest_...]\n",
                 wrong.c_str());
    return 2;
  }
  return RUN_ALL_TESTS();
}
