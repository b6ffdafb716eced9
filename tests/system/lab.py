#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab.py CASE: `urxe lab`, for root and for an ordinary user."""

import contextlib
import errno
import os
import pty
import re
import select
import shutil
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
from harness import expect

# In a lab: runs a client until it has met the server, $!, that is just starting.
RETRY = 'retry() { until "$@"; do kill -0 $! || exit 1; sleep 0.2; done; }\n'
PINGPONG = RETRY + """
urxe lab exec node2 -- ibv_rc_pingpong -g 1 -c &
retry ibv_rc_pingpong -g 1 -c node2 && wait $!
"""


def environment():
    env = harness.environment()
    # Root's own run-time directory is closed to the ordinary user.
    env.pop("XDG_RUNTIME_DIR", None)
    return env


@contextlib.contextmanager
def lab_command(ordinary):
    """The command line up to the options of `urxe lab`, for root (or whoever runs the test) or an ordinary user."""
    with harness.reachable_urxe() if ordinary else contextlib.nullcontext(harness.binary("urxe")) as urxe:
        command = [urxe, "lab"]
        if ordinary:
            command = harness.unprivileged(command)
        if (ordinary or not harness.is_root()) and not may_make_user_namespaces():
            harness.skip("this system lets ordinary users make no user namespaces")
        yield command


def may_make_user_namespaces():
    tried = harness.unprivileged(["unshare", "--user", "--net", "--map-root-user", "ip", "link", "set", "lo", "up"])
    return subprocess.run(tried, stderr=subprocess.DEVNULL).returncode == 0


def run(command, status=0, **options):
    """Runs it to its end. Returns what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=environment(), cwd="/", text=True, timeout=harness.PATIENCE, **options)
    print(done.stdout, flush=True)
    expect(done.returncode == status, f"{command} ended with {done.returncode}, not {status}")
    return done.stdout


def script(command, text, *options, status=0):
    return run([*command, *options, "--", "sh", "-c", text], status)


def names(ordinary):
    """Names resolve, the nodes reach each other, and each has a device with an IPv4 and an IPv6 address."""
    with lab_command(ordinary) as command:
        out = script(command, "for i in 1 2 3; do getent ahostsv4 node$i; getent ahostsv6 node$i-ip6; "
                              "urxe lab exec node$i -- hostname; urxe lab exec node$i -- urxe devices; done",
                     "--nodes", "3", "--mtu", "4200")
        for i in (1, 2, 3):
            for pattern in (rf"10\.0\.0\.{i} +STREAM", rf"fd00::{i} +STREAM", rf"^node{i}$",
                            rf"urxe_eth0 +eth0 +4200 +active.*1=10\.0\.0\.{i} , 2=fd00::{i}"):
                expect(re.search(pattern, out, re.M), f"no {pattern}")


def outside(ordinary):
    """`urxe lab exec` from another terminal: the lab that --lab names, with its files, its variables and the exit status."""
    with lab_command(ordinary) as command:
        labs = [subprocess.Popen([*command, "--nodes", str(nodes), "--", "sh", "-c", "echo ready; exec sleep 1000"], cwd="/",
                                 stdout=subprocess.PIPE, env=environment(), text=True) for nodes in (2, 3)]
        try:
            for one in labs:
                expect(one.stdout.readline() == "ready\n", "the lab has begun")
            first, second = (["exec", "--lab", f"{one.pid}"] for one in labs)
            commands = "hostname; pwd; urxe lab exec node1 hostname; echo $URXE_LAB; echo >/dev/shm/mark; exit 7"
            said = script([*command, *second], commands, "node3", status=7)
            expect(said.split() == ["node3", "/", "node1", "node1,node2,node3"], "in the node")
            run([*command, *second, "node3", "--", "test", "-e", "/dev/shm/mark"])
            run([*command, *first, "node2", "--", "test", "-e", "/dev/shm/mark"], status=1)
            one_line([*command, *first, "node3", "--", "true"], 2, "node3", "node1, node2")
            one_line([*command, "exec", "--lab", "1", "node1", "--", "true"], 2, "process 1 is no `urxe lab` of this user")
            one_line([*command, "exec", "node1", "--", "true"], 2, "--lab PID", f"{labs[0].pid} (node1, node2)",
                     f"{labs[1].pid} (node1, node2, node3)")
            killed = subprocess.Popen([*command, *first, "node1", "--", "sh", "-c", "echo joined; exec sleep 1000"], cwd="/",
                                      stdout=subprocess.PIPE, env=environment(), text=True)
            expect(killed.stdout.readline() == "joined\n", "it runs")
            labs[0].kill()
            expect(killed.wait(harness.PATIENCE) == 128 + signal.SIGKILL, "the end of the lab is the end of the command")
        finally:
            for one in labs:
                one.kill()
                one.wait()


def pingpong(ordinary):
    harness.need_programs("ibv_rc_pingpong")
    with lab_command(ordinary) as command:
        out = script(command, PINGPONG)
        expect(out.count("1000 iters") == 2, "the two sides did not finish")


def loss(ordinary):
    """A ping-pong ends with a packet that nobody waits for; perftest's two sides part over TCP."""
    harness.need_programs("ib_write_bw")
    with lab_command(ordinary) as command:
        text = (RETRY + "urxe lab exec node2 -- ib_write_bw -x 1 &\n"
                "retry ib_write_bw -x 1 node2 && wait $! || exit 1\n"
                "cd /sys/class/infiniband/urxe_eth0/ports/1/hw_counters\n"
                "echo lost $(cat fault_tx_lost) repaired $(cat completer_retry_err)")
        out = script(command, text, "--loss", "1%")
        lost, repaired = re.search(r"lost (\d+) repaired (\d+)", out).groups()
        expect(int(lost) > 0 and int(repaired) > 0, "no packet was lost, or none was sent again")


def delay(ordinary):
    """The delay is in what a program measures: half a round trip takes no less. And so is the rate."""
    harness.need_programs("ib_write_lat", "ib_write_bw", "ibv_rc_pingpong")
    with lab_command(ordinary) as command:
        # The last ACK of a ping-pong is on its way when the program that sent it ends.
        for _ in range(4):
            expect(script(command, PINGPONG, "--delay", "50us").count("1000 iters") == 2, "the two sides did not finish")
        latency = (RETRY + "urxe lab exec node2 -- ib_write_lat -x 1 -n 100 &\n"
                   "retry ib_write_lat -x 1 -n 100 node2 && wait $!")
        out = script(command, latency, "--delay", "2ms")
        least = [float(words.split()[2]) for words in re.findall(r"^ 2 +100 .*", out, re.M)]
        expect(len(least) == 2 and min(least) >= 2000, f"less than 2 ms: {least}")
        rate = (RETRY + "urxe lab exec node2 -- ib_write_bw -x 1 -n 200 &\n"
                "retry ib_write_bw -x 1 -n 200 node2 && wait $!")
        out = script(command, rate, "--rate", "400M")
        average = [float(words.split()[3]) for words in re.findall(r"^ 65536 +200 .*", out, re.M)]
        expect(len(average) == 2 and max(average) <= 50, f"more than 400 Mbit/s: {average}")


TOPOLOGY = """
switch rack1
switch rack2
link rack1 rack2 mtu=9000
node alice            # COMMAND runs in the first node
node bob
link alice rack1 mtu=9000
link bob rack2 mtu=9000
link alice bob loss=2% delay=1ms
"""


@contextlib.contextmanager
def topology_file(text):
    with tempfile.NamedTemporaryFile("w", suffix=".topology", dir="/dev/shm") as file:
        file.write(text)
        file.flush()
        os.chmod(file.name, 0o644)
        yield file.name


def topology(ordinary):
    """Two nodes reach each other through two switches, and by a link of their own, which alone loses packets.

    There perftest runs, for a ping-pong ends with a packet that nobody waits for."""
    harness.need_programs("ibv_rc_pingpong", "ib_write_bw")
    counters = "/sys/class/infiniband/urxe_$1/ports/1/hw_counters"
    text = RETRY + f"""
lost() {{ echo "lost on $1: $(cat {counters}/fault_tx_lost) $(cat {counters}/fault_rx_lost)"; }}
urxe lab exec bob -- urxe devices
urxe lab exec bob -- ibv_rc_pingpong -d urxe_eth0 -g 1 -c -m 4096 &
retry ibv_rc_pingpong -d urxe_eth0 -g 1 -c -m 4096 bob && wait $! || exit 1
urxe lab exec bob -- ib_write_bw -d urxe_eth1 -x 1 -n 100 &
retry ib_write_bw -d urxe_eth1 -x 1 -n 100 bob-eth1 && wait $! || exit 1
lost eth0; lost eth1
"""
    with lab_command(ordinary) as command, topology_file(TOPOLOGY) as file:
        out = script(command, text, "--topology", file)
    expect(out.count("1000 iters") == 2 and out.count("BW average") == 2, "not both ways carry packets")
    for pattern in (r"urxe_eth0 +eth0 +9000 +active.*1=10\.0\.0\.2 ", r"urxe_eth1 +eth1 +1500 +active.*1=10\.0\.2\.2 "):
        expect(re.search(pattern, out, re.M), f"no {pattern}")
    lost = {name: (int(sent), int(received)) for name, sent, received in re.findall(r"lost on (\w+): (\d+) (\d+)", out)}
    expect(lost["eth0"] == (0, 0), f"the switches lose packets: {lost}")
    expect(min(lost["eth1"]) > 0, f"the link between the nodes loses none, in some direction: {lost}")


NARROW = """
switch rack1
switch rack2
link rack1 rack2 mtu=1500
node alice
node bob
node carol
link alice rack1 mtu=9000
link bob rack2 mtu=9000
link carol rack1 mtu=3000
"""

# Counts the datagrams of each size, one by one, until one byte comes.
COUNTING = """
import collections, socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
    receiver.bind(("0.0.0.0", 5000))
    print("ready", flush=True)
    sizes = iter(lambda: len(receiver.recv(65536)), 1)
    print(dict(collections.Counter(sizes)))
"""

# Sends datagrams of some sizes, in a batch of four and one by one, and prints those that arrive. They do not overtake
# each other: one processor carries them.
SENDING = """
import os, socket, struct, subprocess, sys
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
node, sizes = sys.argv[1], list(map(int, sys.argv[2:]))
SOL_UDP, UDP_SEGMENT = 17, 103
receiver = subprocess.Popen(["urxe", "lab", "exec", node, "--", "python3", "-c", os.environ["COUNTING"]],
                            stdout=subprocess.PIPE, text=True)
receiver.stdout.readline()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    address = (node, 5000)
    sender.sendto(b"xx", address)  # Their addresses are resolved.
    for size in sizes:
        segment = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", size))]
        sender.sendmsg([bytes(4 * size)], segment, 0, address)
        sender.sendto(bytes(size), address)
    sender.sendto(b"x", address)
print(f"{node} has got {receiver.communicate()[0].strip()}")
"""


def narrow(ordinary):
    """A trunk and a link carry no packet that is larger than their MTU, be it in a batch or alone."""
    if not has_segmentation():
        harness.skip("this kernel does not segment UDP")
    with lab_command(ordinary) as command, topology_file(NARROW) as file:
        text = f"export COUNTING='{COUNTING}'; send() {{ python3 -c '{SENDING}' \"$@\"; }}\n" \
               "send bob 1400 1472 1477 4000 8000; send carol 1400 2972 2977 8000"
        out = script(command, text, "--topology", file)
    expect("bob has got {2: 1, 1400: 5, 1472: 5}" in out, "not what fits into 1500 bytes")
    expect("carol has got {2: 1, 1400: 5, 2972: 5}" in out, "not what fits into 3000 bytes")


def stat(ordinary):
    """`urxe stat --all` sees what runs in the other nodes, once each, and in nobody else's directory."""
    harness.need_programs("ibv_rc_pingpong")
    text = """
urxe lab exec node2 -- ibv_rc_pingpong -g 1 &
until urxe lab exec node2 -- urxe stat 2>/dev/null | grep -q pingpong; do kill -0 $! || exit 1; sleep 0.1; done
ibv_rc_pingpong -g 1 -p 18516 &
until urxe stat 2>/dev/null | grep -q pingpong; do kill -0 $! || exit 1; sleep 0.1; done
echo here $(urxe stat | grep -c pingpong) all $(urxe stat --all | grep -c pingpong)
echo from node2 $(urxe lab exec node2 -- urxe stat --all | grep -c pingpong)
URXE_LAB_HOLDERS=0,x urxe stat --all | grep -c pingpong
"""
    with lab_command(ordinary) as command:
        out = script(command, text)
    expect("here 1 all 2\nfrom node2 2\n1\n" in out, "not each once")


def has_segmentation():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.setsockopt(17, 103, 1000)  # SOL_UDP, UDP_SEGMENT
        except OSError:
            return False
        return True


def exit_codes(ordinary):
    with lab_command(ordinary) as command:
        script(command, "exit 7", status=7)
        script(command, "kill -TERM $$", status=128 + signal.SIGTERM)
        run([*command, "--nodes", "1", "--", "urxe-no-such-program"], 127)
        run([*command, "--nodes", "1", "/etc/hosts"], 126)
        script(command, "urxe lab exec node2 -- sh -c 'exit 9'", status=9)
        script(command, "urxe lab exec node2 sh -c 'test $(hostname) = node2'")
        script(command, "cd /usr && test $(urxe lab exec node2 -- pwd) = /usr")
        # By the remote shell that launchers of processes use.
        script(command, "test \"$(ssh -x -p 22 me@node2 hostname '&&' exit 5)\" = node2")
        script(command, "ssh node2 'exit 6'", status=6)
        script(command, "ssh node7 true", status=255)


def ignored_children(ordinary):
    """Whoever starts the lab may have SIGCHLD ignored: then the lab hung, and could not tell the status."""
    ignoring = ["python3", "-c", "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
                "os.execvp(sys.argv[1], sys.argv[1:])"]
    with lab_command(ordinary) as command:
        run([*ignoring, *command, "--nodes", "2", "--", "sh", "-c", "exit 7"], 7)
        script(command, f"{shlex.join(ignoring)} urxe lab exec node2 -- sh -c 'exit 9'", status=9)


def one_line(command, status, *words):
    out = run(command, status)
    lines = [line for line in out.splitlines() if "--help" not in line]
    expect(len(lines) == 1, f"not one line: {lines}")
    for word in words:
        expect(word in lines[0], f"no {word} in: {lines[0]}")


def expect_few_descriptors_told(command):
    """From a limit on that the dynamic linker and the shell can do with."""
    for limit in range(5, 12):
        limited = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command, "--", "true"]
        done = subprocess.run(limited, capture_output=True, text=True, env=environment(), check=False)
        expect(done.returncode == 0 or "Too many open files" in done.stderr, f"{limit}: {done}")


def wrong_use(ordinary):
    with lab_command(ordinary) as command:
        one_line([*command, "--nodes", "0", "--", "true"], 2, "--nodes", "64")
        one_line([*command, "--nodes", "65", "--", "true"], 2, "--nodes", "64")
        one_line([*command, "--nodes", "two", "--", "true"], 2, "--nodes")
        one_line([*command, "--mtu", "1000", "--", "true"], 2, "--mtu", "1280")
        one_line([*command, "--loss", "3", "--", "true"], 2, "--loss 3:", "5%")
        one_line([*command, "--delay", "3", "--", "true"], 2, "--delay 3:", "unit")
        one_line([*command, "--rate", "0G", "--", "true"], 2, "--rate 0G:", "10G")
        one_line([*command, "--loss", "1%,seed=x", "--", "true"], 2, "--loss 1%,seed=x:")
        one_line([*command, "--bogus", "--", "true"], 2, "--bogus")
        one_line([*command, "--topology", "/no/such", "--", "true"], 2, "/no/such", "No such file")
        one_line([*command, "--topology", "", "--", "true"], 2, "--topology", "is empty")
        one_line([*command, "--topology", "/etc/hosts", "--nodes", "2", "--", "true"], 2, "--topology", "--nodes")
        if not ordinary:
            expect_few_descriptors_told(command)
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            os.chmod(folder, 0o755)
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo, 0o644)
            for file in (fifo, folder, "/dev/zero"):
                one_line([*command, "--topology", file, "--", "true"], 2, file, "not a regular file")
        with topology_file("node a\nlink a b\n") as file:
            one_line([*command, "--topology", file, "--", "true"], 2, file, "line 2", "'b'")
        # Other tests run labs of this user.
        as_user = ["--user", "--map-current-user"] if ordinary or os.geteuid() != 0 else []
        alone = ["unshare", *as_user, "--pid", "--fork", "--mount-proc"]
        one_line([*command[:-2], *alone, *command[-2:], "exec", "node1", "--", "true"], 2, "no lab", "runs none")
        one_line([*command, "exec", "node1"], 2, "no program")
        one_line([*command, "--", "urxe", "lab", "exec", "node3", "--", "true"], 2, "node3", "node1, node2")


def everybody():
    return filter(str.isdigit, os.listdir("/proc"))


def descendants(pid):
    """The process, and what it and its children have started."""
    parents = {}
    for other in everybody():
        with contextlib.suppress(OSError), open(f"/proc/{other}/stat", encoding="utf-8", errors="replace") as file:
            parents[other] = file.read().rsplit(")", 1)[1].split()[1]
    found, new = set(), {str(pid)}
    while new:
        found |= new
        new = {one for one, parent in parents.items() if parent in new} - found
    return found


def namespaces(pids):
    """The namespaces of these processes: the name of each, and a path to it."""
    found = {}
    for pid in pids:
        for kind in ("pid", "net", "mnt", "ipc", "uts", "user"):
            path = f"/proc/{pid}/ns/{kind}"
            with contextlib.suppress(OSError):
                found[os.readlink(path)] = path
    return found


def networks(names):
    return [name for name in names if name.startswith("net:")]


def hold(found, held):
    """Opens the namespaces, so that nobody gets a namespace of the same name afterwards."""
    for name, path in found.items():
        with contextlib.suppress(OSError):
            held.enter_context(open(path, "rb"))
            if os.readlink(path) == name:
                yield name


def expect_nothing_left(command, end):
    """Starts a lab with busy nodes, ends it, and looks for what is left of it."""
    places = {place: os.listdir(place) for place in ("/dev/shm", "/tmp")}
    text = "urxe lab exec node2 -- sleep 1000 & urxe lab exec node3 -- sleep 1000 & echo $(hostname) is up; cat"
    lab = subprocess.Popen([*command, "--nodes", "3", "--", "sh", "-c", text], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, env=environment(), cwd="/", text=True)
    expect(lab.stdout.readline() == "node1 is up\n", "the lab does not start")
    ours = namespaces([os.getpid()])
    theirs = lambda: {name: path for name, path in namespaces(descendants(lab.pid)).items() if name not in ours}
    harness.wait_until(lambda: len(networks(theirs())) >= 4, "the lab and its nodes to have a network each")
    with contextlib.ExitStack() as held:
        made = set(hold(theirs(), held))
        expect(len(networks(made)) >= 4, f"few namespaces: {made}")
        end(lab)
        lab.wait(harness.PATIENCE)
        harness.wait_until(lambda: not made & namespaces(everybody()).keys(), "the processes of the lab to go")
    for place, there in places.items():
        expect(os.listdir(place) == there, f"left in {place}: {os.listdir(place)}")
    mounts = open("/proc/self/mounts", encoding="ascii").read()
    expect("urxe-lab" not in mounts, f"mounts are left: {mounts}")


def gone(ordinary):
    """Nothing is left after a normal end, and after signals that end the lab."""
    harness.own_files()
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with lab_command(ordinary) as command:
        # The copy of urxe for the ordinary user is in the old /tmp.
        copied = tempfile.mkdtemp(prefix="urxe-lab-", dir="/var/tmp")
        try:
            os.chmod(copied, 0o755)
            tree = os.path.dirname(os.path.dirname(command[-2]))
            for part in ("bin", "lib"):
                os.mkdir(f"{copied}/{part}")
                os.chmod(f"{copied}/{part}", 0o755)
            shutil.copy2(f"{tree}/bin/urxe", f"{copied}/bin")
            for name in os.listdir(f"{tree}/lib"):
                if ".so" in name:
                    shutil.copy2(f"{tree}/lib/{name}", f"{copied}/lib")
            command = [*command[:-2], f"{copied}/bin/urxe", "lab"]
            for place in ("/dev/shm", "/tmp"):
                harness.mount_tmpfs(place)
            expect_nothing_left(command, lambda lab: lab.stdin.close())
            for signal_number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
                expect_nothing_left(command, lambda lab: os.kill(lab.pid, signal_number))
        finally:
            for place in ("/tmp", "/dev/shm"):
                subprocess.run(["umount", place], check=False)
            shutil.rmtree(copied)


class Shell:
    """A lab's shell on a terminal of its own."""

    def __init__(self, command):
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # A job in the background begins with it ignored.
            env = {**environment(), "SHELL": "/bin/bash", "PROMPT_COMMAND": "echo at the prompt", "HOME": "/",
                   "HISTFILE": "/dev/null"}
            os.execvpe(command[0], command, env)
        self.output = ""

    def send(self, text):
        os.write(self._terminal, text.encode())

    def _read(self, patience):
        """What has come within the time; empty: nothing, or the terminal is closed."""
        if not select.select([self._terminal], [], [], patience)[0]:
            return ""
        try:
            return os.read(self._terminal, 65536).decode(errors="replace")
        except OSError as error:  # The other end is closed.
            expect(error.errno == errno.EIO, str(error))
            return ""

    def expect(self, text, after=""):
        """Reads until the text has come, behind the place where `after` has come first."""
        deadline = time.monotonic() + harness.PATIENCE
        while text not in self.output.partition(after)[2] if after else text not in self.output:
            expect(time.monotonic() < deadline, f"no {text!r} in {self.output!r}")
            self.output += self._read(1)

    def wait(self):
        while chunk := self._read(harness.PATIENCE):
            self.output += chunk
        print(self.output)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def shell(ordinary):
    """Without a command: the shell has the terminal, with job control, and Ctrl-C goes to its jobs only."""
    harness.need_programs("bash")
    with lab_command(ordinary) as command:
        terminal = Shell([*command, "--nodes", "2"])
        terminal.expect("urxe lab exec node2")
        terminal.send("echo sum $((6 * 7)) in $(hostname) on $(tty)\n")
        terminal.expect("sum 42 in node1 on /dev/pts/")
        # sed has no handler for SIGINT; dash has one, which may miss a signal while it starts a child.
        terminal.send("sed -u s/mouse/cat/\n")
        terminal.send("a mouse\n")
        terminal.expect("a cat")
        terminal.send("\x03")
        # The terminal throws away what is typed before the signal has done its work.
        terminal.expect("at the prompt", after="^C")
        terminal.send("echo status $?\n")
        terminal.expect("status 130")
        terminal.send("urxe lab exec node2 -- sh -c 'read line; echo $(hostname) has read $line'\nhello\n")
        terminal.expect("node2 has read hello")
        terminal.send("exit 5\n")
        expect(terminal.wait() == 5, "the shell's exit status is lost")


def interrupted(ordinary):
    """Ctrl-C while the lab is being made ends it, without a word of its nodes."""
    with lab_command(ordinary) as command:
        terminal = Shell([*command, "--nodes", "30", "--", "sleep", "1000"])
        harness.wait_until(lambda: len(descendants(terminal.pid)) > 2, "the first node")
        terminal.send("\x03")
        status = terminal.wait()
        # `urxe lab` itself is ended by the signal if it has not come to waiting for the lab yet.
        expect(status in (130, -signal.SIGINT), f"ended with {status}")
        expect("urxe lab:" not in terminal.output, terminal.output)


def forbidden(_ordinary):
    """Where ordinary users can make no user namespaces, one line says what to do."""
    if not harness.is_root():
        harness.skip("needs root, for a user namespace whose limits are its own")
    urxe = harness.binary("urxe")
    limits = "echo 0 > /proc/sys/user/max_user_namespaces && "
    dropped = "exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "
    one_line(["unshare", "--user", "--map-root-user", "sh", "-c", limits + dropped + f"{urxe} lab -- true"], 125,
             "sysctl user.max_user_namespaces", "as root")


def mpi(launcher):
    """The launchers of MPI reach the other nodes; each rank sees its node's device."""
    harness.need_programs(launcher)
    with lab_command(True) as command:
        hosts = ["-hosts", "node1,node2,node3"] if "mpich" in launcher else ["--host", "node1,node2,node3"]
        rank = "echo $(hostname) has $(ls /sys/class/infiniband) $(cat /sys/class/infiniband/urxe_eth0/ports/1/gids/1)"
        out = run([*command, "--nodes", "3", "--", launcher, "-np", "3", *hosts, "sh", "-c", rank])
        for i in (1, 2, 3):
            line = f"node{i} has urxe_eth0 0000:0000:0000:0000:0000:ffff:0a00:000{i}"
            expect(line in out, f"no line: {line}")


def no_hosts_file(ordinary):
    """A minimal system, as debootstrap makes it, has no /etc/hosts."""
    harness.need_programs("unshare", "getent", "ibv_rc_pingpong")
    user = [] if harness.is_root() and not ordinary else ["--user", "--map-root-user"]
    with tempfile.TemporaryDirectory() as folder, lab_command(ordinary) as command:
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, "etc")
        subprocess.run(["cp", "-a", "/etc", copy], stderr=subprocess.DEVNULL, check=False)  # some only root can read
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(copy, "hosts"))
        without = ["unshare", *user, "--mount", "sh", "-c", f"mount --bind '{copy}' /etc && exec \"$@\"", "sh"]
        before, urxe = command[:-2], command[-2:]
        out = run([*before, *without, *urxe, "--nodes", "2", "--", "sh", "-c", "getent ahostsv4 node2; " + PINGPONG])
        expect("10.0.0.2" in out, "node2 has no address")


CASES = {case.__name__: case for case in (names, outside, pingpong, loss, delay, topology, narrow, stat, exit_codes,
                                          ignored_children, wrong_use, gone, shell, interrupted, no_hosts_file, forbidden)}


def test():
    harness.need_programs("ip", "setpriv")
    if sys.argv[1] == "mpi":
        mpi(sys.argv[2])
    else:
        CASES[sys.argv[1]](sys.argv[2:] == ["user"])


if __name__ == "__main__":
    harness.main(test)
