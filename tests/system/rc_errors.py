#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A part of urxe_rc_errors over urxe. usage: rc_errors.py GTEST_FILTER"""

import re
import sys

import harness
from harness import Process


def test():
    harness.isolate()
    program = [harness.binary("urxe_rc_errors"), f"--gtest_filter={sys.argv[1]}"]
    output = Process(harness.urxe_run(program)).expect_success(timeout=300)
    harness.expect(re.search(r"^\[  PASSED  \] [1-9]", output, re.M), output)
    print(output)


harness.main(test)
