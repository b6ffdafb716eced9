# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest with the kernel's soft-RoCE, rxe, in QEMU's software emulation.

Its root is the host's, read-only with a layer above that goes with the guest: programs of the host are there, those of
the build directory too. What the host changes elsewhere while the guest runs, the guest may not see. eth0, with rxe0 on
it, is joined to a tap in this process's network namespace. /run/busybox is there for what the host lacks.
"""

import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import guest_image
import remote
import stacks
import tap
from remote import harness

PATIENCE = 300  # Seconds a boot may take on a machine with much else to do.
HOST_MTU = 9000
LEAST_MTU = 1280  # What IPv6 asks for.
QEMU = "qemu-system-x86_64"
# No checks of a machine that is emulated, and little on the console, which is slow. The emulated processors' time stamp
# counters differ; a clock made of them jumps. An NMI makes a guest that hangs say where it is, and ends it.
KERNEL_WORDS = ("console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr audit=0 tsc=unstable no_timer_check "
                "cryptomgr.notests random.trust_cpu=on unknown_nmi_panic panic_print=1")
LAST_LINES = 60  # Of each log: a panic with the stack of the running task.
PANIC_PATIENCE = 60  # Seconds for a panic with all stacks to be written, on the slow console of a busy machine.


class Guest:
    """A running guest; to stop it there is stop(), or a with statement. QEMU ends with the thread that has started it.

    number         its tap is urxgNUMBER, its addresses 10.99.0.(NUMBER + 1) and fd00:99::(NUMBER + 1)
    mtu            of both ends of the link at first: up to HOST_MTU
    address        whether the tap has the addresses 10.99.0.1 and fd00:99::1, to be the other end
    accelerator    QEMU's: emulation works everywhere
    processors     one: of an emulated guest's second one the host's other programs would have more. What spins in the
                   guest is interrupted for rxe's work, and rxe's tasks do not race each other (README.md). There is room
                   for another one: without, QEMU before 8.1 leaves out the guest's memory barriers (README.md)

    CannotBuild and AgentLost say why there is no guest.
    """

    def __init__(self, number=1, mtu=1500, address=True, accelerator="tcg", memory="1536M", processors=1):
        self.number, self.tap, self.mtu = number, f"urxg{number}", mtu
        self.seconds = {}  # What the start took, by step.
        _sweep()
        self._directory = tempfile.mkdtemp(prefix=f"urxe-guest-{os.getpid()}-")
        self._qemu, self._socket, self._monitor, self.agent = None, None, None, None
        try:
            entry = self._timed("unpack", guest_image.unpacked)
            initramfs = os.path.join(self._directory, "initramfs")
            guest_image.make_initramfs(entry, initramfs)
            machine = ["-accel", accelerator, "-m", memory, "-smp", f"{processors},maxcpus={processors + 1}",
                       "-kernel", os.path.join(entry, "vmlinux"), "-initrd", initramfs]
            self._timed("boot", lambda: self._boot(machine, address))
            self._timed("set up", self._configure)
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        """QEMU's."""
        return self._qemu.pid

    def _timed(self, step, function):
        started = time.monotonic()
        result = function()
        self.seconds[step] = time.monotonic() - started
        return result

    def _boot(self, machine, address):
        frames = tap.open_tap(self.tap)
        ours, theirs = socket.socketpair()
        self._monitor, their_monitor = socket.socketpair()
        try:
            tap.configure(self.tap, _addresses(1) if address else [], self.mtu)
            with open(self._log("qemu"), "wb") as log:
                self._qemu = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", "--",
                     *self._command(machine, frames, theirs.fileno(), their_monitor.fileno())],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    pass_fds=(frames, theirs.fileno(), their_monitor.fileno()), process_group=0)
        finally:
            os.close(frames)
            theirs.close()
            their_monitor.close()
        self._socket = ours
        stream = ours.makefile("rwb", buffering=0)
        self.agent = remote.Agent(stream, stream, "guest", self._last_words, self.where_it_hangs)
        if not self.agent.wait_ready(PATIENCE):
            raise remote.AgentLost(f"the guest did not start within {PATIENCE} s\n{self.where_it_hangs()}")

    def _command(self, machine, frames, serial, monitor):
        share = lambda name, path: [
            "-fsdev", f"local,id={name},path={path},security_model=none,readonly=on,multidevs=remap",
            "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
        build = harness.build_directory()
        return [QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-M", "q35",
                "-cpu", "max,la57=off", *machine, "-append", f"{KERNEL_WORDS} urxe.share=build:{build}",
                "-serial", f"file:{self._log('console')}",
                *share("host", "/"), *share("build", build),
                "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={serial}",
                "-device", "virtserialport,chardev=agent,name=urxe.agent",
                "-chardev", f"socket,id=monitor,fd={monitor}", "-mon", "chardev=monitor",
                "-netdev", f"tap,id=link,fd={frames}",
                "-device", f"virtio-net-pci,netdev=link,mac=52:54:00:99:00:{self.number + 1:02x},host_mtu={HOST_MTU}"]

    def _configure(self):
        # Each program loads the providers of all devices that there might be: a third of a second.
        commands = [["find", *_provider_folders(), "-name", "'*.driver'", "!", "-name", "rxe.driver", "-delete"],
                    ["ip", "link", "set", "lo", "up"],
                    *tap.configuration("eth0", _addresses(self.number + 1), self.mtu),
                    ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"]]
        self.agent.run(["sh", "-ec", "\n".join(" ".join(command) for command in commands)], PATIENCE)

    def _log(self, name):
        return os.path.join(self._directory, f"{name}.log")

    def _said(self, name):
        """What a log has."""
        if not os.path.exists(self._log(name)):
            return ""
        with open(self._log(name), errors="replace", encoding="utf-8") as file:
            return file.read()

    def _last_words(self):
        """The end of what QEMU and the guest's kernel said, and where its tasks were if it has panicked."""
        qemu, console = self._said("qemu"), self._said("console")
        before_stacks = console.split(" task:")[0]
        return "\n".join([f"{name}: {line}" for name, text in (("qemu", qemu), ("console", before_stacks))
                          for line in text.splitlines()[-LAST_LINES:]] + stacks.summary(console))

    def where_it_hangs(self):
        """Ends a guest that does not answer. Returns its last words."""
        with contextlib.suppress(OSError):
            self._monitor.sendall(b"nmi\n")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._qemu.wait(PANIC_PATIENCE)
        return self._last_words()

    def set_mtu(self, mtu):
        """At both ends of the link."""
        subprocess.run(["ip", "link", "set", self.tap, "mtu", str(mtu)], check=True)
        self.agent.run(["ip", "link", "set", "eth0", "mtu", str(mtu)], PATIENCE)
        self.mtu = mtu

    def stop(self):
        """Ends the guest; the tap goes with it."""
        if self.agent is not None:
            self.agent.close()
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None
        for end in (self._socket, self._monitor):
            if end is not None:
                end.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _addresses(last):
    return [f"10.99.0.{last}/24", f"fd00:99::{last}/64"]


def _sweep():
    """Removes the directories of processes that could not do so themselves."""
    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), "urxe-guest-*")):
        owner = re.fullmatch(r"urxe-guest-(\d+)-.*", os.path.basename(path))
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            shutil.rmtree(path, ignore_errors=True)


def _provider_folders():
    """Where libibverbs' providers are named."""
    return [folder for folder in ("/etc/libibverbs.d", "/usr/etc/libibverbs.d") if os.path.isdir(folder)]


def need():
    """Skips the test if no guest can be started."""
    harness.need_programs(QEMU, "dpkg-deb", "tar", "ip", "rdma", "sysctl", "setpriv", "nsenter")
    if not os.path.exists("/usr/bin/python3"):
        harness.skip("the guest needs the host's /usr/bin/python3")
    if not harness.is_root():
        harness.skip("needs root, for network namespaces")
    if not os.path.exists("/dev/net/tun"):
        harness.skip("needs /dev/net/tun")
    if not any(os.path.exists(os.path.join(folder, "rxe.driver")) for folder in _provider_folders()):
        harness.skip("the guest needs the host's ibverbs-providers")


def start(number=1, **options):
    """A Guest, for tests: skips if there cannot be one, fails if there should be one and is not."""
    need()
    try:
        return Guest(number, **options)
    except guest_image.CannotBuild as reason:
        harness.skip(str(reason))
    except remote.AgentLost as reason:
        harness.fail(str(reason))
