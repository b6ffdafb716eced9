# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: what librdmacm promises, by urxe_rdma_cm_verify, which checks events, statuses, private data and
messages on both ends."""

import signal

import harness
from cm_ends import IPV4, IPV6, LINK_LOCAL, PATIENCE, TCP, UDP, add, address_of, wait_for_output

PROGRAM = "urxe_rdma_cm_verify"
ALL = (IPV4, IPV6, LINK_LOCAL)


class Pair:
    """A server and a client of a case, started one after the other."""

    def __init__(self, ends, case, space=TCP):
        self._ends, self._case = ends, case
        self._port = str(harness.free_port())
        words = [ends.server.program(PROGRAM), "server", case, ends.bind, self._port]
        self.server = ends.start_server(words, int(self._port), space)
        self.client = ends.start_client([ends.client.program(PROGRAM), "client", case, ends.connect, self._port])

    def of(self, side):
        """(the process on that side, the one on the other)"""
        return (self.server, self.client) if side is self._ends.server else (self.client, self.server)

    def finish(self):
        """Both must find everything as it should be."""
        self.client.expect_success()
        self.server.expect_success()


def verified(case, space=TCP):
    return lambda ends: Pair(ends, case, space).finish()


def notify(ends):
    """Data before the RTU raises an event at the server's device, of which it tells librdmacm."""
    if ends.server.name == "rxe":
        harness.skip("rxe: raises no IBV_EVENT_COMM_EST")
    verified("notify")(ends)


def bystander(side, family):
    """Starts a process that listens on another port: on a host where urxe has none nobody answers."""
    port = str(harness.free_port())
    process = side.start([side.program(PROGRAM), "server", "port_held", address_of(side, family, side), port])
    side.wait_for_rdma_listener(process, int(port))


def nobody_listens(ends):
    """An invalid service id: reason 8."""
    bystander(ends.server, ends.family)
    port = str(harness.free_port())
    ends.run_client([ends.client.program(PROGRAM), "client", "nobody", ends.connect, port])


def storm(ends):
    """Connections at once, with a message over each."""
    port = str(harness.free_port())
    program = lambda side: side.program("urxe_cm_storm")
    server = ends.start_server([program(ends.server), "server", port, ends.bind], int(port))
    client = ends.run_client([program(ends.client), "client", port, ends.connect, "--connects", "40", "--at-once", "20",
                              "--send"])
    server.kill(signal.SIGTERM)
    told = server.expect_success(PATIENCE)
    for count in ('"requests": 40', '"disconnected": 40', '"failed": 0', '"open": 0'):
        harness.expect(count in told, told + client)


# --- Servers that take their time.

def counted(side, name):
    return side.counters().get(name, 0)


def slow_accept(ends):
    """The client asks again, is told to wait (MRA), and does."""
    before = counted(ends.client, "cm_rx_msgs/mra")
    pair = Pair(ends, "slow_accept")
    wait_for_output(pair.server, "the request", "request")
    told = lambda: counted(ends.client, "cm_rx_msgs/mra") > before
    harness.wait_until(told, "the client to be told to wait", PATIENCE)
    pair.server.kill(signal.SIGUSR1)
    pair.finish()


def backlog(ends):
    """Of two requests for a listener with room for one urxe rejects the second for want of resources (3). Linux does not
    answer: asked again once there is room, it accepts."""
    before = counted(ends.client, "cm_tx_retries/req")
    pair = Pair(ends, "backlog")
    if ends.server.name == "urxe":
        wait_for_output(pair.client, "the rejection", "rejected 3")
    else:
        asked_again = lambda: counted(ends.client, "cm_tx_retries/req") > before + 1
        harness.wait_until(asked_again, "the client to ask again", PATIENCE)
    pair.server.kill(signal.SIGUSR1)
    output = pair.client.expect_success(PATIENCE)
    harness.expect(output.count("established") == (1 if ends.server.name == "urxe" else 2), output)


for case in ("client_disconnects", "server_disconnects", "private_data", "datagrams"):
    space = UDP if case == "datagrams" else TCP
    add(case, verified(case, space), *ALL)
for case in ("endpoint", "reject"):
    add(case, verified(case), IPV4, IPV6)
for case in ("nonblocking", "migrate", "options", "settled", "own_queue_pair", "data_first", "reply_rejected"):
    add(case, verified(case), IPV4)
add("notify", notify, IPV4)
add("nobody_listens", nobody_listens, IPV4, IPV6)
add("storm", storm, IPV4)
add("slow_accept", slow_accept, IPV4)
add("backlog", backlog, IPV4)
