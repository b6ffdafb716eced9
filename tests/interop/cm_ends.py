# SPDX-License-Identifier: BSD-2-Clause
"""The two ends of a connection that librdmacm makes, for the cells of connection management."""

import cells
import harness
import needs
import stock_programs

PATIENCE = 120  # Seconds that one program of a cell may take: emulation is slow, and the machine may be loaded.
TCP, UDP, IB = 0x0106, 0x0111, 0x013F  # Port spaces.
IPV4, IPV6, LINK_LOCAL = "ipv4", "ipv6", "link_local"


def address_of(side, family, seen_from):
    """The side's address as a program on the side `seen_from` spells it: a link-local one has that side's interface."""
    if family == LINK_LOCAL:
        return f"{side.link_local}%{seen_from.interface}"
    return side.ipv4 if family == IPV4 else side.ipv6


class Ends:
    """One server and one client of a cell, with the server's address as each of them spells it.

    bind     the server's address on the server
    connect  the same on the client
    source   the client's address on the client
    """

    def __init__(self, server, client, family):
        self.server, self.client, self.family = server, client, family
        self.bind = address_of(server, family, server)
        self.connect = address_of(server, family, client)
        self.source = address_of(client, family, client)

    def is_ipv6(self):
        return self.family != IPV4

    def start_server(self, words, port, space=TCP, env=None):
        """Returns when the server listens on the port of the port space."""
        process = self.server.start(words, name=f"server ({self.server.name}): {words[0]}", env=env)
        self.server.wait_for_rdma_listener(process, port, space)
        return process

    def start_client(self, words, env=None):
        return self.client.start(words, name=f"client ({self.client.name}): {words[0]}", env=env)

    def run_client(self, words):
        return stock_programs.finish(self.start_client(words), PATIENCE)

    def pair(self, server_words, client_words, port, space=TCP):
        """Both must succeed. Returns their output, the server's first."""
        server = self.start_server(server_words, port, space)
        client = self.run_client(client_words)
        return stock_programs.finish(server, PATIENCE), client


def add(name, run, *families, programs=(), also=()):
    """Declares the cells cm.NAME/ROLE/FAMILY for both roles of urxe; run(ends)."""
    needed = (*((needs.programs(*programs),) if programs else ()), *also)
    for family in families:
        cells.add_both_roles(f"cm.{name}", _on(run, family), family, needs=needed)


def _on(run, family):
    return lambda server, client: run(Ends(server, client, family))


def wait_for_output(process, what, text):
    """Returns when the process has printed the text; fails where it has ended."""
    shown = lambda: text in process.output
    harness.wait_until(lambda: shown() or not process.running(), what, PATIENCE)
    harness.expect(shown(), f"{process.name} ended without {text!r}:\n{process.output[-2000:]}")
