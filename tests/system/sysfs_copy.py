#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""urxe devices --sysfs DIR: what the devices have in /sys, for programs that the preloaded object does not reach.

usage: sysfs_copy.py CASE
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

import harness
import stock_programs

COUNTERS = "class/infiniband/urxe_lo/ports/1/counters"
# Prints the texts of all files below a folder that can be read.
SHOW_FILES = """
import json, os, sys
texts = {}
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="ascii") as file:
                texts[os.path.relpath(path, sys.argv[1])] = file.read()
        except OSError:
            pass
print(json.dumps(texts))
"""
# Words of port_xmit_data are four bytes long.
WORD = 4


def command(folder, *options):
    return [harness.binary("urxe"), "devices", "--device", "lo", "--sysfs", folder, *options]


def copy(folder):
    done = subprocess.run(command(folder), capture_output=True, text=True, timeout=harness.PATIENCE, check=False,
                          env=harness.environment())
    harness.expect(done.returncode == 0 and not done.stdout and not done.stderr, done)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read()


def under_run(name):
    """What a program under `urxe run` reads."""
    return subprocess.check_output(harness.urxe_run(["cat", os.path.join("/sys", name)], ["--device", "lo"]), text=True,
                                   env=harness.environment())


def traffic():
    port = str(harness.free_port())
    pingpong = ["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", port]
    server = harness.Process(harness.urxe_run(pingpong, ["--device", "lo"]), "server")
    server.wait_for_listener(int(port))
    client = harness.Process(harness.urxe_run([*pingpong, "127.0.0.1"], ["--device", "lo"]), "client")
    for end in (client, server):
        stock_programs.finish(end, harness.PATIENCE)


def same(folder):
    """Each file is as what a program under `urxe run` sees."""
    show = [sys.executable, "-B", "-c", SHOW_FILES]
    below = "class/infiniband/urxe_lo/"
    seen = subprocess.check_output(harness.urxe_run([*show, f"/sys/{below}"], ["--device", "lo"]), text=True,
                                   env=harness.environment())
    copied = json.loads(subprocess.check_output([*show, os.path.join(folder, below)], text=True))
    for name, text in json.loads(seen).items():
        harness.expect(copied.pop(name, None) == text, f"{name} differs from {text!r}")
    harness.expect(not copied, f"only in the copy: {copied}")


def once():
    """Once written, it is as it was; written again, it has the new values."""
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        copy(folder)
        before = int(read(folder, f"{COUNTERS}/port_xmit_packets"))
        traffic()
        harness.expect(int(read(folder, f"{COUNTERS}/port_xmit_packets")) == before, "it has changed")
        stray = os.path.join(folder, "class", "infiniband", "stray")
        os.mkdir(stray)
        copy(folder)
        harness.expect(int(read(folder, f"{COUNTERS}/port_xmit_packets")) > before + 2000, "it has not changed")
        harness.expect(not os.path.exists(stray), "what is no device's is still there")
        for name in ("port_xmit_packets", "port_rcv_data"):
            harness.expect(read(folder, f"{COUNTERS}/{name}") == under_run(f"{COUNTERS}/{name}"), name)
        same(folder)


def again_and_again():
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "sys")
        writer = harness.Process(command(folder, "--interval", "0.1"), "writer")
        name = os.path.join(folder, COUNTERS, "port_xmit_packets")
        harness.wait_until(lambda: os.path.exists(name), "the copy")
        before = int(read(folder, f"{COUNTERS}/port_xmit_packets"))
        traffic()
        harness.wait_until(lambda: int(read(folder, f"{COUNTERS}/port_xmit_packets")) > before + 2000, "the new values")
        harness.expect(writer.running(), "it ended")
        writer.kill()
        writer.wait()


def refused():
    """A folder that is in use for something else stays as it is."""
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "class"))
        file = os.path.join(folder, "file")
        with open(file, "w", encoding="ascii"):
            pass
        for path, options, reason in ((folder, [], "it has other files"), (file, [], "it is no folder"),
                                      ("/nonexistent/folder", [], "No such file"),
                                      (folder, ["--interval", "0"], "--interval 0: must be 0.1 to 86400 seconds")):
            done = subprocess.run(command(path, *options), capture_output=True, text=True, check=False, env=harness.environment())
            harness.expect(done.returncode == 2 and reason in done.stderr, done)
        harness.expect(sorted(os.listdir(folder)) == ["class", "file"], os.listdir(folder))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run(command(folder), capture_output=True, text=True, check=False, env=harness.environment())
        harness.expect(done.returncode == 2 and "other users can write to it" in done.stderr and not os.listdir(folder), done)
    done = subprocess.run([harness.binary("urxe"), "devices", "--interval", "1"], capture_output=True, text=True, check=False)
    harness.expect(done.returncode == 2 and "--interval needs --sysfs" in done.stderr, done)


def node_exporter():
    """Prometheus' exporter is a program in Go, which makes system calls without the C library."""
    harness.need_programs("prometheus-node-exporter", "ibv_rc_pingpong")
    harness.isolate()
    traffic()
    with tempfile.TemporaryDirectory() as folder:
        copy(folder)
        port = harness.free_port()
        exporter = harness.Process(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.infiniband",
                                    f"--path.sysfs={folder}", f"--web.listen-address=127.0.0.1:{port}"], "exporter")
        exporter.wait_for_listener(port)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=harness.PATIENCE) as answer:
            metrics = answer.read().decode()
        name = r"^node_infiniband_port_data_transmitted_bytes_total"
        value = re.search(name + r'\{device="urxe_lo",port="1"\} (\S+)$', metrics, re.M)
        harness.expect(value, metrics)
        harness.expect(float(value[1]) == WORD * int(read(folder, f"{COUNTERS}/port_xmit_data")) > 0, value[0])


# Mounts a copy where programs look that can be told nothing, beside what is there; then shows a counter until it is above
# a number.
MOUNT_AND_WAIT = r"""
for part in class devices; do mount -t overlay urxe -o lowerdir=$1/$part:/sys/$part /sys/$part || exit 77; done
mount --bind $1/devices/urxe /sys/devices/urxe || exit 1
test -e /sys/class/net/lo/mtu || exit 1
echo mounted
until [ $(cat /sys/$2) -gt $3 ]; do sleep 0.1; done
"""


def fixed_path():
    """For programs in Go that have the path /sys/class/infiniband, such as telegraf."""
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        writer = harness.Process(command(folder, "--interval", "0.1"), "writer")
        name = f"{COUNTERS}/port_xmit_packets"
        harness.wait_until(lambda: os.path.exists(os.path.join(folder, name)), "the copy")
        least = int(read(folder, name)) + 2000
        reader = harness.Process(["unshare", "-rm", "sh", "-c", MOUNT_AND_WAIT, "sh", folder, name, str(least)], "reader")
        harness.wait_until(lambda: "mounted" in reader.output or not reader.running(), "the mounts")
        writer.kill()
        writer.wait()
        writer = harness.Process(command(folder, "--interval", "0.1"), "second writer")  # the folders stay
        traffic()
        if reader.wait(harness.PATIENCE) == 77:
            harness.skip("this kernel mounts no overlay on /sys/class in a user namespace")
        reader.expect_success()
        writer.kill()
        writer.wait()


def two_writers():
    """The second is refused as long as the first one lives."""
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        writer = harness.Process(command(folder, "--interval", "0.1"), "writer")
        name = os.path.join(folder, COUNTERS, "port_xmit_packets")
        harness.wait_until(lambda: os.path.exists(name), "the copy")
        second = subprocess.run(command(folder), capture_output=True, text=True, check=False, env=harness.environment())
        harness.expect(second.returncode == 2 and "another `urxe devices --sysfs` writes to it" in second.stderr, second)
        harness.expect(writer.running(), "the first ended")
        writer.kill()
        writer.wait()
        copy(folder)
        same(folder)


CASES = {case.__name__: case for case in (once, again_and_again, refused, node_exporter, fixed_path, two_writers)}


def test():
    CASES[sys.argv[1]]()


harness.main(test)
