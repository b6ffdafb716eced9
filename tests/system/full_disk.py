#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""full_disk.py CASE: programs run although the file systems on which they would share memory are full."""

import glob
import os
import subprocess
import sys
import time

import harness
import sharing

ROOM_FOR_ALL = "5010k"  # A page for each file of the seven devices would not fit.


def prepare(shm, tmp):
    """Mounts a /dev/shm and a /tmp of these sizes that nobody else sees."""
    harness.need_programs("ibv_rc_pingpong")
    harness.own_files()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    # The output of programs goes to files, which must not be where there is no room.
    harness.mount_tmpfs("/mnt")
    harness.tempfile.tempdir = "/mnt"
    harness.mount_tmpfs("/run")
    harness.mount_tmpfs("/dev/shm", f"mode=1777,size={shm}")
    harness.mount_tmpfs("/tmp", f"mode=1777,size={tmp}")


def fill(place):
    with open(f"{place}/filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass


def expect_pingpong():
    port = harness.free_port()
    command = harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-c", "-p", str(port)])
    harness.run_pair(command, command + ["127.0.0.1"], port)


def read_counters():
    shown = subprocess.run(harness.urxe_run(["sh", "-c", "cat /sys/class/infiniband/urxe_lo/ports/1/hw_counters/*"]),
                           capture_output=True, text=True, env=harness.environment())
    harness.expect(shown.returncode == 0, f"{shown.returncode} {shown.stderr}")
    values = [int(line) for line in shown.stdout.split()]
    harness.expect(len(values) > 20, shown.stdout)
    return sum(values)


def elsewhere():
    """/dev/shm has no room for anything."""
    prepare("16k", "64m")
    expect_pingpong()
    harness.expect(sharing.directories(place="/tmp"), "the programs have not met in /tmp")
    harness.expect(not sharing.directories(), "a directory without room was left")


def small():
    """There is room for what is needed, and no more."""
    prepare(ROOM_FOR_ALL, "16k")
    for number in range(6):
        run = lambda *words: subprocess.run(["ip", *words], check=True)
        # The other end stays down: beside a link to others lo would be left out.
        run("link", "add", f"more{number}", "type", "veth", "peer", "name", f"other{number}")
        run("addr", "add", f"10.97.{number}.1/24", "dev", f"more{number}")
        run("link", "set", f"more{number}", "up")
    expect_pingpong()
    harness.expect(read_counters() > 0, "nothing was counted")


def full_later():
    """The file system is filled while programs use it: later ones run without counters."""
    prepare("64m", "16k")
    expect_pingpong()
    fill("/dev/shm")
    for _ in range(4):  # They have slots that no program had before.
        expect_pingpong()
    harness.expect(read_counters() > 0, "nothing was counted")


def no_room():
    """No place has room: `urxe run` says so."""
    prepare("16k", "16k")
    run = subprocess.run(harness.urxe_run(["true"]), capture_output=True, text=True, env=harness.environment())
    harness.expect(run.returncode == 125, f"{run.returncode} {run.stderr}")
    for word in ("/dev/shm", "/tmp", "No space left", "What to do", "XDG_RUNTIME_DIR"):
        harness.expect(word in run.stderr, run.stderr)
    harness.expect(not glob.glob("/dev/shm/urxe-*/.tmp-*"), "a draft was left")


def nowhere():
    """No place takes a directory at all. What `urxe run` then advises helps."""
    prepare("16k", "16k")
    for place in ("/dev/shm", "/tmp", "/run"):
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    run = lambda: subprocess.run(harness.urxe_run(["true"]), capture_output=True, text=True, env=harness.environment())
    refused = run()
    harness.expect(refused.returncode == 125, f"{refused.returncode} {refused.stderr}")
    for word in ("Read-only file system", "What to do", "XDG_RUNTIME_DIR", "mode 0700"):
        harness.expect(word in refused.stderr, refused.stderr)
    os.mkdir("/mnt/own", 0o700)
    os.environ["XDG_RUNTIME_DIR"] = "/mnt/own"
    expect_pingpong()


def describe(name):
    """Runs a program with a device of that name. Returns the directory that describes it."""
    run = subprocess.run(harness.urxe_run(["printenv", "URXE_TREE"], ["--device", f"{name}=lo"]), capture_output=True,
                         text=True, env=harness.environment())
    harness.expect(run.returncode == 0, run.stderr)
    return run.stdout.strip()


def old_trees():
    """Descriptions of devices that no program uses stay for days, but not where room is short."""
    for size, age, stay in (("64m", 7200, True), ("12m", 7200, False), ("12m", 600, True), ("5m", 600, False)):
        prepare(size, "16k")
        trees = [describe(name) for name in ("one", "two")]
        for tree in trees:
            os.utime(tree, (time.time() - age, time.time() - age))
        new = describe("three")
        harness.expect(os.path.exists(new) and new not in trees, new)
        harness.expect([os.path.exists(tree) for tree in trees] == [stay, stay], f"{size}, {age} s: {trees}")


def listeners():
    """The table of those who listen cannot grow: the program is told, and so is its user."""
    prepare("64m", "16k")
    expect_pingpong()
    command = harness.urxe_run([harness.binary("urxe_rdma_cm_listener"), "many", "127.0.0.1", "10000"])
    fill("/dev/shm")
    refused = subprocess.run(command, capture_output=True, text=True, env=harness.environment())
    harness.expect(refused.returncode != 0, refused.stdout)
    for word in ("rdma_", "No space left on device", "urxe: cannot use librdmacm", "/dev/shm", "--shm-size"):
        harness.expect(word in refused.stderr, refused.stderr)
    harness.expect(refused.stderr.count("urxe: ") == 1, refused.stderr)
    os.remove("/dev/shm/filler")
    server = harness.Process(command, name="listeners")
    harness.wait_until(lambda: "ports" in server.output or not server.running(), "the listeners", 60)
    harness.expect(server.running(), server.output)


CASES = (elsewhere, small, full_later, no_room, nowhere, old_trees, listeners)
harness.main({case.__name__: case for case in CASES}[sys.argv[1]])
