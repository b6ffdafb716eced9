#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest with the kernel's soft-RoCE, rxe, in QEMU's software emulation.

Its root is the host's, read-only with a layer above that goes with the guest: programs of the host are there, those of
the build directory too. eth0, with rxe0 on it, is joined to a tap in this process's network namespace.

usage: guest.py run [--] COMMAND...     boot, run the command in the guest, end with its exit code
       guest.py shell                   the same for the lines of standard input, one shell command each
       guest.py build                   only make the cache
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import guest_image
import remote
import tap
from remote import harness

PATIENCE = 300  # Seconds a boot may take on a machine with much else to do.
HOST_MTU = 9000
HERE_ADDRESSES = ("10.99.0.1", "fd00:99::1")
THERE_ADDRESSES = ("10.99.0.2", "fd00:99::2")
QEMU = "qemu-system-x86_64"


class Guest:
    """A running guest. Thread-safe as the agent is. Stop it with stop(), or use it in a with statement.

    mtu            of both ends of the link at first: up to HOST_MTU
    tap            the link's interface in this process's network namespace
    accelerator    QEMU's: emulation works everywhere
    """

    def __init__(self, mtu=1500, tap_name="urxg", accelerator="tcg,thread=multi", memory="1536M", processors=2):
        need()
        self.tap, self.mtu = tap_name, mtu
        self._directory = tempfile.mkdtemp(prefix="urxe-guest-")
        self._qemu, self._socket, self.agent = None, None, None
        try:
            self._boot(accelerator, memory, processors)
            self._configure()
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _boot(self, accelerator, memory, processors):
        entry = guest_image.unpacked()
        initramfs = os.path.join(self._directory, "initramfs")
        guest_image.make_initramfs(entry, initramfs, [("agent.py", guest_image._read(remote.AGENT))])
        frames = tap.open_tap(self.tap)
        tap.configure(self.tap, HERE_ADDRESSES[0] + "/24", HERE_ADDRESSES[1] + "/64", self.mtu)
        ours, theirs = socket.socketpair()
        try:
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--",
                 *self._command(entry, initramfs, accelerator, memory, processors, frames, theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self._log("qemu"), "wb"),
                pass_fds=(frames, theirs.fileno()), start_new_session=True)
        finally:
            os.close(frames)
            theirs.close()
        self._socket = ours
        stream = ours.makefile("rwb", buffering=0)
        self.agent = remote.Agent(stream, stream, "guest", self._last_words)
        if not self.agent.wait_ready(PATIENCE):
            raise remote.AgentLost(f"the guest did not start within {PATIENCE} s\n{self._last_words()}")

    def _command(self, entry, initramfs, accelerator, memory, processors, frames, serial):
        share = lambda name, path: [
            "-fsdev", f"local,id={name},path={path},security_model=none,readonly=on,multidevs=remap",
            "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
        build = harness.build_directory()
        words = f"console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr audit=0 urxe.share=build:{build}"
        return [QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-M", "q35",
                "-accel", accelerator, "-cpu", "max,la57=off", "-smp", str(processors), "-m", memory,
                "-kernel", os.path.join(entry, "vmlinuz"), "-initrd", initramfs, "-append", words,
                "-serial", f"file:{self._log('console')}",
                *share("host", "/"), *share("build", build),
                "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={serial}",
                "-device", "virtserialport,chardev=agent,name=urxe.agent",
                "-netdev", f"tap,id=link,fd={frames}",
                "-device", f"virtio-net-pci,netdev=link,mac=52:54:00:99:00:02,host_mtu={HOST_MTU}"]

    def _configure(self):
        there = tap.configuration("eth0", THERE_ADDRESSES[0] + "/24", THERE_ADDRESSES[1] + "/64", self.mtu)
        commands = [["ip", "link", "set", "lo", "up"], *there, ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"]]
        self.agent.run(["sh", "-ec", "\n".join(" ".join(c) for c in commands)], PATIENCE)

    def _log(self, name):
        return os.path.join(self._directory, f"{name}.log")

    def _last_words(self):
        """The end of what QEMU and the guest's kernel said."""
        if self._qemu is not None:
            try:
                self._qemu.wait(5)
            except subprocess.TimeoutExpired:
                pass
        lines = []
        for name in ("qemu", "console"):
            if os.path.exists(self._log(name)):
                with open(self._log(name), errors="replace") as file:
                    lines += [f"{name}: {line.rstrip()}" for line in file.readlines()[-30:]]
        return "\n".join(lines)

    def set_mtu(self, mtu):
        """At both ends of the link."""
        subprocess.run(["ip", "link", "set", self.tap, "mtu", str(mtu)], check=True)
        self.agent.run(["ip", "link", "set", "eth0", "mtu", str(mtu)])
        self.mtu = mtu

    def stop(self):
        """Ends the guest; the tap goes with it."""
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None
        if self._socket is not None:
            self._socket.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def need():
    """Skips the test where no guest can be started."""
    harness.need_programs(QEMU, "dpkg-deb", "tar", "ip", "rdma", "setpriv", "python3")
    if not harness.is_root():
        harness.skip("needs root, for network namespaces")
    if not os.path.exists("/dev/net/tun"):
        harness.skip("needs /dev/net/tun")


def _run(command):
    started = time.monotonic()
    with Guest() as guest:
        print(f"booted in {time.monotonic() - started:.1f} s", file=sys.stderr)
        process = guest.agent.start(command)
        code = process.wait(3600)
        print(process.output, end="")
        return code


def main():
    harness.need_namespaces()
    words = [word for word in sys.argv[2:] if word != "--"]
    sys.exit(_run(words))


if __name__ == "__main__":
    main()
