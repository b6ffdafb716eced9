#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A part of urxe_conformance over urxe. usage: conformance.py GTEST_FILTER [ARGUMENT...]"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "system"))
import harness  # noqa: E402
from harness import Process  # noqa: E402


def test():
    harness.isolate()
    program = [harness.binary("urxe_conformance"), f"--gtest_filter={sys.argv[1]}", *sys.argv[2:]]
    output = Process(harness.urxe_run(program)).expect_success(timeout=500)
    harness.expect("[  PASSED  ]" in output and "0 tests from 0" not in output, output)
    print(output)


harness.main(test)
