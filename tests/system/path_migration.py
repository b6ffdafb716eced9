#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Path migration between lo's addresses, of which one is taken away in the end. Without shared memory: what a program
sends to itself through memory does not notice that."""

import re

import harness
from harness import Process


def test():
    harness.need_namespaces()
    program = [harness.binary("urxe_rc_errors"), "--gtest_filter=PathMigration.*"]
    env = dict(harness.environment(), URXE_TEST_CUT="ip addr del 127.0.0.1/8 dev lo")
    output = Process(harness.urxe_run(program, ["--no-shm"]), env=env).expect_success(timeout=300)
    harness.expect(re.search(r"^\[  PASSED  \] [1-9]", output, re.M) and "SKIPPED" not in output, output)
    print(output)


harness.main(test)
