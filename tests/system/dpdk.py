#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The DPDK engine: two processes joined by a memif, and net_af_packet on a veth. usage: dpdk.py CASE [ARGUMENT]

No huge pages, and for memif no right of any kind, are needed."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
import stock_programs
from harness import Process

DEVICE = "urxe_memif0"
IPV4, IPV6 = "0", "1"  # The GIDs, in the order of the table: IPv4 addresses come before IPv6 ones.
OURS, THEIRS = "10.44.0.1", "10.44.0.2"
PLUGIN = os.path.join(harness.build_directory(), "lib", "liburxe-dpdk.so")


def memif(role, address, more="", words="mtu=4200"):
    """--dpdk-args of an end of a memif. The socket's name is of this network namespace only."""
    last = address.rsplit(".", 1)[1]
    return ["--engine", "dpdk", "--dpdk-args",
            f"--vdev=net_memif0,role={role},id=0{more} -- address={address}/24,fd00:44::{last}/64 {words}"]


ENDS = (memif("server", OURS), memif("client", THEIRS))


def pair(program, *arguments, options=((), ()), gid="-g", index=IPV4, name=DEVICE, ends=ENDS):
    """Runs a program with a server and a client, each with its end of the memif. They exchange their numbers by TCP over
    lo. Returns what they print."""
    harness.need_programs(program)
    port = harness.free_port()
    words = [program, "-d", name, gid, index, "-p", str(port), *arguments]
    return harness.run_pair(harness.urxe_run(words, [*ends[0], *options[0]]),
                            harness.urxe_run([*words, "127.0.0.1"], [*ends[1], *options[1]]), port)


def leftovers():
    """DPDK's runtime directories, and files that lock devices."""
    places = ["/var/run/dpdk", "/tmp/dpdk", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "dpdk")]
    places += [os.path.join("/dev/shm", name) for name in os.listdir("/dev/shm") if name.startswith("urxe")]
    return {os.path.join(place, name) for place in places if os.access(place, os.R_OK | os.X_OK)
            for name in os.listdir(place) if name.startswith(("urxe-", "dpdk-"))}


BEFORE = leftovers()


def expect_nothing_left():
    harness.expect(leftovers() <= BEFORE, f"left: {leftovers() - BEFORE}")


def pingpongs(index):
    """The stock pingpongs; rc with events, too."""
    for program, *arguments in (["ibv_rc_pingpong", "-c"], ["ibv_rc_pingpong", "-e"], ["ibv_uc_pingpong", "-c"],
                                ["ibv_ud_pingpong", "-c", "-s", "2000"], ["ibv_srq_pingpong", "-c"]):
        for output in pair(program, *arguments, index=index):
            harness.expect("invalid data" not in output and "DPDK" not in output, output)
    expect_nothing_left()


def pingpongs_ipv4():
    pingpongs(IPV4)


def pingpongs_ipv6():
    pingpongs(IPV6)


def perftest(verb):
    """All sizes of one verb; the counters tell that nothing was lost."""
    for words in (["ib_%s_lat" % verb, "-F", "-n", "2000"], ["ib_%s_bw" % verb, "-F", "-n", "300", "-s", "1000000"],
                  ["ib_%s_bw" % verb, "-F", "-n", "300", "-q", "8"]):
        pair(*words, gid="-x")


def rping():
    """librdmacm finds the device by the address, which no interface of the kernel has."""
    harness.need_programs("rping")
    for address in (THEIRS, "fd00:44::2"):
        words = ["rping", "-d", "-a", address, "-C", "20", "-v"]
        server = Process(harness.urxe_run([*words, "-s"], ENDS[1]), "server")
        client = None
        for _ in range(20):  # rping does not wait for a server
            client = Process(harness.urxe_run([*words, "-c"], ENDS[0]), "client")
            if client.wait() == 0 or stock_programs.rping_lost_its_race(client.output):
                break
        for process in (client, server):
            stock_programs.finish(process)


def verify():
    """Random requests with faults: every byte is checked."""
    port = harness.free_port()
    words = [harness.binary("urxe_rc_verify"), "-d", DEVICE, "-g", IPV4, "-p", str(port)]
    small = ["--batches", "5", "--max-size", "300000", "--budget", "1000000", "--seed", "3"]
    faults = ["--fault", "loss=1%,reordering=1%,corruption=0.5%"]
    _, client = harness.run_pair(harness.urxe_run(words, [*ENDS[0], *faults]),
                                 harness.urxe_run([*words, *small, "127.0.0.1"], ENDS[1]), port)
    print(client)


def capture():
    harness.need_programs("tshark")
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("a.pcapng", "b.pcapng")]
        for index in (IPV4, IPV6):
            pair("ibv_rc_pingpong", "-n", "50", "-s", "10000", index=index,
                 options=[["--capture", file] for file in files])
        for file in files:
            subprocess.run([harness.binary("urxe_icrc_check"), file], check=True)


def killed():
    """A process that is killed leaves nothing that hinders the next, and its peer goes on with that one."""
    harness.need_programs("ib_write_bw")
    with tempfile.TemporaryDirectory() as folder:
        more = f",socket={folder}/memif.sock,socket-abstract=no"
        ends = (memif("server", OURS, more), memif("client", THEIRS, more))
        for victim in (0, 1):
            port = harness.free_port()
            words = ["ib_write_bw", "-d", DEVICE, "-x", IPV4, "-F", "-D", "60", "-u", "12", "-p", str(port)]
            server = Process(harness.urxe_run(words, ends[0]), "server")
            server.wait_for_listener(port)
            client = Process(harness.urxe_run([*words, "127.0.0.1"], ends[1]), "client")
            harness.wait_until(lambda: has_sent(client) or not client.running(), "packets", 60)
            harness.expect(client.running() and server.running(), f"{server.output}\n{client.output}")
            both = (server, client)
            both[victim].kill()
            if victim == 0:
                harness.expect(client.wait(100) > 0 and "status 12" in client.output,
                               f"the client did not get an error: {client.output}")
            else:
                # The server of a write bandwidth only waits; its engine must outlive the client.
                harness.wait_until(lambda: not client.running(), "the end")
                harness.expect(server.running() or server.wait() > 0, f"the server died: {server.output}")
                server.kill()
            pair("ibv_rc_pingpong", "-c", ends=ends)


def hung_up():
    """Peers that have hung up before a memif's server greets them: DPDK would go on watching the closed descriptor."""
    harness.need_programs("ibv_rc_pingpong")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memif.sock")
        ends = [memif(role, address, f",socket={path},socket-abstract=no")
                for role, address in (("server", OURS), ("client", THEIRS))]
        port = harness.free_port()
        words = ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-p", str(port)]
        server = Process(harness.urxe_run(words, ends[0]), "server")
        server.wait_for_listener(port)
        before = sockets(server)
        for peers in (1, 2, 1):
            os.kill(server.pid, signal.SIGSTOP)
            for _ in range(peers):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                    peer.connect(path)
            os.kill(server.pid, signal.SIGCONT)
            time.sleep(0.2)
        harness.wait_until(lambda: not server.running() or sockets(server) <= before, "the end of the connections")
        harness.expect(server.running(), f"the server died: {server.output}")
        client = Process(harness.urxe_run([*words, "127.0.0.1"], ends[1]), "client")
        client.expect_success()
        server.expect_success()


@contextlib.contextmanager
def busy_listener(path):
    """A memif's server that takes no connection, and has no room for another one."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener.bind(path)
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                peer = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
                peer.connect(path)
        yield
    os.unlink(path)


def busy_server():
    """A memif's client does not wait for a server that takes no connection, and connects once there is one that does.

    The defect: the driver waits for the server, and the program waited with it, in ibv_create_qp() or ibv_poll_cq()."""
    harness.need_programs("ibv_rc_pingpong")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memif.sock")
        more = f",socket={path},socket-abstract=no"
        port = harness.free_port()
        words = ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-c", "-p", str(port)]
        with busy_listener(path):
            client = Process(harness.urxe_run(words, memif("client", THEIRS, more)), "client")
            client.wait_for_listener(port)
        server = Process(harness.urxe_run([*words, "127.0.0.1"], memif("server", OURS, more)), "server")
        server.expect_success()
        client.expect_success()


def left_behind():
    """A device that is closed while its memif waits for such a server cannot be opened again until the server has ended."""
    program = ("import time\n"
               f"{MAKE}"
               "def use():\n"
               "    pd, qp = make()\n"
               "    time.sleep(0.3)\n"
               "    qp.close()\n"
               "    pd.close()\n"
               "use()\n"
               "try:\n"
               "    use()\n"
               "except Exception:\n"
               "    print('refused', flush=True)\n"
               "for attempt in range(100):\n"
               "    try:\n"
               "        use()\n"
               "        break\n"
               "    except Exception:\n"
               "        time.sleep(0.1)\n"
               "else:\n"
               "    raise SystemExit('it cannot be opened any more')\n")
    python = need_pyverbs()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memif.sock")
        options = memif("client", THEIRS, f",socket={path},socket-abstract=no")
        with busy_listener(path):
            client = Process(harness.urxe_run([python, "-W", "ignore", "-c", program], options), "client")
            harness.wait_until(lambda: "refused" in client.output or not client.running(), "the refusal")
            harness.expect(client.running() and "takes no connection" in client.output, client.output)
        client.expect_success()


def executed():
    """Programs that a memif's server has executed outlive it, and do not hinder the next server.

    The defect: they had DPDK's listening descriptor, so the socket of the process that had ended was still in use."""
    program = ("import subprocess, sys, time\n"
               f"{MAKE}"
               "made = make()\n"
               "child = subprocess.Popen(['sleep', '600'], close_fds=False, start_new_session=True)\n"
               "print(child.pid, flush=True)\n"
               "time.sleep(600)\n")
    python = need_pyverbs()
    server = Process(harness.urxe_run([python, "-W", "ignore", "-c", program], ENDS[0]), "server")
    printed = lambda: re.search(r"^\d+$", server.output, re.MULTILINE)
    harness.wait_until(lambda: printed() or not server.running(), "the child")
    harness.expect(printed(), server.output)
    child = int(printed().group())
    try:
        server.kill()
        pair("ibv_rc_pingpong", "-c")
    finally:
        os.kill(child, signal.SIGKILL)


def few_descriptors():
    """One line says so, and the program goes on. The defect: DPDK aborted it."""
    harness.need_programs("ibv_rc_pingpong")
    for limit in (24, 26, 28, 32):
        command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh",
                   *harness.urxe_run(["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4], ENDS[0])]
        ended = Process(command, f"with {limit}")
        harness.expect(ended.wait() in (1, 2) and "DPDK needs 20 descriptors" in ended.output,
                       f"{limit}: {ended.output}")


def long_names():
    """One program uses two ports whose names differ behind their fifteenth character."""
    program = f"{MAKE}kept = [make(f'urxe_null_together{{i}}') for i in (0, 1)]\nprint('done')\n"
    ports = ("net_null_together0", "net_null_together1")
    words = " ".join([*(f"--vdev={port}" for port in ports), "--",
                      *(f"port={port} address=10.44.{i}.1/24" for i, port in enumerate(ports))])
    options = ["--engine", "dpdk", "--dpdk-args", words]
    done = Process(harness.urxe_run([need_pyverbs(), "-W", "ignore", "-c", program], options)).expect_success()
    harness.expect(done == "done\n", done)


def started_by_program():
    """A program that has started EAL itself opens its device again and again: what DPDK keeps of it is used again."""
    listed = subprocess.run(["ldd", PLUGIN], check=True, capture_output=True, text=True).stdout
    library = next(line.split()[2] for line in listed.splitlines() if "librte_eal" in line)
    program = ("import ctypes\n"
               f"eal = ctypes.CDLL('{library}', ctypes.RTLD_GLOBAL)\n"
               "words = (b'p --no-pci --no-huge -m 256 --no-shconf --no-telemetry --log-level=critical -l 0 '\n"
               "         b'--vdev=net_null0').split()\n"
               "assert eal.rte_eal_init(len(words), (ctypes.c_char_p * len(words))(*words)) >= 0\n"
               f"{MAKE}"
               "for turn in range(3):\n"
               "    pd, qp = make('urxe_null0')\n"
               "    qp.close()\n"
               "    pd.close()\n"
               "    print(turn, flush=True)\n")
    options = ["--engine", "dpdk", "--dpdk-args", f"--vdev=net_null0 -- address={OURS}/24"]
    done = Process(harness.urxe_run([need_pyverbs(), "-W", "ignore", "-c", program], options)).expect_success()
    # DPDK itself may say on stderr that it was started already.
    harness.expect(re.findall(r"^\d$", done, re.MULTILINE) == ["0", "1", "2"], done)


def without_memory():
    """Where DPDK has failed to start it cannot be started again: each attempt says so, not that a port is missing."""
    program = ("import resource\n"
               f"{MAKE}"
               "for turn in range(2):\n"
               "    everything = resource.getrlimit(resource.RLIMIT_AS)\n"
               f"    resource.setrlimit(resource.RLIMIT_AS, ({600 << 20}, everything[1]))\n"
               "    try:\n"
               "        make('urxe_null0')\n"
               "    except Exception as error:\n"
               "        print(turn, error, flush=True)\n"
               "    resource.setrlimit(resource.RLIMIT_AS, everything)\n")
    options = ["--engine", "dpdk", "--dpdk-args", f"--no-huge -m 1024 --vdev=net_null0 -- address={OURS}/24"]
    done = Process(harness.urxe_run([need_pyverbs(), "-W", "ignore", "-c", program], options)).expect_success()
    harness.expect(done.count("Cannot allocate memory") >= 2 and "cannot be started again" in done and
                   "has no port" not in done, done)


def sockets(process):
    """The sockets of a process. (DPDK reopens some of its other descriptors under other numbers.)"""
    folder = f"/proc/{process.pid}/fd"
    found = set()
    for number in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(os.path.join(folder, number)))
    return {name for name in found if name.startswith("socket:")}


def has_sent(process):
    """Whether a queue pair of the process has sent packets."""
    shown = subprocess.run([harness.binary("urxe"), "stat", "--json", "--pid", str(process.pid)], capture_output=True,
                           text=True, check=False, env=harness.environment()).stdout
    devices = json.loads(shown)["devices"] if shown else []
    return any(qp["counters"]["sent_packets"] > 0 for device in devices for qp in device["queue_pairs"])


def refuse(options, words, program=None, env=None, command=("true",)):
    """`urxe run` ends with code 2 and one line that has these words, and nothing on stdout."""
    done = subprocess.run([program or harness.binary("urxe"), "run", *options, "--", *command], capture_output=True,
                          text=True, check=False, env=env or harness.environment())
    harness.expect(done.returncode == 2, f"{options} ends with {done.returncode}: {done.stderr}")
    harness.expect(done.stdout == "", f"{options} prints {done.stdout}")
    harness.expect(done.stderr.count("\n") == 1 and done.stderr.startswith("urxe ") and
                   all(word in done.stderr for word in words), f"{options}: {done.stderr}")


def dpdk(arguments):
    return ["--engine", "dpdk", "--dpdk-args", arguments]


def refused():
    """Bad input: one line, code 2, nothing left."""
    for arguments, words in (
            ("--vdef=net_memif0 -- address=10.0.0.1/24", ["--vdef", "no option"]),
            ("-l nonsense --vdev=net_null0 -- address=10.0.0.1/24", ["--dpdk-args"]),
            ("--vdev=net_nope0 -- address=10.0.0.1/24", ["net_nope0"]),
            ("--vdev=net_null0", ["net_null0", "address="]),
            ("-- address=10.0.0.1/24", ["no port", "--vdev"]),
            ("--help", ["--help"]),
            ("--vdev=net_null0 -- address=10.0.0.1", ["address=10.0.0.1 ", "prefix"]),
            ("--vdev=net_null0 -- address=10.0.0.1/24 mtu=1", ["mtu=1"]),
            ("--vdev=net_null0 -- address=10.0.0.1/24 gateway=10.9.0.1", ["10.9.0.1"]),
            ("--vdev=net_null0 -- port=net_null1 address=10.0.0.1/24", ["net_null1"]),
            ("--vdev=net_null0 --vdev=net_null1 -- address=10.0.0.1/24", ["port=NAME"]),
            ("--vdev=net_memif0 --vdev=net_memif0 -- address=10.0.0.1/24", ["net_memif0", "twice"]),
            ("--vdev=net_null0 -m 1 -- address=10.0.0.1/24 colour=red", ["colour=red"])):
        refuse(dpdk(arguments), words)
        environment = {**harness.environment(), "URXE_ENGINE": "dpdk", "URXE_DPDK_ARGS": arguments}
        refuse([], words, env=environment)
    refuse(["--dpdk-args", "--vdev=net_null0"], ["--engine dpdk"])
    refuse([*dpdk("--vdev=net_null0 -- address=10.0.0.1/24"), "--device", "x=net_null7"], ["net_null7"])
    expect_nothing_left()


def memif_path():
    """The path of a memif's socket: stale, in use, something else, in no directory."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memif.sock")
        options = memif("server", OURS, f",socket={path},socket-abstract=no")
        stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stale.bind(path)
        stale.close()
        subprocess.run(harness.urxe_run(["true"], options), check=True)
        harness.expect(not os.path.exists(path), "the socket is still there")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen()
            refuse(options, [path, f"process {os.getpid()}"])
        os.unlink(path)
        with open(path, "w", encoding="utf-8"):
            pass
        refuse(options, [path, "something else"])
        harness.expect(os.path.exists(path), "somebody's file is gone")
        refuse(memif("server", OURS, f",socket={folder}/nowhere/x,socket-abstract=no"), ["nowhere"])


def second():
    """The second process is told which one has the device, and the first does not notice."""
    harness.need_programs("ibv_rc_pingpong")
    port = harness.free_port()
    words = ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-p", str(port)]
    first = Process(harness.urxe_run(words, ENDS[0]), "first")
    first.wait_for_listener(port)
    refuse(ENDS[0], ["net_memif0", f"process {first.pid}"])
    done = subprocess.run([harness.binary("urxe"), "devices", *ENDS[0]], capture_output=True, text=True, check=False)
    harness.expect(done.returncode == 2 and f"process {first.pid}" in done.stderr, done.stderr)
    client = Process(harness.urxe_run([*words, "127.0.0.1"], ENDS[1]), "client")
    client.expect_success()
    first.expect_success()


def two_servers():
    """A program may have several memif servers at one socket, which their numbers tell apart."""
    harness.need_programs("rping")
    vdevs = " ".join(f"--vdev=net_memif{n},role=server,id={n}" for n in range(2))
    ports = " ".join(f"port=net_memif{n} address=10.{44 + n}.0.1/24" for n in range(2))
    options = ["--engine", "dpdk", "--dpdk-args", f"{vdevs} -- {ports}"]
    lines = subprocess.run([harness.binary("urxe"), "devices", *options], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    harness.expect([line.split()[0] for line in lines[1:]] == ["urxe_memif0", "urxe_memif1"], f"{lines}")
    server = Process(harness.urxe_run(["rping", "-s", "-P", "-p", "7400"], options), "server")
    for n in range(2):
        client = ["--engine", "dpdk", "--dpdk-args", f"--vdev=net_memif0,role=client,id={n} -- address=10.{44 + n}.0.2/24"]
        words = harness.urxe_run(["rping", "-c", "-V", "-C", "200", "-a", f"10.{44 + n}.0.1", "-p", "7400"], client)
        # rping does not wait for a server.
        harness.expect(any(Process(words, f"client {n}").wait() == 0 for _ in range(20)), server.output)
    harness.expect(server.running(), "the server ended")
    server.kill()
    server.wait()


def stranger():
    """Somebody else listens by the abstract name that is DPDK's default."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as taken:
        taken.bind("\0/run/memif.sock")
        taken.listen()
        pair("ibv_rc_pingpong", "-n", "10")
        taken.setblocking(False)
        try:
            taken.accept()
        except BlockingIOError:
            return
        raise AssertionError("a program has connected to somebody else's socket")


def absent():
    """Without the plug-in."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "urxe")
        subprocess.run(["cmake", "--install", harness.build_directory(), "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        os.unlink(os.path.join(prefix, "lib/urxe/liburxe-dpdk.so"))
        urxe = os.path.join(prefix, "bin", "urxe")
        refuse(dpdk("--vdev=net_null0 -- address=10.0.0.1/24"), ["liburxe-dpdk.so", "libdpdk-dev"], program=urxe)
        subprocess.run([urxe, "run", "--", "true"], check=True)


def devices():
    lines = subprocess.run([harness.binary("urxe"), "devices", *ENDS[0]], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    harness.expect(len(lines) == 2 and lines[1].split()[0] == DEVICE, f"{lines}")
    column = lines[0].index("ENGINE")
    harness.expect(lines[1][column:].split()[0] == "dpdk", lines[1])
    harness.expect("4200" in lines[1] and OURS in lines[1] and "fd00:44::1" in lines[1], lines[1])
    show = harness.urxe_run(["ibv_devinfo", "-d", DEVICE], ENDS[0])
    info = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    harness.expect("PORT_ACTIVE" in info and re.search(r"active_mtu:\s+4096", info), info)
    expect_nothing_left()


def need_pyverbs():
    """The Python that Debian's package is for."""
    python = "/usr/bin/python3"
    found = subprocess.run([python, "-c", "import pyverbs"], check=False, stderr=subprocess.DEVNULL)
    if found.returncode != 0:
        harness.skip("python3-pyverbs is not installed")
    return python


# For a program of pyverbs.
MAKE = ("import pyverbs.device as d, pyverbs.pd as p, pyverbs.cq as c, pyverbs.qp as q, pyverbs.enums as e\n"
        f"def make(name='{DEVICE}'):\n"
        "    context = d.Context(name=name)\n"
        "    pd, cq = p.PD(context), c.CQ(context, 10)\n"
        "    attributes = q.QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=q.QPCap())\n"
        "    return pd, q.QP(pd, attributes, q.QPAttr(port_num=1))\n")


def uninvolved():
    """The program's affinity, signal handlers, stdout, descriptors and children are its own."""
    program = ("import ctypes, os, signal, pyverbs.mr as m\n"
               f"{MAKE}"
               "before = os.sched_getaffinity(0)\n"
               "pd, qp = make()\n"
               "assert os.sched_getaffinity(0) == before, os.sched_getaffinity(0)\n"
               "assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL\n"
               "memory = m.MR(pd, 8192, e.IBV_ACCESS_LOCAL_WRITE)\n"
               "memory.write('seen', 4)\n"
               # Drivers of DPDK would take registered memory away from children (ibv_fork_init).
               "assert ctypes.CDLL('libibverbs.so.1').ibv_is_fork_initialized() != 1\n"
               "child = os.fork()\n"
               "if child == 0: os._exit(0 if memory.read(4, 0) == b'seen' else 1)\n"
               "assert os.waitpid(child, 0)[1] == 0\n"
               "print('done')\n")
    python = need_pyverbs()
    done = Process(harness.urxe_run([python, "-W", "ignore", "-c", program], ENDS[0])).expect_success()
    harness.expect(done == "done\n", done)
    expect_nothing_left()


def forked():
    """A child of fork() cannot use DPDK, and is told so."""
    program = ("import os\n"
               f"{MAKE}"
               "made = make()\n"
               "child = os.fork()\n"
               "if child == 0:\n"
               "    try:\n"
               "        make()\n"
               "    except Exception:\n"
               "        print('refused', flush=True)\n"
               "    os._exit(0)\n"
               "assert os.waitpid(child, 0)[1] == 0\n")
    python = need_pyverbs()
    done = Process(harness.urxe_run([python, "-W", "ignore", "-c", program], ENDS[0])).expect_success()
    harness.expect("refused\n" in done and "DPDK cannot be used after fork()" in done, done)


def unprivileged():
    """An ordinary user without any capability."""
    harness.need_programs("setpriv", "ibv_rc_pingpong")
    environment = harness.environment()
    environment.pop("XDG_RUNTIME_DIR", None)  # root's
    with harness.reachable_urxe() as urxe:
        port = harness.free_port()
        words = ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-c", "-p", str(port)]
        run = lambda end, *more: harness.unprivileged([urxe, "run", *ENDS[end], "--", *words, *more])
        harness.run_pair(run(0), run(1, "127.0.0.1"), port, env=environment)


@contextlib.contextmanager
def veth():
    """Yields (the other namespace, its IPv4); frames on the veth are single packets, as on a wire."""
    with harness.veth_pair(4500) as (other, ours, theirs):
        harness.without_offloads("urxa")
        harness.without_offloads("urxb", other.command([]))
        yield other, ours, theirs


def af_packet(engine):
    """A port on an interface that the kernel has, too, with programs of the other engines."""
    arguments = dpdk("--vdev=net_af_packet0,iface=urxa,framesz=8192,blocksz=65536,framecnt=512")
    with veth() as (other, ours, _):
        for index in ("1", "2"):
            for program in (["ibv_rc_pingpong", "-c", "-s", "65536"], ["ibv_ud_pingpong", "-c", "-s", "1024"]):
                harness.need_programs(program[0])
                port = harness.free_port()
                words = lambda name: [*program, "-d", name, "-g", index, "-p", str(port)]
                client = harness.urxe_run([*words("urxe_urxb"), ours], ["--engine", engine])
                harness.run_pair(harness.urxe_run(words("urxe_af_packet0"), arguments), other.command(client), port)
        icmp = subprocess.run(other.command(["nstat", "-az", "IcmpInDestUnreachs", "Icmp6InDestUnreachs"]), check=False,
                              capture_output=True, text=True).stdout
        harness.expect(not re.search(r"Unreachs\s+[1-9]", icmp), f"the kernel has answered: {icmp}")


CASES = {f.__name__: f for f in (pingpongs_ipv4, pingpongs_ipv6, perftest, rping, verify, capture, killed, refused,
                                 memif_path, second, two_servers, hung_up, busy_server, left_behind, executed,
                                 few_descriptors, long_names, started_by_program, without_memory, stranger, absent, devices,
                                 uninvolved,
                                 forked, unprivileged, af_packet)}


def test():
    if not os.path.exists(PLUGIN):
        harness.skip("there is no DPDK engine: libdpdk-dev was not installed when urxe was built")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.argv[1] == "af_packet":
        harness.need_namespaces()
    else:
        harness.isolate()
    CASES[sys.argv[1]](*sys.argv[2:])


harness.main(test)
