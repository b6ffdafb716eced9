#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A part of urxe_conformance over urxe. usage: conformance.py GTEST_FILTER [ARGUMENT...]"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "system"))
import ends  # noqa: E402
import harness  # noqa: E402
from harness import Process  # noqa: E402


def may_be_skipped(gid, arguments):
    """What this run need not offer; another one of the same test does, but for the first."""
    yield "DataInOrder.LastByteComesLast"  # urxe does not promise that a WRITE's bytes come in order.
    if "--slow" not in arguments:
        yield "Rc.LargestMessage"
    yield f"Ah.GrhAreaOfIpv{4 if int(gid) else 6}ByteByByte"
    if ends.ENGINE == "raw":
        yield "Unsupported.RawPackets"


def test():
    path = ends.make(alone=True)
    arguments = sys.argv[2:]
    if "--lanes" in arguments:
        at = arguments.index("--lanes")
        os.environ["URXE_LANES"] = arguments[at + 1]
        del arguments[at:at + 2]
    gid = arguments[arguments.index("--gid-index") + 1] if "--gid-index" in arguments else 0
    program = [harness.binary("urxe_conformance"), f"--gtest_filter={sys.argv[1]}", *arguments, "--gid-index",
               path.gid(gid)]
    output = Process(path.server(program)).expect_success(timeout=500)
    harness.expect("[  PASSED  ]" in output and "0 tests from 0" not in output, output)
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+) \(", output, re.M))
    harness.expect(skipped <= set(may_be_skipped(gid, arguments)), f"skipped: {skipped}\n{output}")
    print(output)


harness.main(test)
