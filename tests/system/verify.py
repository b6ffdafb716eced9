#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""urxe_rc_verify over urxe on one address.

usage: verify.py [--gid-index N] [OPTION OF urxe_rc_verify...]
"""

import sys

import harness


def test():
    arguments = sys.argv[1:]
    own = ["-d", "urxe_lo"]
    if arguments[:1] == ["--gid-index"]:
        own += arguments[:2]
        arguments = arguments[2:]
    if harness.sanitized():
        # A process under a sanitizer may not get to answer in the usual half second.
        arguments += ["--timeout", "18"]
    harness.isolate()
    port = harness.free_port()
    command = harness.urxe_run([harness.binary("urxe_rc_verify"), *own, "-p", str(port), *arguments])
    server, client = harness.run_pair(command, command + ["localhost"], port, timeout=600)
    for output in (server, client):
        harness.expect(output.rstrip().endswith("verified"), output)
    print(client)


harness.main(test)
