# SPDX-License-Identifier: BSD-2-Clause
"""The two ends of a link between RDMA devices: where programs run, and what their device and addresses are there.

All sides have the attributes
  name                          the implementation: urxe or rxe, or the host reached by ssh
  device, interface             the verbs device and its network interface
  ipv4, ipv6, link_local        its addresses (ipv6: a global one); None if there is none
  gid_index_v4, gid_index_v6, gid_index_link_local   where they are in the device's GID table, as RoCE v2
and the methods of Side. They are found by looking at the device: look() does so again.
"""

import os
import re
import subprocess

from gids import gids, patterns
from remote import forget, harness
import sharing  # beside harness

PATIENCE = 300  # Seconds: an emulated guest and its host may share two busy processors.
TCP, UDP = 0x0106, 0x0111  # Port spaces of the connection manager.
_LISTEN = "0A"  # In /proc/net/tcp.


class Side:
    """What does not depend on where it is. Subclasses say how to start, to start_plain and to read files."""

    def __init__(self, name, interface, device):
        self.name, self.interface, self.device = name, interface, device
        self.look()

    def start(self, words, name=None, env=None):
        """Starts a program that uses the device; env is added to the environment. A harness.Process or its like."""
        raise NotImplementedError

    def start_plain(self, words, name=None, env=None):
        """Starts a program there that has nothing to do with the device: ip, tc, ..."""
        raise NotImplementedError

    def owns(self, process):
        """Whether the process may be one that this side has started."""
        raise NotImplementedError

    def read_files(self, *patterns):
        """{path: text} of the files that match, as programs that use the device see them."""
        raise NotImplementedError

    def program(self, name):
        """The path there of a program of the build directory."""
        return harness.binary(name)

    def run(self, words, timeout=PATIENCE, env=None):
        """The output of a program that uses the device and must succeed."""
        return self._output_of(self.start(words, env=env), timeout)

    def run_plain(self, words, timeout=PATIENCE):
        """The output of a program that has nothing to do with the device and must succeed."""
        return self._output_of(self.start_plain(words), timeout)

    @staticmethod
    def _output_of(process, timeout):
        output = process.expect_success(timeout)
        forget(process)
        return output

    def look(self):
        """Finds the device's addresses: the first of each kind."""
        files = self.read_files(*patterns(self.device))
        harness.expect(files, f"{self.name} has no device {self.device}")
        self.ipv4 = self.ipv6 = self.link_local = None
        self.gid_index_v4 = self.gid_index_v6 = self.gid_index_link_local = None
        for _, index, address in reversed(gids(files)):
            if not self._wants(index, address):
                continue
            if address.version == 4:
                self.ipv4, self.gid_index_v4 = str(address), index
            elif address.is_link_local:
                self.link_local, self.gid_index_link_local = str(address), index
            else:
                self.ipv6, self.gid_index_v6 = str(address), index

    def _wants(self, index, address):
        """Whether to use this GID."""
        return True

    @property
    def is_shared(self):
        """Whether several programs may use the device at once."""
        return True

    def _port(self):
        return f"/sys/class/infiniband/{self.device}/ports/1"

    @property
    def mtu(self):
        """The interface's."""
        return int(re.search(r" mtu (\d+) ", self.run_plain(["ip", "-o", "link", "show", "dev", self.interface]))[1])

    def set_mtu(self, mtu):
        """The interface's; below 1280 it would lose its IPv6 addresses."""
        self.run_plain(["ip", "link", "set", self.interface, "mtu", str(mtu)])

    def active_mtu(self):
        """The largest path MTU of the device's port."""
        return int(re.search(r"active_mtu:\s+(\d+)", self.run(["ibv_devinfo", "-d", self.device]))[1])

    def counters(self):
        """The device's hw_counters by name, and the connection manager's as cm_tx_msgs/req and the like."""
        port = self._port()
        files = self.read_files(f"{port}/hw_counters/*", f"{port}/cm_*/*")
        return {path[len(port) + 1:].removeprefix("hw_counters/"): int(text) for path, text in files.items()
                if text.strip().isdigit()}

    def wait_for_tcp_listener(self, process, port, timeout=PATIENCE):
        """Returns when a socket listens on the TCP port; a failure if the process ends before."""
        self._wait_for(process, lambda: self._listens_tcp(port), f"{process.name} to listen on TCP port {port}",
                       timeout)

    def wait_for_rdma_listener(self, process, port, space=TCP, timeout=PATIENCE):
        """Returns when a program of librdmacm listens on the port of the port space."""
        self._wait_for(process, lambda: self._listens_rdma(process, port, space),
                       f"{process.name} to listen on port {port} of port space {space:#x}", timeout)

    @staticmethod
    def _wait_for(process, condition, what, timeout):
        harness.wait_until(lambda: not process.running() or condition(), what, timeout)
        if not process.running():
            process.show()
            harness.fail(f"{process.name} ended with {process.wait()} before it listened")

    def _listens_tcp(self, port):
        rows = "".join(self.read_files("/proc/net/tcp", "/proc/net/tcp6").values()).splitlines()
        fields = [row.split() for row in rows if not row.lstrip().startswith("sl")]
        return any(field[3] == _LISTEN and int(field[1].rsplit(":", 1)[1], 16) == port for field in fields)

    def _listens_rdma(self, process, port, space):
        raise NotImplementedError


class UrxeSide(Side):
    """Programs under `urxe run`, in this process's network namespace or where `prefix` puts a command. If URXE_ENGINE
    names DPDK, its port sends and receives the interface's frames, one program at a time."""

    def __init__(self, interface, prefix=(), name="urxe"):
        self._prefix, self._environment, self._last = list(prefix), {}, None
        device = f"urxe_{interface}"
        if os.environ.get("URXE_ENGINE") == "dpdk":
            device = "urxe_af_packet0"
            words = f"--vdev=net_af_packet0,iface={interface},framesz=8192,blocksz=65536,framecnt=512"
            self._environment = {"URXE_DPDK_ARGS": words}
        super().__init__(name, interface, device)

    @property
    def is_shared(self):
        return not self._environment  # a port of DPDK belongs to one process

    def start(self, words, name=None, env=None):
        words = [str(word) for word in words]
        self._need_device()
        self._last = self.start_plain(harness.urxe_run(words), name or f"{self.name}: {os.path.basename(words[0])}", env)
        return self._last

    def _need_device(self):
        """Skips the cell if a program that goes on has the device for itself."""
        if not self.is_shared and self._last is not None and self._last.running():
            harness.skip(f"{self.name}: a port of DPDK belongs to one process, and the cell has two at once")

    def start_plain(self, words, name=None, env=None):
        environment = harness.environment() | self._environment | (env or {})
        return harness.Process([*self._prefix, *words], name=name, env=environment)

    def owns(self, process):
        return isinstance(process, harness.Process)

    def read_files(self, *patterns):
        # The shell finds what matches; grep names the files. (GIDs that are not there cannot be read.)
        words = ["sh", "-c", f"grep -s '' {' '.join(patterns)} /dev/null; true"]
        # A program that has a device of DPDK keeps others from running under urxe.
        if not all(pattern.startswith("/proc/") for pattern in patterns):
            self._need_device()
            words = harness.urxe_run(words)
        lines = subprocess.run([*self._prefix, *words], check=True, text=True,
                               stdout=subprocess.PIPE, env=harness.environment() | self._environment).stdout.splitlines()
        files = {}
        for path, text in (line.split(":", 1) for line in lines):
            files[path] = files.get(path, "") + text + "\n"
        return files

    def _listens_rdma(self, process, port, space):
        """Whether a process has QP1's requests for the service, on this interface, come to it."""
        # If a name in /run/netns is stale, ip complains of it first.
        shown = self.run_plain(["ip", "-o", "link", "show", "dev", self.interface])
        index = int(re.search(r"^(\d+): ", shown, re.M)[1])
        return sharing.listens(space << 16 | port, index, process=process.pid)


class UrxePeerSide(UrxeSide):
    """urxe again, in another network namespace (harness.Namespace)."""

    def __init__(self, interface, namespace):
        super().__init__(interface, namespace.command([]))


class AgentSide(Side):
    """A device of the kernel, where an agent (remote.Agent) runs the commands."""

    def __init__(self, agent, interface, device, name):
        self.agent = agent
        super().__init__(name, interface, device)

    def start(self, words, name=None, env=None):
        return self.agent.start(words, name and f"{self.name}: {name}", env)

    start_plain = start

    def owns(self, process):
        return self.agent.owns(process)

    def read_files(self, *patterns):
        return self.agent.read_files(*patterns)

    def _listens_rdma(self, process, port, space):
        # Also of those who listen on all addresses: each of their identifiers is bound to a device.
        shown = self.run_plain(["rdma", "resource", "show", "cm_id"])
        kind = {TCP: "TCP", UDP: "UDP"}[space]
        return any(f" state LISTEN ps {kind} " in line and re.search(rf" src-addr \S+:{port}\b", line)
                   for line in shown.splitlines())


class GuestSide(AgentSide):
    """rxe in a guest of QEMU."""

    def __init__(self, guest):
        self.guest = guest
        super().__init__(guest.agent, "eth0", "rxe0", "rxe")

    def set_mtu(self, mtu):
        self.guest.set_mtu(mtu)
