#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program that loads libibverbs when it runs and looks its functions up by name and version."""

import harness
from harness import Process


def test():
    harness.isolate()
    output = Process(harness.urxe_run([harness.binary("urxe_found_by_name"), "urxe_lo"])).expect_success()
    harness.expect(output.splitlines()[-1:] == ["done"], output)


harness.main(test)
