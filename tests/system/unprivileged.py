#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An ordinary user without capabilities runs pingpong. Root drops its privileges for this; it copies the programs
where that user could not reach the build directory."""

import harness


def test():
    harness.need_programs("ibv_rc_pingpong", "setpriv")
    harness.isolate()
    with harness.reachable_urxe() as urxe:
        port = harness.free_port()
        command = harness.unprivileged(
            [urxe, "run", "--device", "lo", "--", "ibv_rc_pingpong", "-g", "0", "-c", "-p", str(port)])
        environment = harness.environment()
        # Where root's own run-time directory is named, the other user must not look for it.
        environment.pop("XDG_RUNTIME_DIR", None)
        _, client = harness.run_pair(command, command + ["127.0.0.1"], port, env=environment)
        print(client)


harness.main(test)
