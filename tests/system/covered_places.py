#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tests pass in a clone below /tmp: those that mount a file system on /tmp still find the build directory."""

import os
import subprocess
import tempfile

import harness


def test():
    harness.own_files()
    with tempfile.TemporaryDirectory(prefix="urxe-covered-", dir="/tmp") as clone:
        build = os.path.join(clone, "build", "release")
        os.makedirs(build)
        with open(os.path.join(build, "program"), "w", encoding="ascii") as program:
            program.write("built")
        os.environ["URXE_BUILD"] = build
        harness.mount_tmpfs("/tmp")
        harness.expect(os.path.isdir(clone), "the clone is gone")
        harness.expect(os.listdir(clone) == ["build"], f"{os.listdir(clone)} are there")
        with open(os.path.join(build, "program"), encoding="ascii") as program:
            harness.expect(program.read() == "built", "it is another file")
        open(os.path.join("/tmp", "of_the_test"), "w", encoding="ascii").close()
        for mounted in (build, "/tmp"):
            subprocess.run(["umount", mounted], check=True)
        harness.expect(not os.path.exists("/tmp/of_the_test"), "/tmp was not covered")


harness.main(test)
