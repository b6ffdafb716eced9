#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that have a device open see its interface change. usage: port_changes.py CASE"""

import fcntl
import re
import socket
import subprocess
import sys
import time

import harness
from harness import Process

PORT = "/sys/class/infiniband/urxe_urxa/ports/1"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def watch(*arguments):
    process = Process(harness.urxe_run([harness.binary("urxe_port_watch"), "urxe_urxa", *arguments]))
    wait_for(process, "port ", "the first look")
    return process


def wait_for(process, text, what):
    harness.wait_until(lambda: text in process.output or not process.running(), what)
    if not process.running():
        process.show()
        harness.fail("a program that watches ended")


def port(process):
    """The last look at the port: state, MTU, and the GIDs by index."""
    words = re.findall(r"^port (.*)$", process.output, re.M)[-1].split()
    return words[0], int(words[1]), dict(word.split("=") for word in words[2:] if "=" in word)


def wait_for_port(processes, condition, what):
    for process in processes:
        harness.wait_until(lambda: condition(*port(process)), what)


def events(process):
    return re.findall(r"^event (.*) (\d+)$", process.output, re.M)


def tree(process):
    with open(f"/proc/{process.pid}/environ") as file:
        return re.search(r"URXE_TREE=([^\0]*)", file.read())[1]


def sysfs(process, name):
    """What the tree of that process says, without a `urxe run` of our own, which would bring it up to date."""
    with open(f"{tree(process)}{PORT}/{name}") as file:
        return file.read().strip()


def link():
    watchers = [watch(), watch()]
    state = lambda wanted: lambda state, *_: state == wanted
    ip("link", "set", "urxa", "down")
    wait_for_port(watchers, state("down"), "the port to go down")
    harness.expect(sysfs(watchers[0], "state") == "1: DOWN" and sysfs(watchers[0], "phys_state") == "3: Disabled", "sysfs: down")
    ip("link", "set", "urxa", "up")
    wait_for_port(watchers, state("active"), "the port to come up")
    harness.expect(sysfs(watchers[0], "state") == "4: ACTIVE" and sysfs(watchers[0], "phys_state") == "5: LinkUp", "sysfs: up")
    for process in watchers:
        harness.wait_until(lambda process=process: ("port active", "1") in events(process), "the events")
        of_the_port = [event for event in events(process) if event[0] != "GID table change"]
        harness.expect([name for name, _ in of_the_port] == ["port error", "port active"], of_the_port)
        harness.expect(all(number == "1" for _, number in events(process)), "the port's number")


def carrier(other):
    watcher = watch()
    other.run("ip", "link", "set", "urxb", "down")
    wait_for_port([watcher], lambda state, *_: state == "down", "the carrier to go")
    harness.wait_until(lambda: ("port error", "1") in events(watcher), "the event")


def mtu():
    watchers = [watch(), watch()]
    ip("link", "set", "urxa", "mtu", "9000")
    wait_for_port(watchers, lambda _, mtu, __: mtu == 4096, "the larger MTU")
    ip("link", "set", "urxa", "mtu", "1280")
    wait_for_port(watchers, lambda _, mtu, __: mtu == 1024, "the smaller MTU")


def gids():
    watchers = [watch(), watch()]
    before = port(watchers[0])[2]
    has = lambda table: lambda _, __, gids: gids == table
    ip("addr", "add", "192.0.2.7/24", "dev", "urxa")
    grown = {**before, str(len(before)): "::ffff:192.0.2.7"}
    wait_for_port(watchers, has(grown), "the new GID at the end")
    ip("addr", "del", "10.99.0.1/24", "dev", "urxa")
    removed = next(index for index, gid in before.items() if gid == "::ffff:10.99.0.1")
    shrunk = {index: gid for index, gid in grown.items() if index != removed}
    wait_for_port(watchers, has(shrunk), "the GID to go, and the others to stay")
    harness.expect(sysfs(watchers[0], f"gids/{removed}") == "0000:" * 7 + "0000", "an empty entry in sysfs")
    result = subprocess.run(harness.urxe_run(["cat", f"{PORT}/gid_attrs/types/{removed}"]), check=False,
                            capture_output=True, text=True)
    harness.expect("Invalid argument" in result.stderr, f"the type of an empty entry: {result}")
    ip("addr", "add", "fd00:99::7/64", "dev", "urxa", "nodad")
    wait_for_port(watchers, has({**shrunk, removed: "fd00:99::7"}), "a new GID in the free entry")
    for process in watchers:
        # The table is seen first: another process may have written it.
        harness.wait_until(lambda process=process: len([e for e in events(process) if e[0] == "GID table change"]) >= 3,
                           "an event of each change")
        harness.expect(port(process) == port(watchers[0]), "two processes see different tables")
    listed = subprocess.run([harness.binary("urxe"), "devices"], check=True, capture_output=True, text=True).stdout
    line = next(line for line in listed.splitlines() if line.startswith("urxe_urxa "))
    indexes = dict(word.rstrip(",").split("=") for word in line.split() if "=" in word)
    harness.expect(indexes == {index: gid.removeprefix("::ffff:") for index, gid in port(watchers[0])[2].items()},
                   f"urxe devices has other indexes than the programs, {port(watchers[0])}: {listed}")
    for process in watchers:
        process.kill()
    # Nobody uses the device: the order is the one of a fresh start.
    order = port(watch())[2]
    harness.expect(order["0"].startswith("fe80") and order["1"] == "::ffff:192.0.2.7"
                   and sorted([order["2"], order["3"]]) == ["fd00:99::1", "fd00:99::7"], f"afterwards: {order}")


def burst():
    """Many changes at once: the last state is what all end with."""
    watchers = [watch() for _ in range(4)]
    for number in range(1, 120):
        ip("addr", "add", f"198.51.100.{number}/32", "dev", "urxa")
        if number % 3:
            ip("addr", "del", f"198.51.100.{number}/32", "dev", "urxa")
    # Who shows this one has seen all the others come and go. Without it the state after number 117 would look like
    # the last one, too.
    ip("addr", "add", "203.0.113.1/32", "dev", "urxa")
    expected = {f"::ffff:198.51.100.{number}" for number in range(3, 120, 3)} | {"::ffff:203.0.113.1"}
    for process in watchers:
        harness.wait_until(lambda: expected == {gid for gid in port(process)[2].values() if re.search(r"198\.51|203\.0", gid)},
                           "all addresses")
    tables = [port(process)[2] for process in watchers]
    harness.expect(all(table == tables[0] for table in tables), f"the processes' tables differ: {tables}")
    harness.expect(not any("?" in gid for gid in tables[0].values()), tables[0])


def held_lock():
    """A process that keeps the tree's lock, because it was stopped for instance, and lets go of it: the tree is brought
    up to date by those that could not, without another change."""
    watcher = watch()
    device = f"{tree(watcher)}/devices/urxe_urxa"

    def text():
        with open(device) as file:
            return file.read()

    with open(f"{tree(watcher)}/lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ip("link", "set", "urxa", "mtu", "1280")
        wait_for_port([watcher], lambda _, mtu, __: mtu == 1024, "the smaller MTU")
        time.sleep(1.5)  # By now the watcher has read all that the kernel said of the change.
        harness.expect("mtu=1280" not in text(), "the tree was written without its lock")
    harness.wait_until(lambda: "mtu=1280" in text(), "the tree to follow")


def gone():
    watcher = watch()
    ip("link", "del", "urxa")
    wait_for(watcher, "event local catastrophic error", "the device's end")
    wait_for_port([watcher], lambda state, _, gids: state == "down" and not gids, "an empty port")


def made_anew(other, theirs):
    """An interface that was made anew, with the name, MAC and addresses of before, is there for programs that start then:
    while one that saw the end of the first still runs, and after it."""
    harness.need_programs("ibv_devinfo")
    mac = "02:00:00:00:99:01"
    ip("link", "set", "urxa", "address", mac)
    state = lambda: re.search(r"state:\s+(\S+)", Process(harness.urxe_run(["ibv_devinfo"])).expect_success())[1]
    harness.expect(state() == "PORT_ACTIVE", "at first")
    for keep in (True, False):
        watcher = watch()
        ip("link", "del", "urxa")
        wait_for(watcher, "event local catastrophic error", "the device's end")
        if not keep:
            watcher.kill()
        ip("link", "add", "urxa", "address", mac, "type", "veth", "peer", "name", "urxb", "netns", str(other.pid))
        other.run("ip", "addr", "add", f"{theirs}/24", "dev", "urxb")
        other.run("ip", "link", "set", "urxb", "up")
        ip("addr", "add", "10.99.0.1/24", "dev", "urxa")
        ip("link", "set", "urxa", "up")
        harness.wait_until(lambda: "LOWER_UP" in subprocess.run(["ip", "link", "show", "dev", "urxa"], capture_output=True,
                                                                text=True, check=True).stdout, "the link")
        harness.expect(state() == "PORT_ACTIVE", f"after it was made anew, with the program before it: {keep}")


def gone_while_receiving():
    """A queue pair that only waits to receive is told by its completions: nothing else would end its wait."""
    watcher = watch("receive")
    wait_for(watcher, "receiving", "the queue pair")
    ip("link", "set", "urxa", "down")
    wait_for_port([watcher], lambda state, *_: state == "down", "the port to go down")
    harness.expect("completion" not in watcher.output, "an interface that is down may come up again")
    ip("link", "del", "urxa")
    wait_for(watcher, "event local catastrophic error", "the device's end")
    wait_for(watcher, "completion Work Request Flushed Error", "the completion")


def renamed():
    watcher = watch()
    ip("link", "set", "urxa", "down")
    ip("link", "set", "urxa", "name", "other")
    ip("link", "set", "other", "up")
    ip("addr", "add", "192.0.2.7/24", "dev", "other")
    wait_for_port([watcher], lambda state, _, gids: state == "active" and "::ffff:192.0.2.7" in gids.values(),
                  "the interface under its new name")


def fleeting():
    """A listener on all addresses closes its sockets for those that go, and still takes connections."""
    harness.need_programs("rping")
    limit = 128
    server = Process(["prlimit", f"--nofile={limit}", *harness.urxe_run(["rping", "-s", "-P", "-v"])], name="server")
    harness.wait_until(lambda: sockets("10.99.0.1"), "the server to listen")
    for number in range(1, limit):
        ip("addr", "add", f"198.51.100.{number}/32", "dev", "urxa")
        if number % 40 == 0:
            harness.wait_until(lambda number=number: sockets(f"198.51.100.{number}"), "a socket for a new address")
        ip("addr", "del", f"198.51.100.{number}/32", "dev", "urxa")
    harness.wait_until(lambda: not sockets("198.51.100."), "the sockets to go")
    Process(harness.urxe_run(["rping", "-c", "-a", "10.99.0.1", "-C", "3", "-v"])).expect_success()
    harness.expect(server.running(), "the server")


def ports():
    """A port of a bridge is no device unless it is asked for; an interface of a VRF is one."""
    def listed(*options):
        # With only lo, which is not Ethernet, the engine raw is refused behind the list.
        return subprocess.run([harness.binary("urxe"), "devices", *options], check=False, capture_output=True, text=True).stdout

    ip("link", "add", "urxbr", "type", "bridge")
    ip("link", "set", "urxa", "master", "urxbr")
    harness.expect("urxe_urxa " not in listed(), "a port of a bridge is a device")
    harness.expect("urxe_urxa " in listed("--device", "urxa"), "it was asked for")
    if subprocess.run(["ip", "link", "add", "urxvrf", "type", "vrf", "table", "10"], check=False).returncode == 0:
        ip("link", "set", "urxa", "master", "urxvrf")
        harness.expect("urxe_urxa " in listed(), "an interface of a VRF is no device")


def many():
    """A listener on all addresses of a host with more interfaces than it can have devices for leaves descriptors for
    its connections, and has the devices with addresses first."""
    harness.need_programs("rping")
    for number in range(20):
        ip("link", "add", f"a{number}", "type", "veth", "peer", "name", f"b{number}")
        for name in ("a", "b"):
            ip("link", "set", f"{name}{number}", "up")

    def are_ready():
        listed = subprocess.run(["ip", "-6", "-o", "addr", "show"], capture_output=True, text=True, check=True).stdout
        return listed.count("fe80::") > 40 and "tentative" not in listed

    harness.wait_until(are_ready, "the link-local addresses")
    limit = 512
    server = Process(["prlimit", f"--nofile={limit}", *harness.urxe_run(["rping", "-s", "-P", "-v"])], name="server")
    harness.wait_until(lambda: "nothing listens on urxe_" in server.output, "the line about descriptors")
    for _ in range(3):
        Process(harness.urxe_run(["rping", "-c", "-a", "10.99.0.1", "-C", "3", "-v"])).expect_success()
    harness.expect(server.output.count("urxe: ") == 1, server.output)


def confirmed():
    """An address that the kernel still examines when it appears (duplicate address detection) is opened when it is
    confirmed, though the table of GIDs has it from the beginning."""
    harness.need_programs("rping")
    server = Process(harness.urxe_run(["rping", "-s", "-P", "-v"]), name="server")
    harness.wait_until(lambda: sockets("[fe80"), "the server to listen")
    ip("link", "set", "urxa", "down")
    harness.wait_until(lambda: not sockets("[fe80"), "the socket to go")
    subprocess.run(["sysctl", "-q", "-w", "net.ipv6.conf.urxa.accept_dad=1"], check=True)
    ip("link", "set", "urxa", "up")
    harness.wait_until(lambda: sockets("[fe80"), "a socket for the confirmed address")
    harness.expect(server.running(), "the server")


def taken():
    """A listener on all addresses says so if the port of one is another program's, and has it when it looks again."""
    harness.need_programs("rping")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("10.99.0.1", 4791))
        server = Process(harness.urxe_run(["rping", "-s", "-P", "-v"]), name="server")
        harness.wait_until(lambda: "port 4791" in server.output, "the line about the port")
        harness.expect(server.running() and sockets("[fe80"), "the other addresses")
    ip("addr", "add", "192.0.2.7/24", "dev", "urxa")
    harness.wait_until(lambda: sockets("10.99.0.1"), "a socket for the address that is free")
    Process(harness.urxe_run(["rping", "-c", "-a", "10.99.0.1", "-C", "3", "-v"])).expect_success()


def sockets(address):
    """The UDP sockets of this network that are bound to an address."""
    listed = subprocess.run(["ss", "-uanH"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f" {address}" in line]


CASES = {f.__name__: f for f in (link, mtu, gids, burst, held_lock, gone, gone_while_receiving, renamed, fleeting,
                                 confirmed, taken, ports, many)}


def test():
    harness.need_namespaces()
    with harness.veth_pair() as (other, _ours, theirs):
        if sys.argv[1] == "carrier":
            carrier(other)
        elif sys.argv[1] == "made_anew":
            made_anew(other, theirs)
        else:
            CASES[sys.argv[1]]()


harness.main(test)
