#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Imports of contexts where there are two devices, whose nodes have one number: each leads to its own device."""

import re

import harness
from harness import Process


def test():
    harness.isolate()
    harness.need_namespaces()
    with harness.veth_pair():
        for device in ("first", "second"):
            suite = [harness.binary("urxe_conformance"), "--device", device, "--gtest_filter=Import.*", "--require-all"]
            command = harness.urxe_run(suite, ["--device", "first=lo", "--device", "second=urxa"])
            output = Process(command).expect_success()
            harness.expect(re.search(r"^\[  PASSED  \] [1-9]", output, re.M), output)


harness.main(test)
