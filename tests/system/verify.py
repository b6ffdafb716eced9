#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""urxe_rc_verify over urxe. N counts the GIDs of a loopback interface.

usage: verify.py [--gid-index N] [OPTION OF urxe_rc_verify...]
"""

import sys

import ends
import harness


def test():
    arguments = sys.argv[1:]
    gid = 0
    if arguments[:1] == ["--gid-index"]:
        gid = arguments[1]
        arguments = arguments[2:]
    if harness.sanitized():
        # A process under a sanitizer may not get to answer in the usual half second.
        arguments += ["--timeout", "18"]
    path = ends.make()
    port = harness.free_port()
    words = [harness.binary("urxe_rc_verify"), "-d", path.device, "-g", path.gid(gid), "-p", str(port), *arguments]
    server, client = harness.run_pair(path.server(words), path.client([*words, path.address]), port, timeout=600)
    for output in (server, client):
        harness.expect(output.rstrip().endswith("verified"), output)
    path.expect_carried()
    print(client)


harness.main(test)
