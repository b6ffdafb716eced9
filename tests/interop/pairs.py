# SPDX-License-Identifier: BSD-2-Clause
"""A server on one end of a link and its client on the other."""

from remote import harness

PATIENCE = 200  # Seconds that one program of a cell may take: emulation is slow, and the machine may be loaded.


def run_pair(server, client, server_words, client_words, port, timeout=PATIENCE):
    """Runs the server's command, and the client's once a socket of the server listens on the TCP port. Both must
    succeed. Returns their output, the server's first."""
    serving = server.start(server_words, name=f"server ({server.name})")
    server.wait_for_tcp_listener(serving, port)
    asking = client.start(client_words, name=f"client ({client.name})")
    client_output = asking.expect_success(timeout)
    return serving.expect_success(timeout), client_output


def free_port():
    """A TCP port for a server on either end: unused by this run, and not likely to be by anything else."""
    return harness.free_port()
