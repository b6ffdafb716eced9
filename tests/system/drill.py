#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packet scripts on the wire: the scripts on one host, an agent under urxe on another. usage: drill.py CASE"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile

import harness

LIBRARY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "drill"))
SEND = os.path.join(LIBRARY, "requester", "send.drill")
PATIENCE_MS = 10000  # On a busy machine; only what fails waits so long.
PORT = 18791
# What these scripts do, librdmacm does not offer to the agent.
NOT_BY_LIBRDMACM = {f"cm/{name}.drill" for name in ("disconnect-timeout", "no-listener", "request-timeout", "slow-consumer")}
# What is not as a script says, and why. The transport itself passes all in virtual time.
DIFFERENT = {
    "responder/gap.drill": "urxe keeps requests behind a gap, and need not be sent them again",
}
PASSED, FAILED, WRONG_USE, SKIPPED, NO_AGENT = 0, 1, 2, 3, 125


def start_agent(other, *options):
    """The agent, once it listens."""
    command = harness.urxe_run([harness.binary("urxe"), "drill", "--agent", *options])
    agent = harness.Process(other.command(command), name="agent")
    agent.wait_for_listener(PORT)
    return agent


def run(peer, *arguments):
    """The exit code, standard output, and standard error."""
    command = [harness.binary("urxe"), "drill", "--peer", peer, "--patience", str(PATIENCE_MS), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=harness.PATIENCE, check=False,
                           env=harness.environment())
    print(f"{' '.join(command)}\n{ended.stdout}{ended.stderr}exit code {ended.returncode}", flush=True)
    return ended.returncode, ended.stdout, ended.stderr


def expect_code(result, code):
    harness.expect(result[0] == code, f"exit code {result[0]}, not {code}")
    return result


def with_script(text):
    """The path of a script; its folder goes with the process."""
    file = tempfile.NamedTemporaryFile("w", suffix=".drill", encoding="utf-8")
    file.write(text)
    file.flush()
    return file


def library(other, peer):
    agent = start_agent(other)
    code, out, _ = run(peer, "--json", LIBRARY)
    rows = {os.path.relpath(row["script"], LIBRARY): row for row in json.loads(out)}
    skipped_here = {name for name, row in rows.items() if "skipped" in row}
    for name in skipped_here:
        harness.expect("librdmacm" in rows[name]["skipped"], f"{name}: {rows[name]['skipped']}")
    harness.expect(skipped_here == NOT_BY_LIBRDMACM, f"skipped: {sorted(skipped_here)}")
    different = {name for name, row in rows.items() if not row["passed"]} - skipped_here
    harness.expect(different == set(DIFFERENT), f"different: {sorted(different)}, known: {sorted(DIFFERENT)}")
    harness.expect(code == (FAILED if DIFFERENT else SKIPPED), f"exit code {code}")
    agent.expect_success()


def ipv6(other, _peer):
    agent = start_agent(other, "--gid-index", "2")
    expect_code(run(f"[fd00::2]:{PORT}", "--local", "fd00::1", SEND, os.path.join(LIBRARY, "datagrams")), PASSED)
    agent.expect_success()


def wrong_script(other, peer):
    """A script that the device does not follow fails with its line, what was expected, and what came."""
    start_agent(other)
    with with_script("title t\nqp RC\npost SEND len=4\n> SEND_ONLY psn=101 len=4\n") as script:
        _, out, _ = expect_code(run(peer, script.name), FAILED)
    for part in (":4: FAILED", "expected: > SEND_ONLY psn=101 len=4", "came:     RC SEND Only", "psn: expected 101, came 100"):
        harness.expect(part in out, f"no {part!r}")


WRONG_CM_SCRIPTS = (
    ("call LISTEN\n< REQ\nevent REQUEST\ncall ACCEPT\n> REP qpn=0x12\n", 7, "qpn: expected 0x12, came 0x11"),
    ("call LISTEN\n< REQ\nevent REQUEST\ncall ACCEPT\n> REP remote=0x70000002\n", 7, "remote: expected"),
    ("call LISTEN\n< REQ\nevent REQUEST\ncall REJECT\n> REJ reason=10\n", 7, "reason: expected 0xa, came 0x1c"),
    ("call LISTEN\n< REQ\nevent ESTABLISHED\n", 5, "came:     REQUEST"),
    ("call CONNECT\n> REP\n", 4, "message: expected REP, came REQ"),
    ("call ACCEPT\n", 3, "there is no communication"),
)


def wrong_cm_script(other, peer):
    """The same for scripts of a connection manager."""
    agent = start_agent(other, "--keep")
    for statements, line, part in WRONG_CM_SCRIPTS:
        with with_script(f"title t\ncm\n{statements}") as script:
            _, out, _ = expect_code(run(peer, script.name), FAILED)
        harness.expect(f":{line}: FAILED" in out and part in out, f"no {part!r} at line {line}")
    expect_code(run(peer, os.path.join(LIBRARY, "cm", "accept.drill")), PASSED)
    harness.expect(agent.running(), "the agent ended")


def skipped(other, peer):
    """What a device or path cannot do is skipped, and is no success."""
    start_agent(other, "--keep")
    with with_script("title t\nqp RC mtu=4096\n") as script:
        _, out, _ = expect_code(run(peer, script.name, SEND), SKIPPED)
        harness.expect(":2: skipped: the line needs a path MTU of 4096; the port has 1024" in out, "no reason")
        harness.expect("1 of 2 scripts passed, 1 skipped" in out, "no sum")
        code, out, _ = run(peer, script.name, "--json")
    harness.expect(code == SKIPPED and "4096" in json.loads(out)[0]["skipped"], "not skipped in JSON")
    with with_script("title t\nqp RC\n< SEND_ONLY psn=200 len=4000\n") as script:
        _, out, _ = expect_code(run(peer, script.name), SKIPPED)
        harness.expect(":3: skipped" in out, "the packet was sent")


def agent_killed(other, peer):
    agent = start_agent(other)
    with with_script("title t\nqp RC\n+1000s nothing\n") as script:
        command = [harness.binary("urxe"), "drill", "--peer", peer, script.name]
        runner = harness.Process(command, name="runner")
        harness.wait_until(lambda: has_socket(runner.pid), "the script's UDP socket")
        agent.kill()
        harness.expect(runner.wait() == NO_AGENT, f"ended with {runner.wait()}")
        harness.expect(f"the agent at {peer} port {PORT}: it has left" in runner.output, runner.output)


def has_socket(pid):
    """Whether the process's network namespace has a socket on UDP port 4791."""
    with open(f"/proc/{pid}/net/udp", encoding="ascii") as lines:
        return ":12B7 " in lines.read()


GARBAGE = [b"", b"\n", b"\0\xff\xfe\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100000, b"do 0\n", b"poll\n", b"state\n",
           b"memory local 0 1\n", b"do 99999999999999999999999\n", b"script\n", b"script 18446744073709551615 1 00\n",
           b"script 1048577 34 " + b"00" * 16 + b"\n", b"script 100 34 " + b"00" * 16 + b"\ntitle t\n",
           b"script 9 34 " + b"00" * 16 + b"\nqp RC qp\n", b"script 1 34 " + b"0" * 31 + b"\n"]


def garbage(other, peer):
    """Whatever comes to the agent's port, the agent serves the next client."""
    agent = start_agent(other)
    for data in GARBAGE:
        with socket.create_connection((peer, PORT), timeout=harness.PATIENCE) as client:
            # The agent may leave such a client before it has said everything (shutdown() then knows no connection).
            with contextlib.suppress(OSError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
        harness.expect(agent.running(), f"the agent ended after {data[:40]!r}")
    expect_code(run(peer, SEND), PASSED)
    agent.expect_success()


def out_of_range(other, peer):
    """What a client asks for of a script is bounded."""
    agent = start_agent(other)
    text = b"title t\nqp RC\nmr m length=16\nmodify RTS\n"
    with socket.create_connection((peer, PORT), timeout=harness.PATIENCE) as client, client.makefile("rb") as lines:
        lines.readline()

        def ask(request):
            client.sendall(request + b"\n")
            return json.loads(lines.readline())

        gid = socket.inet_pton(socket.AF_INET6, "::ffff:10.0.0.1").hex().encode()
        harness.expect(ask(b"script %d 34 %s\n%s" % (len(text) + 1, gid, text)) == {}, "the script is not taken")
        harness.expect("refused" in ask(b"do 1"), "a region without a queue pair")
        harness.expect(ask(b"do 0")["value"] > 0, "no queue pair")
        harness.expect("refused" in ask(b"do 0"), "a second queue pair")
        harness.expect("value" in ask(b"do 1"), "no region")
        harness.expect("refused" in ask(b"do 1"), "the region twice")
        harness.expect("error" in ask(b"do 3"), "a statement that is not there")
        harness.expect(ask(b"memory m 0 16") == {"bytes": "00" * 16}, "no memory")
        for request in (b"memory m 0 17", b"memory m 17 0", b"memory m 4294967295 4096", b"memory m 0 4097",
                        b"memory m -1 1", b"memory other 0 1", b"memory"):
            harness.expect("error" in ask(request), f"{request} is answered")
    agent.expect_success()


def keep(other, peer):
    agent = start_agent(other, "--keep")
    expect_code(run(peer, SEND), PASSED)
    expect_code(run(peer, SEND), PASSED)
    harness.expect(agent.running(), "the agent ended")


def busy(other, peer):
    """While one client is served, however little it says, another one is told so at once."""
    agent = start_agent(other, "--keep")
    for said in (b"", b"scri", b"script 100 34 " + b"00" * 16 + b"\ntitle"):
        with socket.create_connection((peer, PORT), timeout=harness.PATIENCE) as silent, silent.makefile("rb") as lines:
            harness.expect("device" in json.loads(lines.readline()), "the first client is not served")
            silent.sendall(said)
            _, _, err = expect_code(run(peer, SEND), NO_AGENT)
            holder = "10.0.0.1 port %d" % silent.getsockname()[1]
            harness.expect(f"busy with another client, {holder}, for" in err, f"no {holder}")
            silent.sendall(b"\nfarewell\n")
            silent.shutdown(socket.SHUT_WR)
            while lines.readline():
                pass
    expect_code(run(peer, SEND), PASSED)
    harness.expect(agent.running(), "the agent ended")


STRANGERS = ((b"220 mail\r\n", 'it is no agent; it says "220 mail'), (b"", "it is no agent: it says nothing"),
             (b"{}\n", 'it is no agent; it says "{}"'), (b"\x1b[2J\xff\n", 'it is no agent; it says "?[2J?"'),
             (b'{"urxe_drill": 7}\n', "it speaks version 7 of the protocol"),
             (b'{"urxe_drill": 2}\n', "it names no GID"),
             (b'{"urxe_drill": 2, "gid": "00000000000000000000ffff0a000002"}\n'
              b'{"error": "no\\u001b[2J"}\n', ": no?[2J"))


def expect_error_in_json(arguments, code, reason):
    """The defect: without an agent --json printed nothing."""
    ended = subprocess.run([harness.binary("urxe"), "drill", "--json", *arguments], capture_output=True, text=True, check=False)
    harness.expect(ended.returncode == code, f"exit code {ended.returncode}: {ended.stderr}")
    result, = json.loads(ended.stdout)
    harness.expect(reason in result["error"] and not result["passed"] and "script" not in result, str(result))


def no_agent(_other, peer):
    """What is at the other end, if it is no agent, is told apart."""
    _, _, err = expect_code(run(peer, SEND), NO_AGENT)
    harness.expect(f"nobody listens at {peer} port {PORT}" in err, "no reason")
    expect_error_in_json(["--peer", peer, SEND], NO_AGENT, "nobody listens at")
    expect_error_in_json(["--peer", "[::1", SEND], WRONG_USE, "--peer")
    listener = socket.create_server(("10.0.0.1", PORT))
    for hello, reason in STRANGERS:
        runner = harness.Process([harness.binary("urxe"), "drill", "--peer", "10.0.0.1", SEND], name="runner")
        with listener.accept()[0] as stranger:
            stranger.sendall(hello)
            stranger.shutdown(socket.SHUT_WR)
            harness.expect(runner.wait() == NO_AGENT and reason in runner.output, f"{hello}: {runner.output}")


def own_host(_other, _peer):
    """Packets from this host's port 4791 to itself never leave it: every script would fail."""
    agent = harness.Process(harness.urxe_run([harness.binary("urxe"), "drill", "--agent", "--keep"]), name="agent")
    agent.wait_for_listener(PORT)
    _, out, err = expect_code(run("10.0.0.1", SEND), WRONG_USE)
    harness.expect(not out and "the agent's device is on this host" in err, "no reason")
    harness.expect(agent.running(), "the agent ended")


WRONG = (["--agent", "--peer", "10.0.0.2"], ["--agent", SEND], ["--local", "10.0.0.1", SEND], ["--keep", SEND],
         ["--agent", "--gid-index", "256"], ["--agent", "--port", "65536"], ["--peer", "10.0.0.2"], [],
         ["--peer", "10.0.0.2:0", SEND], ["--peer", "[::1", SEND], ["--peer", ":1", SEND], ["--peer", "", SEND],
         ["--peer", "10.0.0.2", "--patience", "0", SEND])


def wrong_use(other, peer):
    for arguments in WRONG:
        ended = subprocess.run([harness.binary("urxe"), "drill", *arguments], capture_output=True, text=True, check=False)
        harness.expect(ended.returncode == WRONG_USE, f"{arguments}: exit code {ended.returncode}: {ended.stderr}")
        harness.expect(ended.stderr.startswith("urxe"), f"{arguments}: {ended.stderr}")
    start_agent(other, "--keep")
    for address, reason in (("nowhere", "'nowhere' is no IP address"), ("fd00::1", "different families"),
                            ("192.0.2.1", "192.0.2.1 is no address of this host")):
        _, _, err = expect_code(run(peer, "--local", address, SEND), WRONG_USE)
        harness.expect("--local: " in err and reason in err, f"no reason: {err}")
    for arguments, reason in ((["--device", "nobody"], "no RDMA device nobody"), (["--gid-index", "99"], "no such GID"),
                              (["--listen", "192.0.2.1"], "cannot listen on 192.0.2.1")):
        command = harness.urxe_run([harness.binary("urxe"), "drill", "--agent", *arguments])
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=harness.environment())
        harness.expect(ended.returncode == NO_AGENT and reason in ended.stderr, f"{arguments}: {ended.stderr}")


CASES = {case.__name__: case for case in (library, ipv6, wrong_script, wrong_cm_script, skipped, agent_killed, garbage,
                                          out_of_range, keep, busy, no_agent, own_host, wrong_use)}


def test():
    _, other = harness.two_hosts()
    CASES[sys.argv[1]](other, other.ipv4)


harness.main(test)
