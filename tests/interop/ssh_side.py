# SPDX-License-Identifier: BSD-2-Clause
"""A verbs device of another host, reached by ssh: our agent runs there for as long as the connection lasts.

The other host needs python3, the programs that tests run, and nothing of urxe's: programs of the build directory are
copied when they are asked for. ssh must need no password; $URXE_INTEROP_SSH is the command to use, `ssh` by default.
"""

import ipaddress
import os
import shlex
import subprocess
import tempfile

from gids import gids, patterns
from remote import AGENT, Agent, harness
from sides import AgentSide

_PATIENCE = harness.PATIENCE  # Seconds until the agent answers: in a guest on a busy machine that is more than a minute.


def _connect(host):
    """The ssh process, an agent, and a file of what ssh says."""
    with open(AGENT, encoding="utf-8") as file:
        code = file.read()
    command = shlex.split(os.environ.get("URXE_INTEROP_SSH", "ssh"))
    harness.need_programs(command[0])
    words = [*command, "-o", "BatchMode=yes", "-T", host, f"exec python3 -I -S -B -u -c {shlex.quote(code)}"]
    said = tempfile.TemporaryFile(mode="w+", errors="replace")
    ssh = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, bufsize=0,
                           start_new_session=True)

    def explain():
        said.seek(0)
        return said.read()

    agent = Agent(ssh.stdout, ssh.stdin, host, explain)
    harness.expect(agent.wait_ready(_PATIENCE), f"{host}: no agent within {_PATIENCE} s: {explain()}")
    return ssh, agent


class SshSide(AgentSide):
    """device       by default the only one that has a GID that is wanted
    gid, ip      indices of its GID table, and addresses: where any is given, only these GIDs are used
    programs     the folder there that has the programs of the build directory"""

    def __init__(self, host, device=(), gid=(), ip=(), programs=()):
        self._indices = {int(index) for index in gid}
        self._wanted = {ipaddress.ip_address(address) for address in ip}
        self._programs, self._copied = programs, {}
        self._ssh, self.agent = _connect(host)
        try:
            device = device[0] if device else self._find_device(host)
            super().__init__(self.agent, self._find_interface(device), device, host)
        except BaseException:
            self.close()
            raise

    def _wants(self, index, address):
        return not (self._indices or self._wanted) or index in self._indices or address in self._wanted

    def _find_device(self, host):
        found = {name for name, index, address in gids(self.read_files(*patterns())) if self._wants(index, address)}
        names = ", ".join(sorted(found)) or "there is none with such a GID"
        harness.expect(len(found) == 1, f"{host}: which device? {names}")
        return found.pop()

    def _find_interface(self, device):
        names = self.read_files(f"/sys/class/infiniband/{device}/ports/1/gid_attrs/ndevs/*").values()
        harness.expect(names, f"{device} has no GID")
        return next(iter(names)).strip()

    def program(self, name):
        """Copied there at the first use."""
        if self._programs:
            return os.path.join(self._programs[0], name)
        if name not in self._copied:
            folder = os.path.dirname(next(iter(self._copied.values()), "")) or self._make_folder()
            with open(harness.binary(name), "rb") as file:
                self.agent.write_file(f"{folder}/{name}", file.read(), 0o755)
            self._copied[name] = f"{folder}/{name}"
        return self._copied[name]

    def _make_folder(self):
        return self.run_plain(["mktemp", "-d", "/tmp/urxe-interop-XXXXXX"]).strip()

    def close(self):
        """Ends the connection and what runs there."""
        if self._copied:
            self.run_plain(["rm", "-rf", os.path.dirname(next(iter(self._copied.values())))])
        self.agent.close()
        self._ssh.stdin.close()  # The agent ends what it has started, and itself.
        try:
            self._ssh.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()
