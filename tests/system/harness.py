# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts that run programs under urxe share: where things are, private network namespaces, two hosts of one
fabric, processes whose output is kept, and pairs of a server and a client.

Environment, set by CMake for each test:
  URXE_BUILD           the build directory
  URXE_SANITIZER       address, thread or nothing: what the provider was built with
  URXE_PRELOAD_FIRST   the sanitizer's run-time library, which must be loaded before all others
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # The exit code that ctest takes for a skipped test.
CLONE_NEWNET = 0x40000000
NOBODY = 65534
_SHOWN_AT_END = 2000  # Characters of the output of each process if a test fails.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PATIENCE = 200  # Seconds that a process may take to listen or to end, where a test does not say otherwise.


def build_directory():
    default = os.path.join(os.path.dirname(__file__), "..", "..", "build", "release")
    return os.path.realpath(os.environ.get("URXE_BUILD", default))


def binary(name):
    return os.path.join(build_directory(), "bin", name)


def sanitized():
    return os.environ.get("URXE_SANITIZER", "") != ""


def is_root():
    return os.geteuid() == 0


class Failed(SystemExit):
    """The end of a test that has failed."""

    def __init__(self, text):
        super().__init__(1)
        self.text = text


def fail(text):
    print(f"FAILED: {text}", flush=True)
    raise Failed(text)


def skip(text):
    print(f"SKIPPED: {text}", flush=True)
    sys.exit(SKIPPED)


def need_programs(*names):
    for name in names:
        if shutil.which(name) is None:
            skip(f"{name} is not installed")


def expect(condition, text):
    if not condition:
        fail(text)


def wait_until(condition, what, timeout=PATIENCE):
    """Returns when the condition holds; fails where it never does."""
    deadline = time.monotonic() + timeout
    while not condition():
        expect(time.monotonic() < deadline, f"waited {timeout} s for {what}")
        time.sleep(0.02)


def environment():
    """The environment of a program under urxe: with the sanitizer's options where there is one."""
    env = dict(os.environ)
    # libibverbs and the programs leave memory behind; stock programs are not built with the sanitizer.
    env.setdefault("ASAN_OPTIONS", "detect_leaks=0:halt_on_error=1:exitcode=99")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    suppressions = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan_suppressions")
    # A child of fork() that opens a device starts a thread.
    env.setdefault("TSAN_OPTIONS", "halt_on_error=1:exitcode=99:report_signal_unsafe=0:atexit_sleep_ms=0:die_after_fork=0:"
                   f"suppressions={suppressions}")
    return env


def urxe_run(command, options=()):
    """The command line that runs `command` under urxe."""
    if _shares_network and "--device" not in options and "dpdk" not in options:
        options = [*options, "--device", "lo"]
    return [binary("urxe"), "run", *options, "--", *command]


def unshare_network():
    """Puts this process into a network namespace of its own, with lo up. False where that is not allowed."""
    if not is_root():
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return False
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return True


# Whether the programs are to use the loopback interface of a network with other interfaces.
_shares_network = False


def isolate():
    """Root: a private network namespace. Others share the loopback; ctest then runs such tests one by one."""
    global _shares_network
    if unshare_network():
        return
    if is_root():
        print("note: no private network namespace: using the shared loopback", flush=True)
    _shares_network = True


def shares_network():
    """After isolate(): whether other programs of this user are in the same network."""
    return _shares_network


def need_ipv6():
    """After isolate(): a container may have no IPv6, not even on lo."""
    with contextlib.suppress(FileNotFoundError), open("/proc/net/if_inet6", encoding="ascii") as file:
        if f"{1:032x}" in file.read():
            return
    skip("needs ::1 on the loopback interface")


def need_namespaces():
    if not is_root():
        skip("needs root, for network namespaces")
    if not unshare_network():
        skip("needs the right to make network namespaces (CAP_SYS_ADMIN)")


def has_raw_engine(release):
    """Whether the engine raw works on a kernel whose release `uname -r` gives so: "6.1.0-9-amd64", "6.2-rc1"."""
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", release).groups())) >= (6, 2)


def need_raw_engine():
    if not has_raw_engine(os.uname().release):
        skip("the raw engine needs Linux 6.2")


def own_files():
    """Starts the script anew in a network namespace and a mount namespace of its own: what it mounts, nobody else sees.
    lo is up."""
    if not is_root():
        skip("needs root, for namespaces and mounts")
    need_programs("unshare")
    if "URXE_OWN_FILES" not in os.environ:
        if subprocess.run(["unshare", "--net", "--mount", "true"], check=False, capture_output=True).returncode != 0:
            skip("no namespaces can be made here")
        os.environ["URXE_OWN_FILES"] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, "-B", *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def mount_tmpfs(place, options="mode=1777"):
    """Mounts an empty file system on the place. The repository and the build directory stay visible if they are below."""
    place = os.path.realpath(place)
    repository = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    kept = {path: os.open(path, os.O_PATH) for path in (repository, build_directory())
            if os.path.commonpath([path, place]) == place}
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    for path, descriptor in kept.items():
        os.makedirs(path, exist_ok=True)
        # mount(8) would resolve the descriptor's link to the old path, which is hidden now.
        subprocess.run(["mount", "--no-canonicalize", "--bind", f"/proc/self/fd/{descriptor}", path],
                       pass_fds=[descriptor], check=True)
        os.close(descriptor)


class Host:
    """A host of two_hosts()."""

    interface, device = "eth0", "urxe_eth0"

    def __init__(self, number):
        self.name = f"node{number}"
        self.ipv4, self.ipv6 = f"10.0.0.{number}", f"fd00::{number}"

    def command(self, words):
        """Runs a command there as on any host: without the devices that `urxe lab exec` adds, but with urxe_run()."""
        return [binary("urxe"), "lab", "exec", self.name, "--", *_WITHOUT_DEVICES, *words]


# urxe leaves out what it added to these, if a program starts it; for others a sanitizer's run-time library is there, too.
_WITHOUT_DEVICES = ["env", "-u", "LD_PRELOAD", "-u", "RDMAV_DRIVERS", "-u", "URXE_TREE"]


def two_hosts(mtu=1500):
    """Starts the script anew, from its first line, on one of two hosts of a fabric, which `urxe lab` makes, for ordinary
    users, too. Returns the script's host and the other one. The GID table of each: 0 its link-local address, 1 IPv4,
    2 IPv6."""
    if "URXE_TWO_HOSTS" not in os.environ:
        _need_lab()
        sys.stdout.flush()
        os.environ["URXE_TWO_HOSTS"] = str(mtu)
        lab = [binary("urxe"), "lab", "--nodes", "2", "--mtu", str(mtu), "--", *_WITHOUT_DEVICES]
        os.execve(lab[0], [*lab, sys.executable, "-B", *sys.argv], environment())
    expect(os.environ["URXE_TWO_HOSTS"] == str(mtu), "a script has one pair of hosts")
    return Host(1), Host(2)


def _need_lab():
    """Skips if the kernel forbids what `urxe lab` needs, by another program's attempt at it."""
    need_programs("ip", "unshare")
    user = [] if is_root() else ["--user", "--map-root-user"]
    tried = subprocess.run(["unshare", *user, "--net", "--ipc", "--uts", "--pid", "--fork", "--mount-proc",
                            "ip", "link", "add", "name", "urxbr", "type", "bridge"], capture_output=True, text=True)
    if tried.returncode != 0:
        skip(f"needs the right to make network namespaces, and a bridge in one: {tried.stderr.strip()}")


class Namespace:
    """Another network namespace, held by a process; it ends with that process."""

    def __init__(self):
        self._holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--net", "sh", "-c",
             "ip link set lo up && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, text=True)
        expect(self._holder.stdout.readline().strip() == "ready", "cannot make a network namespace")

    @property
    def pid(self):
        return self._holder.pid

    def command(self, command):
        return ["nsenter", "--net", f"--target={self.pid}", "--", *command]

    def run(self, *command):
        subprocess.run(self.command(command), check=True)

    def close(self):
        self._holder.kill()
        self._holder.wait()


@contextlib.contextmanager
def veth_pair(mtu=1500):
    """Joins our own, already private, namespace with another one. Yields (the other, our IPv4, its IPv4); the
    interfaces are urxa (here) and urxb (there), with IPv6 link-local and fd00:99::/64 addresses that are ready.

    For what two_hosts() has not: an end that loses its carrier when the other goes down; no switch on the way, which
    costs time; nothing isolated but the network; and, for tests of one host, an interface that may be changed."""
    other = Namespace()
    try:
        run = lambda *c: subprocess.run(c, check=True)
        run("ip", "link", "add", "urxa", "type", "veth", "peer", "name", "urxb", "netns", str(other.pid))
        for name, enter in (("urxa", run), ("urxb", other.run)):
            last = "1" if name == "urxa" else "2"
            enter("ip", "link", "set", name, "mtu", str(mtu))
            enter("ip", "addr", "add", f"10.99.0.{last}/24", "dev", name)
            enter("ip", "addr", "add", f"fd00:99::{last}/64", "dev", name, "nodad")
            # Without the wait for duplicate addresses, the link-local address is usable at once.
            enter("sysctl", "-q", "-w", f"net.ipv6.conf.{name}.accept_dad=0")
            enter("ip", "link", "set", name, "up")
        wait_until(lambda: not (_not_ready(["ip"], "urxa") or _not_ready(other.command(["ip"]), "urxb")),
                   "the veth addresses")
        yield other, "10.99.0.1", "10.99.0.2"
    finally:
        other.close()


def _not_ready(ip, interface):
    addresses = subprocess.run([*ip, "-6", "addr", "show", "dev", interface], check=True,
                               capture_output=True, text=True).stdout
    state = subprocess.run([*ip, "link", "show", "dev", interface], check=True, capture_output=True,
                           text=True).stdout
    return "tentative" in addresses or "fe80" not in addresses or "LOWER_UP" not in state


def without_offloads(interface, prefix=()):
    """So that a capture on the interface shows packets as they would be on a wire."""
    ethtool = shutil.which("ethtool", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")  # Debian's users lack these two.
    if ethtool is None:
        skip("ethtool is not installed")
    for feature in ("gso", "gro", "tso", "tx-udp-segmentation", "tx", "rx"):
        subprocess.run([*prefix, ethtool, "-K", interface, feature, "off"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Process:
    """A process whose output goes to a file and is shown if the test fails."""

    _all = []

    def __init__(self, command, name=None, env=None):
        self.command = [str(part) for part in command]
        self.name = name or os.path.basename(self.command[0])
        self._output = tempfile.TemporaryFile()
        self._is_shown = False
        # A process group, not a session: Linux schedules each session as a group (sched_autogroup_enabled), and 6.18 has
        # been seen to give some of them no processor for two seconds where more of them poll than there are processors.
        self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, env=env or environment(), process_group=0)
        Process._all.append(self)

    @property
    def pid(self):
        return self._process.pid

    @property
    def output(self):
        # The process writes at the place in the file that it shares with us: a seek() would move it.
        descriptor = self._output.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")

    def running(self):
        return self._process.poll() is None

    @property
    def _code(self):
        return self._process.returncode

    def wait(self, timeout=PATIENCE):
        """The exit code; negative for a signal. A failure of the test where the process does not end in time."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.show()
            fail(f"{self.name} did not end within {timeout} s")

    def kill(self, with_signal=signal.SIGKILL):
        # The whole group: nsenter, setpriv and `urxe run` exec, but perftest may have children.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, with_signal)
        if with_signal == signal.SIGKILL:
            self._process.wait()

    def show(self):
        self._is_shown = True
        print(f"--- {self.name}: {' '.join(self.command)}\n{self.output}---", flush=True)

    def _show_end(self):
        state = "runs" if self.running() else f"ended with {self._code}"
        print(f"--- {self.name} ({state}): {' '.join(self.command)}\n{self.output[-_SHOWN_AT_END:]}---", flush=True)

    def expect_success(self, timeout=PATIENCE, explain=lambda output: ""):
        """Returns the output. `explain` finds in it what to say of a failure."""
        code = self.wait(timeout)
        if code != 0:
            for process in Process._all:
                if process is not self:
                    process.show()
            _show_reasons()
            self.show()  # last: that is what CI keeps
            fail(f"{self.name} ended with {code}{explain(self.output)}")
        return self.output

    def listens_on(self, port):
        return _listens(self.pid, port)

    def wait_for_listener(self, port, timeout=PATIENCE):
        """Returns when a socket listens on the TCP port in the process's network namespace."""
        deadline = time.monotonic() + timeout
        while not self.listens_on(port):
            if not self.running():
                self.show()
                fail(f"{self.name} ended with {self.wait()} before it listened")
            if time.monotonic() > deadline:
                self.show()
                fail(f"{self.name} does not listen on TCP port {port}")
            time.sleep(0.02)

    @classmethod
    def show_others(cls):
        """The last lines of those that were not shown yet. True: there were some."""
        others = [process for process in cls._all if not process._is_shown]
        for process in others:
            process._show_end()
        return others != []

    @classmethod
    def kill_all(cls):
        for process in cls._all:
            if process.running():
                process.kill()


def _show_reasons():
    """Why queue pairs have failed. The test's own files, and so these reasons, are gone when it ends."""
    with contextlib.suppress(subprocess.TimeoutExpired, OSError):
        reasons = subprocess.run([binary("urxe"), "stat", "--why"], capture_output=True, text=True, timeout=PATIENCE)
        print(reasons.stdout + reasons.stderr, flush=True)


def _listens(pid, port):
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{table}") as lines:
                next(lines)
                for line in lines:
                    fields = line.split()
                    if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                        return True
        except OSError:
            return False
    return False


def hw_counters(device, enter=urxe_run):
    """A device's hw_counters by name: the sums of all processes since its network namespace was made. `enter` puts a
    command where it sees the device."""
    base = f"/sys/class/infiniband/{device}/ports/1/hw_counters"
    lines = Process(enter(["grep", "-H", ".", "-r", base])).expect_success().splitlines()
    return {path.rsplit("/", 1)[1]: int(value) for path, value in (line.split(":") for line in lines)}


def run_pair(server, client, port, timeout=PATIENCE, env=None):
    """Runs a server command, and the client command once it listens. Both must succeed. Returns their output."""
    started_server = Process(server, name="server: " + " ".join(server[-12:]), env=env)
    started_server.wait_for_listener(port, timeout)
    started_client = Process(client, name="client: " + " ".join(client[-12:]), env=env)
    try:
        client_output = started_client.expect_success(timeout)
        return started_server.expect_success(timeout), client_output
    finally:
        started_client.kill()
        started_server.kill()


_next_port = 20000 + os.getpid() % 10000


def free_port():
    """A TCP port on which nothing listens now."""
    global _next_port
    while True:
        _next_port += 1
        if not _listens("self", _next_port):
            return _next_port


def unprivileged(command):
    """The command, run as an ordinary user without any capability."""
    if not is_root():
        return command
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all",
            "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", "--", *command]


def _reachable(path):
    return subprocess.run(unprivileged(["test", "-x", path])).returncode == 0


@contextlib.contextmanager
def reachable_urxe():
    """The path of an `urxe` that an ordinary user can run: a copy, where the build directory is closed to others."""
    urxe = binary("urxe")
    if _reachable(urxe):
        yield urxe
        return
    with tempfile.TemporaryDirectory(prefix="urxe-unprivileged-") as copy:
        os.chmod(copy, 0o755)
        os.mkdir(os.path.join(copy, "bin"), 0o755)
        shutil.copy2(urxe, os.path.join(copy, "bin"))
        shutil.copytree(os.path.join(build_directory(), "lib"), os.path.join(copy, "lib"),
                        ignore=shutil.ignore_patterns("*.a"))
        yield os.path.join(copy, "bin", "urxe")


def main(test):
    """Runs the test function and leaves no process behind, however it ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.environ.get("URXE_ENGINE") == "raw":
        need_raw_engine()
    try:
        test()
    except BaseException as reason:
        has_failed = not (isinstance(reason, SystemExit) and reason.code in (None, 0, SKIPPED))
        if has_failed and Process.show_others() and isinstance(reason, Failed):
            print(f"FAILED: {reason.text}", flush=True)  # again: CI keeps the last lines
        raise
    finally:
        Process.kill_all()
