#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that drop root's rights between the steps of a connection. usage: dropped_rights.py CASE"""

import os
import shutil
import sys
import tempfile

import harness
from harness import Process

USER = 64997
BASE = "/sys/class/infiniband/urxe_lo/ports/1/hw_counters"
MESSAGES = 20000  # of each program


def counters():
    lines = Process(harness.urxe_run(["grep", "-H", ".", "-r", BASE])).expect_success().splitlines()
    return {path.rsplit("/", 1)[1]: int(value) for path, value in (line.split(":") for line in lines)}


def command(role, port, when):
    return harness.urxe_run([harness.binary("urxe_dropped_rights"), "urxe_lo", role, str(port), when, str(USER)])


def command_of_user(role, port):
    """The same, for a program that the user starts."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--", *command(role, port, "never")]


def exchange(when):
    """Two programs that drop them at the same step share the address, through memory, and their counters count."""
    before = counters()
    port = harness.free_port()
    harness.run_pair(command("server", port, when), command("client", port, when), port)
    after = counters()
    for name, at_least in (("rcvd_pkts", 2 * MESSAGES), ("shm_rcvd_pkts", MESSAGES)):
        grown = after[name] - before[name]
        harness.expect(grown >= at_least, f"{when}: {name} has grown by {grown}")


def beside_a_program_that_stays():
    """The defect: a program that dropped them between its queue pair and its connection was told that the port was taken,
    if one that has not dropped them had the address: the kernel lets sockets share a port by who they were made by."""
    for roles in (("never", "after-create"), ("after-create", "never")):
        port = harness.free_port()
        harness.run_pair(command("server", port, roles[0]), command("client", port, roles[1]), port)


def with_a_program_of_that_user():
    """One that had no queue pair before is the user's, and shares with the user's other programs."""
    port = harness.free_port()
    harness.run_pair(command("server", port, "after-open"), command_of_user("client", port), port)


def refused():
    """One that had stays root's for its addresses: it and the user's other programs cannot have the same one. Who comes
    second says why."""
    port = harness.free_port()
    server = Process(command("server", port, "after-create"), name="server")
    server.wait_for_listener(port)
    client = Process(command_of_user("client", port), name="client")
    codes = server.wait(), client.wait()
    output = server.output + client.output
    harness.expect(all(code > 0 for code in codes), f"the programs ended with {codes}: {output}")
    harness.expect("urxe: UDP port 4791 on 127.0.0.1 is taken by another program" in output, output)


def test():
    harness.need_programs("setpriv")
    harness.own_files()
    for place in ("/dev/shm", "/tmp"):
        harness.mount_tmpfs(place)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    with tempfile.TemporaryDirectory(prefix="urxe-dropped-", dir="/var/tmp") as copy:  # where every user may look
        os.chmod(copy, 0o755)
        for folder in ("bin", "lib"):
            os.mkdir(os.path.join(copy, folder), 0o755)
        for name in ("urxe", "urxe_dropped_rights"):
            shutil.copy2(harness.binary(name), os.path.join(copy, "bin"))
        library = os.path.join(harness.build_directory(), "lib")
        for name in os.listdir(library):
            if not name.endswith(".a"):
                shutil.copy2(os.path.join(library, name), os.path.join(copy, "lib"), follow_symlinks=False)
        os.environ["URXE_BUILD"] = copy
        cases = {"before": lambda: exchange("never"), "after_open": lambda: exchange("after-open"),
                 "after_create": lambda: exchange("after-create"),
                 "beside_a_program_that_stays": beside_a_program_that_stays,
                 "with_a_program_of_that_user": with_a_program_of_that_user, "refused": refused}
        cases[sys.argv[1]]()


harness.main(test)
