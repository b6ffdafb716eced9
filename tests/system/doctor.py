#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""doctor.py CASE: what `urxe doctor` says of machines that are fine and of those that are not."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import harness
import stock_programs

LEVELS = ("ok", "note", "problem")


def run(*options, prefix=(), env=None):
    return subprocess.run([*prefix, harness.binary("urxe"), "doctor", *options], capture_output=True, text=True,
                          env=env or harness.environment(), timeout=harness.PATIENCE)


def examine(*options, expected, prefix=()):
    """The findings, after a look at the exit code."""
    done = run("--json", *options, prefix=prefix)
    harness.expect(done.returncode == expected, f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    for finding in report["findings"]:
        harness.expect(finding["level"] in LEVELS and finding["what"], finding)
        harness.expect(finding["level"] != "problem" or finding["advice"], f"no advice: {finding}")
    harness.expect(report["problems"] == len(of_level(report["findings"], "problem")), report)
    return report["findings"]


def of_level(findings, level):
    return [finding for finding in findings if finding["level"] == level]


def expect_finding(findings, name, level, *words):
    """One of the findings has the name and level, and all the words."""
    for finding in findings:
        text = finding["what"] + " " + finding.get("advice", "")
        if (finding["name"], finding["level"]) == (name, level) and all(word in text for word in words):
            return
    harness.fail(f"no {level} of {name} with {words} in {json.dumps(findings, indent=1)}")


def fine():
    """Each address of the loopback interface is pinged, and nothing is wrong."""
    harness.need_namespaces()
    findings = examine(expected=0)
    expect_finding(findings, "libibverbs", "ok", "private ABI", "liburxe-rdmav")
    expect_finding(findings, "interface", "ok", "lo is urxe_lo", "path MTU 4096", "GID 0 127.0.0.1")
    expect_finding(findings, "port", "ok", "free")
    expect_finding(findings, "preload", "ok", "loaded")
    expect_finding(findings, "self-ping", "ok", "urxe_lo 127.0.0.1:", "the median of")
    expect_finding(findings, "self-ping", "ok", "urxe_lo ::1:", "the median of")


def text():
    """The text has a line for each of the findings that JSON has."""
    harness.need_namespaces()
    names = [finding["name"] for finding in examine(expected=0)]
    done = run()
    harness.expect(done.returncode == 0, done.stderr)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    harness.expect([line.split()[1] for line in lines] == names, done.stdout)
    harness.expect(not done.stderr, done.stderr)


def lo_down():
    harness.need_namespaces()
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    findings = examine(expected=1)
    expect_finding(findings, "interface", "problem", "no interface is up", "ip link set lo up")
    harness.expect("self-ping" not in [finding["name"] for finding in findings], "pings without a device")


def port_taken():
    """By a program that has nothing to do with urxe; the ping fails, too."""
    harness.need_namespaces()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("0.0.0.0", 4791))
        findings = examine(expected=1)
    expect_finding(findings, "port", "problem", "all addresses", f"process {os.getpid()}")
    expect_finding(findings, "self-ping", "problem", "urxe_lo 127.0.0.1", "4791")
    expect_finding(findings, "self-ping", "ok", "urxe_lo ::1")
    examine(expected=0)


def bound_to_4791(process="self", table="udp"):
    with open(f"/proc/{process}/net/{table}", encoding="ascii") as sockets:
        return any(line.split()[1].endswith(":12B7") for line in sockets)


def port_shared():
    """Programs under urxe are in nobody's way, and are not disturbed."""
    harness.need_namespaces()
    harness.need_programs("rping")
    server = harness.Process(harness.urxe_run(["rping", "-d", "-s", "-a", "127.0.0.1", "-C", "3"]), name="server")
    harness.wait_until(bound_to_4791, "the server's sockets")
    findings = examine(expected=0)
    expect_finding(findings, "port", "ok", "shared with 1 urxe process")
    expect_finding(findings, "slots", "ok", "1 of 512 taken")
    expect_finding(findings, "self-ping", "ok", "urxe_lo 127.0.0.1")
    client = harness.urxe_run(["rping", "-d", "-c", "-a", "127.0.0.1", "-C", "3"])
    for process in (harness.Process(client, name="client"), server):
        stock_programs.finish(process)


def firewall():
    """The rule is found, and so is its effect."""
    harness.need_namespaces()
    harness.need_programs("nft")
    rules = "add table inet t; add chain inet t i { type filter hook input priority 0; }; " \
            "add rule inet t i udp dport 4791 drop"
    if subprocess.run(["nft", rules], capture_output=True).returncode != 0:
        harness.skip("this kernel has no nftables")
    findings = examine(expected=1)
    expect_finding(findings, "firewall", "problem", "inet t i")
    expect_finding(findings, "self-ping", "problem", "urxe_lo 127.0.0.1", "no acknowledgement")
    subprocess.run(["nft", "flush ruleset; add table inet t; add chain inet t i "
                           "{ type filter hook input priority 0; policy drop; }; add rule inet t i iifname lo accept"],
                   check=True)
    expect_finding(examine(expected=0), "firewall", "note", "inet t i", "dport 4791 accept")
    for last in ("drop", "reject with icmpx type admin-prohibited", "meta l4proto udp drop"):
        subprocess.run(["nft", "flush ruleset; add table inet t; add chain inet t i { type filter hook input priority 0; }; "
                               f"add rule inet t i iifname lo accept; add rule inet t i {last}"], check=True)
        expect_finding(examine(expected=0), "firewall", "note", "inet t i", "dport 4791 accept")
    subprocess.run(["nft", "insert rule inet t i udp dport 4791 accept; add chain inet t unused; "
                           "add rule inet t unused udp dport 4791 drop"], check=True)
    expect_finding(examine(expected=0), "firewall", "ok")


def soft_roce():
    """A machine with rxe0, made up: the root for tests has what sysfs would show."""
    harness.need_namespaces()
    with tempfile.TemporaryDirectory() as root:
        device = os.path.join(root, "sys/class/infiniband/rxe0")
        os.makedirs(device)
        with open(os.path.join(device, "parent"), "w", encoding="ascii") as parent:
            parent.write("lo\n")
        os.environ["URXE_REAL_ROOT"] = root
        expect_finding(examine(expected=0), "soft-roce", "note", "rxe0 on lo", "rdma link delete rxe0")


def expect_static_program_is_told(option):
    with tempfile.TemporaryDirectory() as folder:
        static = os.path.join(folder, "static")
        built = subprocess.run(["gcc", option, "-x", "c", "-o", static, "-"], input="int main(void) { return 0; }",
                               text=True, capture_output=True)
        if built.returncode != 0:
            harness.skip("gcc cannot link statically")
        expect_finding(examine("--program", static, expected=1), "program", "problem", "statically")
        told = subprocess.run(harness.urxe_run([static]), capture_output=True, text=True, env=harness.environment())
        harness.expect(told.returncode == 0, f"{told.returncode} {told.stderr}")
        harness.expect(told.stderr.startswith("urxe run: program: ") and told.stderr.count("\n") == 1, told.stderr)
        harness.expect("statically" in told.stderr, told.stderr)


def linker_of(program):
    """The dynamic linker that the program asks for."""
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"program interpreter: ([^]]*)]", headers)[1]


def linker():
    """A dynamic linker that is started as a program is no static one: what it loads sees the devices."""
    harness.isolate()
    harness.need_programs("readelf", "ibv_devices")
    devices = shutil.which("ibv_devices")
    for words, output in (([devices], "urxe_lo"), (["--list", devices], "libibverbs.so.1")):
        command = harness.urxe_run([linker_of(devices), *words])
        told = subprocess.run(command, capture_output=True, text=True, env=harness.environment())
        harness.expect(told.returncode == 0 and not told.stderr and output in told.stdout, told)


def program():
    """Programs into which nothing can be preloaded; `urxe run` says so by one line."""
    harness.need_namespaces()
    harness.need_programs("gcc")
    expect_finding(examine("--program", "sh", expected=0), "program", "ok", "dynamically")
    expect_finding(examine("--program", "/nonexistent", expected=1), "program", "problem", "cannot be read")
    for option in ("-static", "-static-pie"):
        expect_static_program_is_told(option)
    told = subprocess.run(harness.urxe_run(["true"]), capture_output=True, text=True, env=harness.environment())
    harness.expect(told.returncode == 0 and not told.stderr, told.stderr)


def incomplete():
    """Where the provider is missing, doctor and `urxe run` say so; of damaged objects the trial tells."""
    harness.need_namespaces()
    with tempfile.TemporaryDirectory() as folder:
        urxe = os.path.join(folder, "bin", "urxe")
        libraries = os.path.join(folder, "lib")
        os.mkdir(os.path.join(folder, "bin"))
        os.mkdir(libraries)
        shutil.copy2(harness.binary("urxe"), urxe)
        shutil.copy2(os.path.join(harness.build_directory(), "lib", "liburxe-presence.so"), libraries)
        findings = examine_with(urxe)
        expect_finding(findings, "libibverbs", "problem", "liburxe-rdmav")
        expect_finding(findings, "self-ping", "problem", "libibverbs does not show urxe_lo", "liburxe-rdmav")
        told = subprocess.run([urxe, "run", "--", "true"], capture_output=True, text=True, env=harness.environment())
        harness.expect(told.stderr.startswith("urxe run: libibverbs: ") and told.stderr.count("\n") == 1, told.stderr)
        for abi in (34, 57, 59, 64, 65):
            with open(os.path.join(libraries, f"liburxe-rdmav{abi}.so"), "w", encoding="ascii") as damaged:
                damaged.write("not a library")
        findings = examine_with(urxe)
        expect_finding(findings, "libibverbs", "problem", "cannot be loaded", "no ELF file")
        expect_finding(findings, "self-ping", "problem", "libibverbs does not show urxe_lo")
        with open(os.path.join(libraries, "liburxe-presence.so"), "w", encoding="ascii") as damaged:
            damaged.write("not a library")
        expect_finding(examine_with(urxe), "self-ping", "problem", "cannot preload", "no ELF file", "as a whole")


def damaged():
    """`urxe run` says by one line which of its objects is damaged: one that is cut off kills the programs it is loaded
    into. And which program will see no devices, because it is started without the variables."""
    harness.need_namespaces()
    harness.need_programs("ibv_devices")
    with tempfile.TemporaryDirectory() as folder:
        urxe = os.path.join(folder, "bin", "urxe")
        shutil.copytree(os.path.join(harness.build_directory(), "lib"), os.path.join(folder, "lib"),
                        ignore=lambda _, names: [name for name in names if not name.endswith(".so")])
        os.mkdir(os.path.join(folder, "bin"))
        shutil.copy2(harness.binary("urxe"), urxe)
        run_with(urxe, "ibv_devices")
        provider = next(word for word in run("--json").stdout.split() if "liburxe-rdmav" in word).strip('",')
        for name, refused in ((os.path.basename(provider), False), ("liburxe-presence.so", True)):
            file = os.path.join(folder, "lib", name)
            with open(file, "rb") as whole:
                content = whole.read()
            for bytes_left, words in ((b"garbage", "no ELF file"), (content[:20000], "end is missing")):
                with open(file, "wb") as cut:
                    cut.write(bytes_left)
                told = run_with(urxe, "true", expected=125 if refused else 0)
                for word in (file, words, "as a whole"):
                    harness.expect(word in told, f"no {word}: {told}")
            with open(file, "wb") as whole:
                whole.write(content)
    told = run_with(harness.binary("urxe"), "env", "-i", "ibv_devices", expected=None)
    harness.expect("env (" in told and "clear the environment" in told and "urxe run" in told, told)


def run_with(urxe, *command, expected=0):
    """What `urxe run` says; it is a line, and the program says nothing."""
    done = subprocess.run([urxe, "run", "--", *command], capture_output=True, text=True, env=harness.environment())
    harness.expect(expected is None or done.returncode == expected, f"{command}: {done.returncode} {done.stderr}")
    told = [line for line in done.stderr.splitlines() if line.startswith("urxe run: ")]
    harness.expect(len(told) <= 1, done.stderr)
    return "".join(told)


def examine_with(urxe):
    done = subprocess.run([urxe, "doctor", "--json"], capture_output=True, text=True, env=harness.environment())
    harness.expect(done.returncode == 1, f"{done.returncode} {done.stdout}{done.stderr}")
    return json.loads(done.stdout)["findings"]


def limits():
    """Few descriptors are told before programs fail."""
    harness.need_namespaces()
    done = examine(expected=1, prefix=["prlimit", "--nofile=40", "--"])
    expect_finding(done, "limits", "problem", "40 files", "ulimit -n")
    done = examine(expected=1, prefix=["prlimit", "--nofile=6", "--"])
    expect_finding(done, "limits", "problem", "6 files", "hard limit, which is 6")
    failed = [finding for finding in of_level(done, "problem") if finding["name"] != "limits"]
    harness.expect(failed and all("limit of open files" in finding["advice"] for finding in failed), failed)


def faults():
    """What the environment asks for is told, and nobody else is blamed for it."""
    harness.need_namespaces()
    os.environ["URXE_FAULTS"] = "loss=100%"
    findings = examine(expected=1)
    expect_finding(findings, "environment", "note", "loss=100%")
    expect_finding(findings, "self-ping", "problem", "urxe_lo 127.0.0.1", "unset URXE_FAULTS")
    harness.expect("a firewall" not in json.dumps(of_level(findings, "problem")), findings)
    os.environ["URXE_FAULTS"] = "nonsense"
    expect_finding(examine(expected=1), "environment", "problem", "URXE_FAULTS is wrong", "nonsense")
    del os.environ["URXE_FAULTS"]
    os.environ["URXE_SHM"] = "no"
    expect_finding(examine(expected=0), "environment", "note", "URXE_SHM", "'no'", "0 and 1")


def taken_at_peer():
    """A program that does no RDMA has the port at the peer."""
    _, other = harness.two_hosts()
    taken = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 4791)); s.recv(1); input()"
    holder = harness.Process(other.command([sys.executable, "-c", taken]))
    harness.wait_until(lambda: bound_to_4791(holder.pid), "its socket")
    findings = examine(other.ipv4, expected=1)
    expect_finding(findings, "peer", "problem", "does not answer", "may have UDP port 4791", "ss -ulpn")
    holder.kill()


def full_shm():
    """The next place is used, and that is no problem."""
    harness.own_files()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    harness.mount_tmpfs("/tmp")
    harness.mount_tmpfs("/dev/shm", "mode=1777,size=16k")
    findings = examine(expected=0)
    expect_finding(findings, "directory", "note", "/dev/shm: 16 KiB are free", "/tmp is used")
    expect_finding(findings, "self-ping", "ok", "urxe_lo 127.0.0.1")


def squatted():
    """Another user has made the directory first."""
    harness.own_files()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    harness.mount_tmpfs("/dev/shm")
    os.mkdir("/dev/shm/urxe-0")
    os.chown("/dev/shm/urxe-0", harness.NOBODY, harness.NOBODY)
    expect_finding(examine(expected=0), "directory", "note", "belongs to another user", "random suffix")
    expect_finding(examine(expected=0), "directory", "note", "/dev/shm/urxe-0-", "is used")


def no_proc():
    """That is all that is said: the other checks would blame something else."""
    harness.own_files()
    harness.mount_tmpfs("/proc")
    findings = examine(expected=1)
    expect_finding(findings, "proc", "problem", "/proc/self/exe", "mount -t proc")
    harness.expect(len(findings) == 1, findings)


def unprivileged():
    """An ordinary user gets the same, but for what only root can read."""
    harness.need_programs("setpriv")
    harness.need_namespaces()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    with harness.reachable_urxe() as urxe:
        done = subprocess.run(harness.unprivileged([urxe, "doctor", "--json"]), capture_output=True, text=True,
                              env=harness.environment())
        harness.expect(done.returncode == 0, f"{done.returncode} {done.stdout}{done.stderr}")
        findings = json.loads(done.stdout)["findings"]
        expect_finding(findings, "firewall", "note", "were not read")
        expect_finding(findings, "self-ping", "ok", "urxe_lo 127.0.0.1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
            holder.bind(("127.0.0.1", 4791))
            done = subprocess.run(harness.unprivileged([urxe, "doctor", "--json"]), capture_output=True, text=True,
                                  env=harness.environment())
        harness.expect(done.returncode == 1, f"{done.returncode} {done.stdout}{done.stderr}")
        expect_finding(json.loads(done.stdout)["findings"], "port", "problem", "127.0.0.1", "user 0")


def wrong_use():
    harness.isolate()
    for options in (["--nonsense"], ["--engine", "nonsense"], ["--device", "a=nonexistent"], ["--program"], [""]):
        done = run(*options)
        harness.expect(done.returncode == 2, f"{options}: {done.returncode} {done.stdout}")
        harness.expect(done.stderr.startswith("urxe"), done.stderr)
    harness.expect(run("--help").returncode == 0, "--help")


def under_run():
    """Doctor leaves the environment of a `urxe run` around it."""
    harness.need_namespaces()
    examine(expected=0, prefix=[harness.binary("urxe"), "run", "--"])


def peer():
    """A peer without RDMA, one that runs urxe, and one behind a firewall."""
    harness.need_programs("rping")
    here, other = harness.two_hosts()
    findings = examine(other.ipv4, expected=1)
    expect_finding(findings, "peer", "problem", other.ipv4, "nobody has UDP port 4791")
    server = harness.Process(other.command(harness.urxe_run(["rping", "-d", "-s", "-a", other.ipv4, "-C", "3"])))
    harness.wait_until(lambda: bound_to_4791(server.pid), "the server's sockets")
    findings = examine(other.ipv4, expected=0)
    expect_finding(findings, "peer", "ok", f"packets to {other.ipv4} may have 1500 bytes", "path MTU 1024")
    expect_finding(findings, "peer", "ok", f"connection manager of {other.ipv4} answers", "the median of 5")
    expect_finding(examine("10.98.0.1", expected=1), "peer", "problem", "10.98.0.1 cannot be reached")
    subprocess.run(["ip", "route", "change", "10.0.0.0/24", "dev", here.interface, "src", here.ipv4, "mtu", "700"],
                   check=True)
    expect_finding(examine(other.ipv4, expected=0), "peer", "note", "may have 700 bytes", "path MTU 512. That of this host")
    client = harness.urxe_run(["rping", "-d", "-c", "-a", other.ipv4, "-C", "3"])
    for process in (harness.Process(client), server):
        stock_programs.finish(process)


def silent_peer():
    """A peer whose firewall drops what comes."""
    harness.need_programs("nft")
    _, other = harness.two_hosts()
    rules = "add table inet t; add chain inet t i { type filter hook input priority 0; }; " \
            "add rule inet t i udp dport 4791 drop"
    if subprocess.run(other.command(["nft", rules]), capture_output=True).returncode != 0:
        harness.skip("this kernel has no nftables")
    findings = examine(other.ipv4, expected=1)
    expect_finding(findings, "peer", "problem", f"connection manager of {other.ipv4} does not answer", "firewall")


def black_hole():
    """Something on the way drops large packets, and says nothing."""
    harness.need_programs("rping", "nft")
    _, other = harness.two_hosts(mtu=4200)
    for address in (other.ipv4, other.ipv6):
        server = harness.Process(other.command(harness.urxe_run(["rping", "-s", "-a", address, "-P"])))
        harness.wait_until(lambda: bound_to_4791(server.pid, "udp6" if ":" in address else "udp"), "the server's sockets")
        findings = examine(address, expected=0)
        expect_finding(findings, "peer", "ok", f"packets to {address} may have 4200 bytes", "path MTU 4096 arrive")
    subprocess.run(other.command(["ip", "link", "set", other.interface, "mtu", "1400"]), check=True)
    for address in (other.ipv4, other.ipv6):
        findings = examine(address, expected=1)
        expect_finding(findings, "peer", "problem", f"packets to {address} may have 4200 bytes", "path MTU 2048 do not",
                       "path MTU 1024 do", "to 1112")
        expect_finding(findings, "peer", "ok", "connection manager", "answers")
    rules = "add table inet t; add chain inet t i { type filter hook input priority 0; }; " \
            "add rule inet t i udp dport != 4791 drop"
    if subprocess.run(other.command(["nft", rules]), capture_output=True).returncode != 0:
        harness.skip("this kernel has no nftables")
    findings = examine(other.ipv4, expected=0)
    expect_finding(findings, "peer", "note", "path MTU 4096", "whether those arrive is not known")


def no_failure_of_stat():
    """A ping that fails is not among the failures of the user's programs."""
    harness.need_namespaces()
    harness.own_files()
    harness.mount_tmpfs("/dev/shm")  # Failures of other tests are kept there.
    done = run("--device", "lo", env=harness.environment() | {"URXE_FAULTS": "loss=100%"})
    harness.expect(done.returncode == 1 and "self-ping" in done.stdout, done)
    done = subprocess.run([harness.binary("urxe"), "stat", "--why"], capture_output=True, text=True,
                          env=harness.environment(), timeout=harness.PATIENCE)
    harness.expect(done.returncode == 0, f"{done.stdout}{done.stderr}")


CASES = {case.__name__: case for case in (
    fine, text, lo_down, port_taken, port_shared, firewall, soft_roce, program, linker, incomplete, damaged, limits, faults,
    taken_at_peer, full_shm, squatted, no_proc, unprivileged, wrong_use, under_run, peer, silent_peer, black_hole,
    no_failure_of_stat)}


def test():
    CASES[sys.argv[1]]()


harness.main(test)
