#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The guest and what reaches it work as the tests of interoperability take for granted.

usage: guest_test.py CASE...    of traffic.PEER, ssh, commands, netlink, umad, dmabuf, drill, raw, stops: all in this process,
                                and so in one guest;
                                or of hangs, run: guests of their own
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import dmabuf
import guest
import peers
import remote
import rxe_drill
from remote import harness

import stock_programs  # of tests/system, whose place `remote` names

SILENCE = 5  # Seconds after which hangs() finds the guest lost.
HERE = os.path.dirname(os.path.abspath(__file__))


def check_commands(agent):
    process = agent.start(["sh", "-c", "echo out; echo err >&2; cat; exit 7"], stdin=b"in\n")
    harness.expect(process.wait() == 7, "the exit code")
    harness.expect(process.output == "out\nerr\nin\n", f"output {process.output!r}")
    harness.expect(agent.start(["no-such-program"]).wait() == 127, "a program that is not there")
    large = agent.run(["seq", "200000"])
    harness.expect(large == "".join(f"{number}\n" for number in range(1, 200001)), "much output")
    harness.expect(agent.run(["env"], env={"COLOUR": "blue"}).count("COLOUR=blue") == 1, "the environment")


def check_many_commands(agent):
    sleepers = [agent.start(["sh", "-c", f"echo {number}; sleep 1000 & wait"]) for number in range(20)]
    for number, process in enumerate(sleepers):
        harness.wait_until(lambda process=process: process.output, "output of a program that goes on")
        harness.expect(process.running() and process.output == f"{number}\n", "many programs at once")
    for process in sleepers[:10]:
        process.kill(signal.SIGTERM)
        harness.expect(process.wait() == -signal.SIGTERM, "the end by a signal")
    for process in sleepers[10:]:
        process.kill()
        harness.expect(process.wait() == -signal.SIGKILL, "the end by SIGKILL")
    harness.wait_until(lambda: "sleep" not in agent.run(["ps", "-e", "-o", "comm"]), "their children's end")


def check_files(agent):
    agent.write_file("/tmp/urxe-written", b"\0\xff\n", 0o600)
    harness.expect(agent.run(["stat", "-c", "%s %a", "/tmp/urxe-written"]) == "3 600\n", "a written file")
    harness.expect(not os.path.exists("/tmp/urxe-written"), "the guest writes to the host's files")
    harness.expect(agent.run([harness.binary("urxe"), "--version"]), "a program of the build directory")


def check_link(link):
    near, far = link
    harness.expect("ACTIVE" in far.run_plain(["rdma", "link", "show", "rxe0/1"]), "the state of rxe0")
    ping = lambda command, address, size: far.run_plain(["/run/busybox", command, "-c", "2", "-s", str(size), address])
    ping("ping", near.ipv4, 1400)
    ping("ping6", near.ipv6, 1400)
    harness.expect(far.active_mtu() == 1024, "the active MTU at 1500")
    link.set_mtu(9000)
    harness.expect(far.mtu == near.mtu == 9000, "the interfaces' MTU")
    harness.expect(far.active_mtu() == near.active_mtu() == 4096, "the active MTU at 9000")
    ping("ping", near.ipv4, 8900)


def commands():
    """Commands come through, addresses answer, the MTU follows."""
    with peers.link("guest") as link:
        check_commands(link.far.agent)
        check_many_commands(link.far.agent)
        check_files(link.far.agent)
        check_link(link)


def check_netlink_of_both(rdma):
    """The kernel's devices come first, then urxe's; requests about one reach whose it is."""
    links = json.loads(rdma("-j link"))
    harness.expect([link["ifname"] for link in links] == ["rxe0", "urxe_lo"], links)
    harness.expect([link["netdev"] for link in links] == ["eth0", "lo"], links)
    harness.expect(len({link["ifindex"] for link in links}) == 2, links)
    rdma("link add rxe1 type rxe netdev lo")
    try:
        harness.expect(re.findall(r"link (\w+)/1", rdma("link")) == ["rxe0", "rxe1", "urxe_lo"], "a link that was added")
    finally:
        rdma("link delete rxe1")
    harness.expect("GSI" in rdma("resource show qp link rxe0/1"), "the kernel's resources")
    harness.expect("sent_pkts" in rdma("statistic show link rxe0/1"), "the kernel's counters")
    harness.expect("drop_bad_icrc" in rdma("statistic show link urxe_lo/1"), "urxe's counters")
    harness.expect("netns" in rdma("system"), "the system")


def netlink():
    """`rdma` under urxe, on a kernel that has RDMA netlink itself."""
    with peers.link("guest") as link:
        agent = link.far.agent
        under = [harness.binary("urxe"), "run", "--device", "lo", "--", "rdma"]
        check_netlink_of_both(lambda words: agent.run([*under, *words.split()]))
        refused = agent.start([*under, "link", "delete", "urxe_lo"])
        harness.expect(refused.wait() != 0 and "cannot be changed" in refused.output, refused.output)
        refused = agent.start([*under, "link", "add", "one", "type", "no-such", "netdev", "lo"])
        harness.expect(refused.wait() != 0 and "cannot be changed" not in refused.output, refused.output)


def in_guest(check, mtu=1500):
    """A test of another script, which can run alone, in the same guest."""
    with peers.link("guest") as link:
        link.set_mtu(mtu)
        check(peers.shared_guest())


def raw():
    """The raw engine on the guest's kernel: it works on VLAN devices, between two hosts of a lab, or is refused."""
    with peers.link("guest") as link:
        agent = link.far.agent
        if not harness.has_raw_engine(agent.run(["uname", "-r"])):
            refused = agent.start([harness.binary("urxe"), "run", "--engine", "raw", "--device", "eth0", "--", "true"])
            harness.expect(refused.wait() == 2 and "needs Linux 6.2 or later" in refused.output, refused.output)
            return
        # A script that skips has failed: the guest has what it needs.
        agent.run([sys.executable, "-B", os.path.join(HERE, "..", "system", "raw.py"), "vlan"], peers.PATIENCE,
                  env={"URXE_BUILD": harness.build_directory()})


def umad():
    """umad nodes of urxe and of rxe: the same rules, and datagrams both ways."""
    script = [sys.executable, "-B", os.path.join(HERE, "..", "system", "umad.py")]
    with peers.link("guest") as link:
        near, far = link
        far.run([*script, "rules_inside"])
        gid = lambda side: side.run(["cat", f"/sys/class/infiniband/{side.device}/ports/1/gids/0"]).strip()
        for server, client in ((near, far), (far, near)):
            process = server.start([*script, "serve_inside"])
            harness.wait_until(lambda process=process: "serving" in process.output, "the server")
            client.run([*script, "ask_inside", gid(server)])
            process.kill()
        # Linux answers for classes that no agent has.
        near.run([*script, "ask_nobody_inside", gid(far)])


def hangs():
    """A guest that does not answer says where it was."""
    harness.need_namespaces()
    with guest.start() as there:
        there.agent.run(["mkfifo", "/tmp/nobody_writes"])
        for patience in (SILENCE, remote.PATIENCE):  # Once it is lost, nobody waits for it any more.
            said = why_lost(there.agent, patience)
            harness.expect("NMI: Not continuing" in said and re.search(r"\npython3 \(1\) S: .*< fifo_open <", said), said)


def why_lost(agent, patience):
    """The message when the agent blocks on a pipe without a writer."""
    try:
        agent._ask("pipe", {"op": "read", "paths": ["/tmp/nobody_writes"]}, patience)
    except remote.AgentLost as lost:
        return str(lost)
    harness.fail("the agent has read a pipe without a writer")
    return ""


def stops():
    """Of a guest that is stopped nothing is left. The last case."""
    with peers.link("guest") as link:
        pid = peers.shared_guest().pid
    peers.shared_guest().stop()
    harness.expect(not os.path.exists(f"/proc/{pid}"), "QEMU goes on")
    shown = subprocess.run(["ip", "link", "show", "dev", link.wire], check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    harness.expect(shown.returncode != 0, "the tap is still there")


def users_of_namespace(namespace):
    users = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == namespace:
                users.append(pid)
        except OSError:
            pass  # It has just ended.
    return users


def guest_run(script):
    """guest_run.py with a shell's script for the guest."""
    return harness.Process([sys.executable, "-B", os.path.join(HERE, "guest_run.py"), "--", "sh", "-c", script])


def run():
    """guest_run.py: two guests, which boot side by side."""
    guest.need()
    ending, killed = guest_run("uname -n; exit 5"), guest_run("echo begun; sleep 1000")
    check_killed(killed)
    check_exit_code(ending)


def check_killed(starter):
    """Who has started a guest is killed: QEMU, the tap and the namespace go too."""
    harness.wait_until(lambda: "begun" in starter.output or not starter.running(), "the guest", guest.PATIENCE)
    if not starter.running():
        starter.show()
        sys.exit(starter.wait())
    namespace = os.readlink(f"/proc/{starter.pid}/ns/net")
    harness.expect(len(users_of_namespace(namespace)) >= 2, "the guest's process")
    starter.kill()
    harness.wait_until(lambda: not users_of_namespace(namespace), "the guest's end")


def check_exit_code(ran):
    """Output and exit code are passed on."""
    harness.expect(ran.wait(guest.PATIENCE) in (5, harness.SKIPPED), ran.output)
    if ran.wait() == harness.SKIPPED:
        harness.skip(ran.output)
    harness.expect("\nguest\n" in ran.output, ran.output)


def pingpong(server, client, family):
    """A stock program with the check of what it receives."""
    port = harness.free_port()
    words = ["ibv_rc_pingpong", "-c", "-n", "50", "-p", str(port)]
    command = lambda side: [*words, "-d", side.device, "-g", str(getattr(side, f"gid_index_{family}"))]
    running = server.start(command(server))
    server.wait_for_tcp_listener(running, port)
    client.run([*command(client), server.ipv4])
    running.expect_success(peers.PATIENCE)


def rping(server, client, address):
    words = ["rping", "-d", "-a", address, "-C", "5", "-V"]
    running = server.start([*words, "-s"])
    server.wait_for_rdma_listener(running, 7174)
    for process in (client.start([*words, "-c"]), running):
        stock_programs.finish(process, peers.PATIENCE)


def check_traffic(link):
    """Both roles, both families; a program over sockets and one over librdmacm; and what was on the wire."""
    near, far = link
    before = [side.counters() for side in link]
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        with link.capture(file.name) if link.wire else contextlib.nullcontext():
            for server, client in ((near, far), (far, near)):
                for family, address in (("v4", server.ipv4), ("v6", server.ipv6)):
                    pingpong(server, client, family)
                    rping(server, client, address)
        if link.wire:
            subprocess.run([harness.binary("urxe_icrc_check"), file.name], check=True)
    for side, counted in zip(link, before):
        harness.expect(side.counters()["rcvd_pkts"] > counted["rcvd_pkts"], f"{side.name}'s counters")


def traffic(peer):
    harness.need_programs("ibv_rc_pingpong", "rping", "tcpdump")
    with peers.link(peer) as link:
        check_traffic(link)


def ssh():
    """A peer that is reached by ssh: the guest, with a server of ssh in it."""
    harness.need_programs("ssh", "ssh-keygen", "dropbear", "dropbearkey")
    with tempfile.TemporaryDirectory() as folder, peers.link("guest") as link:
        key = os.path.join(folder, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        # Made here: in emulation keys take long.
        subprocess.run(["dropbearkey", "-t", "ed25519", "-f", f"{key}.host"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        agent = link.far.agent
        agent.run(["mkdir", "-p", "-m", "700", "/root/.ssh"])
        for path, name in ((f"{key}.pub", "authorized_keys"), (f"{key}.host", "host_key")):
            with open(path, "rb") as file:
                agent.write_file(f"/root/.ssh/{name}", file.read(), 0o600)
        server = agent.start(["dropbear", "-r", "/root/.ssh/host_key", "-F", "-E"])
        link.far.wait_for_tcp_listener(server, 22)
        os.environ["URXE_INTEROP_SSH"] = (f"ssh -i {key} -o StrictHostKeyChecking=no -o LogLevel=ERROR "
                                          "-o UserKnownHostsFile=/dev/null")
        peer = f"ssh:root@{link.far.ipv4}"
        with peers.link(peer) as (near, far):
            harness.expect(near.interface == link.wire and far.device == "rxe0", "what was found")
            check_commands(far.agent)
            help_text = far.run([far.program("urxe_rc_verify"), "--help"])
            harness.expect("start a server" in help_text, help_text)
            pingpong(near, far, "v4")
            pingpong(far, near, "v6")
        with peers.link(f"{peer},device=rxe0,ip={link.far.ipv6},interface={link.wire}") as (_near, far):
            harness.expect(far.ipv4 is None and far.ipv6 == link.far.ipv6, "the address asked for")


CASES = {"dmabuf": lambda: in_guest(dmabuf.check), "drill": lambda: in_guest(rxe_drill.check, rxe_drill.MTU), "ssh": ssh,
         "commands": commands, "netlink": netlink, "umad": umad, "raw": raw, "hangs": hangs,
         "stops": stops, "run": run}


def skipped(case):
    """Runs a case; whether it was skipped."""
    print(f"case {case}", flush=True)
    kind, _, peer = case.partition(".")
    try:
        traffic(peer) if kind == "traffic" else CASES[case]()
    except SystemExit as end:
        if end.code != harness.SKIPPED:
            raise
        return True
    return False


def test():
    if all([skipped(case) for case in sys.argv[1:]]):
        sys.exit(harness.SKIPPED)


harness.main(test)
