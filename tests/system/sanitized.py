#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that were built with a sanitizer start and run under `urxe run`, by themselves and from a script.

usage: sanitized.py PROGRAM
"""

import os
import sys
import tempfile

import harness
from harness import Process


def run(command):
    output = Process(harness.urxe_run(command), env=dict(os.environ)).expect_success()
    harness.expect(output.splitlines()[-1:] == ["done"], output)


def test():
    harness.isolate()
    program = harness.binary(sys.argv[1])
    run([program])
    os.environ["PATH"] = os.path.dirname(program) + ":" + os.environ["PATH"]
    run([os.path.basename(program)])
    with tempfile.TemporaryDirectory() as directory:
        # The interpreter of a script is what needs the sanitizer's library.
        script = os.path.join(directory, "script")
        for first_line in (f"#!{program}", f"#!/usr/bin/env {os.path.basename(program)}"):
            with open(script, "w") as file:
                file.write(first_line + "\n")
            os.chmod(script, 0o755)
            run([script])


harness.main(test)
