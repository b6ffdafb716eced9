# SPDX-License-Identifier: BSD-2-Clause
"""Where the two sides of a connection are, and pairs of programs there that connect through librdmacm."""

import contextlib
import socket
import subprocess

import harness
import sharing
import stock_programs
from harness import Process

PATIENCE = 300  # Seconds: two processors may be shared by many programs that poll.
TCP, UDP = 0x0106, 0x0111  # Port spaces.

# The server's address, and whether it is given as AF_IB.
_NODES = {
    "ipv4": ("127.0.0.1", False),
    "ipv4_other": ("127.9.8.7", False),
    "ipv6": ("::1", False),
    "ib": ("::ffff:127.0.0.1", True),
    "ib_ipv6": ("::1", True),
    "veth_ipv4": ("10.0.0.1", False),
    "veth_ipv6": ("fd00::1", False),
    "veth_ib": ("::ffff:10.0.0.1", True),
}


class Place:
    """The server is on our own host; the client too, or on another one.

    server       the server's address as the server spells it
    client       the same address as the client spells it: a link-local one has the client's interface in it
    source       the client's own address
    there        puts a client's command where it belongs
    """

    def __init__(self, server, client, source, interface="lo", there=lambda words: words, ib=False):
        self.server, self.client, self.source, self.there, self.ib = server, client, source, there, ib
        self._index = socket.if_nametoindex(interface)

    def is_ipv6(self):
        return ":" in self.server

    def start_server(self, words, port, space=TCP, env=None):
        """Returns when the server listens on the port of the port space, or has ended."""
        process = Process(harness.urxe_run(words), name="server", env=env)
        ready = lambda: self._listens(space, port) or not process.running()
        harness.wait_until(ready, "the server to listen", PATIENCE)
        return process

    def _listens(self, space, port):
        """Whether a process has QP1's requests for the service, on the server's interface, come to it. (Who listens
        on all addresses takes one interface after the other.)"""
        return sharing.listens(space << 16 | port, self._index)

    def start_client(self, words, env=None):
        return Process(self.there(harness.urxe_run(words)), name="client", env=env)

    def run_client(self, words):
        return stock_programs.finish(self.start_client(words), PATIENCE)

    def pair(self, server_words, client_words, port, space=TCP):
        """Both must succeed. Returns their output."""
        harness.need_programs(server_words[0], client_words[0])
        server = self.start_server(server_words, port, space)
        client = self.run_client(client_words)
        return stock_programs.finish(server, PATIENCE), client


def _link_local(prefix, interface):
    shown = subprocess.run([*prefix, "ip", "-6", "-o", "addr", "show", "dev", interface, "scope", "link"], check=True,
                           capture_output=True, text=True).stdout
    return shown.split()[3].split("/")[0]


@contextlib.contextmanager
def place(kind):
    """ipv4, ipv4_other, ipv6, ib, ib_ipv6: the loopback interface; veth_ipv4, veth_ipv6, veth_ib, veth_link_local: two
    hosts."""
    if not kind.startswith("veth"):
        harness.isolate()
        node, ib = _NODES[kind]
        if node == "::1":
            harness.need_ipv6()
        yield Place(node, node, node, ib=ib)
        return
    here, other = harness.two_hosts()
    if kind == "veth_link_local":
        server, source = (f"{_link_local(prefix, here.interface)}%{here.interface}" for prefix in ([], other.command([])))
        yield Place(server, server, source, here.interface, other.command)
    else:
        node, ib = _NODES[kind]
        yield Place(node, node, other.ipv6 if kind == "veth_ipv6" else other.ipv4, here.interface, other.command, ib)
