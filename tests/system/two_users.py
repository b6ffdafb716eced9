#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""two_users.py CASE: programs of two users of one host, in one network namespace. One of them is up to no good."""

import contextlib
import ctypes
import os
import resource
import shutil
import socket
import sys
import tempfile
import time

import harness
import sharing
import stock_programs
from cm_place import TCP
from harness import Process

VICTIM, ATTACKER = 64998, 64999
PR_SET_PDEATHSIG, SIGKILL = 1, 9


def as_user(user, command):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--bounding-set=-all",
            "--inh-caps=-all", "--ambient-caps=-all", "--", *command]


def attack(action):
    """Runs the action as the attacker, in a child that keeps what it returns. Returns when it has been done."""
    done, tell = os.pipe()
    if os.fork() == 0:
        os.setresgid(ATTACKER, ATTACKER, ATTACKER)
        os.setresuid(ATTACKER, ATTACKER, ATTACKER)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)  # Another user would not inherit it.
        kept = action()
        os.write(tell, b"x")
        while kept is not None:
            time.sleep(1000)
        os._exit(1)
    os.close(tell)
    harness.expect(os.read(done, 1) == b"x", "the attacker failed to attack")


@contextlib.contextmanager
def stage():
    """A network namespace, /dev/shm and /tmp of the test's own. Yields a copy of urxe that all users can run."""
    harness.need_programs("ibv_rc_pingpong", "rping", "setpriv")
    harness.own_files()
    for place in ("/dev/shm", "/tmp"):
        harness.mount_tmpfs(place)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    with tempfile.TemporaryDirectory(prefix="urxe-two-users-", dir="/var/tmp") as copy:
        os.chmod(copy, 0o755)
        os.mkdir(os.path.join(copy, "bin"), 0o755)
        shutil.copy2(harness.binary("urxe"), os.path.join(copy, "bin"))
        shutil.copytree(os.path.join(harness.build_directory(), "lib"), os.path.join(copy, "lib"),
                        ignore=shutil.ignore_patterns("*.a"))
        yield os.path.join(copy, "bin", "urxe")


def expect_pingpong(urxe):
    port = harness.free_port()
    command = as_user(VICTIM, [urxe, "run", "--", "ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-c", "-p", str(port)])
    harness.run_pair(command, command + ["127.0.0.1"], port)


def expect_rping(urxe, client_prefix=()):
    """The server is ready for the client when it is in the table of services, which only its user can read."""
    port = harness.free_port()
    command = as_user(VICTIM, [urxe, "run", "--", "rping", "-d", "-a", "127.0.0.1", "-C", "3", "-p", str(port)])
    server = Process(command + ["-s"], name="server")
    service, interface = TCP << 16 | port, socket.if_nametoindex("lo")
    harness.wait_until(lambda: sharing.listens(service, interface, VICTIM) or not server.running(),
                       "the server to listen")
    for process in (Process([*client_prefix, *command, "-c"], name="client"), server):
        stock_programs.finish(process)


def first():
    """What the victim's programs would make is there already, and belongs to the attacker."""
    def take():
        for place in ("/dev/shm", "/tmp"):
            os.mkdir(f"{place}/urxe-{VICTIM}", 0o777)
            for number in range(100):
                os.mkdir(f"{place}/urxe-{VICTIM}-{number:016x}", 0o700)
        return ()

    with stage() as urxe:
        attack(take)
        expect_pingpong(urxe)
        expect_rping(urxe)
        made = sharing.directories(VICTIM)
        harness.expect(len(made) == 1, f"the victim's programs have met in {made}")
        user_directory = os.path.dirname(made[0])
        status = os.lstat(user_directory)
        harness.expect((status.st_uid, status.st_mode & 0o7777) == (VICTIM, 0o700), f"{user_directory}: {status}")


def names():
    """The attacker has all the names that the victim's sockets would have, if they had abstract ones."""
    def take():
        kept = []
        for slot in range(512):
            kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            kept[-1].bind(f"\0urxe/{VICTIM}/slot/{slot}")
        return kept

    with stage() as urxe:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        attack(take)
        expect_pingpong(urxe)
        expect_rping(urxe)


def side_by_side():
    """Both users run programs, on addresses of their own."""
    with stage() as urxe:
        port = harness.free_port()
        theirs = as_user(ATTACKER, [urxe, "run", "--", "ibv_rc_pingpong", "-d", "urxe_lo", "-g", "1", "-p", str(port)])
        server = Process(theirs, name="the other user's server")
        server.wait_for_listener(port)
        expect_pingpong(urxe)
        Process(theirs + ["127.0.0.1"], name="the other user's client").expect_success()
        server.expect_success()
        for user in (VICTIM, ATTACKER):
            harness.expect(len(sharing.directories(user)) == 1, f"{user} has {sharing.directories(user)}")


def containers():
    """Two programs of one user that share the network, but neither /dev/shm nor /tmp, connect to each other."""
    with stage() as urxe:
        mounts = " && ".join(f"mount -t tmpfs -o mode=1777 none {place}" for place in ("/dev/shm", "/tmp"))
        expect_rping(urxe, ["unshare", "--mount", "sh", "-c", mounts + ' && exec "$@"', "sh"])


harness.main({case.__name__: case for case in (first, names, side_by_side, containers)}[sys.argv[1]])
