#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An ordinary user without capabilities runs pingpong. Root drops its privileges for this; it copies the programs
where that user could not reach the build directory."""

import contextlib
import os
import shutil
import subprocess
import tempfile

import harness


def reachable(path):
    return subprocess.run(harness.unprivileged(["test", "-x", path])).returncode == 0


@contextlib.contextmanager
def reachable_urxe():
    urxe = harness.binary("urxe")
    if reachable(urxe):
        yield urxe
        return
    with tempfile.TemporaryDirectory(prefix="urxe-unprivileged-") as copy:
        os.chmod(copy, 0o755)
        os.mkdir(os.path.join(copy, "bin"), 0o755)
        shutil.copy2(urxe, os.path.join(copy, "bin"))
        shutil.copytree(os.path.join(harness.build_directory(), "lib"), os.path.join(copy, "lib"),
                        ignore=shutil.ignore_patterns("*.a"))
        yield os.path.join(copy, "bin", "urxe")


def test():
    harness.need_programs("ibv_rc_pingpong", "setpriv")
    harness.isolate()
    with reachable_urxe() as urxe:
        port = harness.free_port()
        command = harness.unprivileged(
            [urxe, "run", "--", "ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-c", "-p", str(port)])
        environment = harness.environment()
        # Where root's own run-time directory is named, the other user must not look for it.
        environment.pop("XDG_RUNTIME_DIR", None)
        _, client = harness.run_pair(command, command + ["localhost"], port, env=environment)
        print(client)


harness.main(test)
