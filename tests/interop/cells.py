# SPDX-License-Identifier: BSD-2-Clause
"""The registry of the matrix: what a cell is, and how the modules cells_*.py declare theirs.

A cell is a function of the link's two ends that fails as the tests of tests/system do (harness.fail, expect), or by any
exception. A module declares its cells when it is imported:

    def refuses(near, far):                       # near: urxe; far: the peer (peers.Side)
        ...
    add("cm.reject", refuses)                     # The cell cm.reject.

    def echoes(server, client): ...
    add_both_roles("cm.rping", echoes, "ipv4")    # The cells cm.rping/urxe_client/ipv4 and cm.rping/urxe_server/ipv4.

Processes are started with Side.start, by pairs.run_pair for instance: what still runs when the cell's function has
ended is killed, and the output of all is shown if the cell has failed.
"""

import dataclasses
import typing

ETHERNET_MTU = 1500  # Bytes; carries a path MTU of 1024.
JUMBO_MTU = 4200  # Carries a path MTU of 4096.


@dataclasses.dataclass(frozen=True)
class Cell:
    """One line of the matrix.

    name   parts joined by "/": the case, the role of urxe if it has one, the variants
    run    called as run(near, far)
    needs  functions of the two ends that return None, or why one of the ends cannot do this: needs.py has them
    mtu    bytes that both interfaces must carry while the cell runs
    """
    name: str
    run: typing.Callable
    needs: tuple = ()
    mtu: int = ETHERNET_MTU

    @property
    def group(self):
        """The part of the name before the first dot."""
        return self.name.split(".")[0]


_cells = {}


def add(name, run, *variants, needs=(), mtu=ETHERNET_MTU):
    """Declares the cell name/variant/...; run(near, far)."""
    full_name = "/".join([name, *variants])
    if full_name in _cells:
        raise ValueError(f"two cells are named {full_name}")
    _cells[full_name] = Cell(full_name, run, tuple(needs), mtu)


def add_both_roles(name, run, *variants, needs=(), mtu=ETHERNET_MTU):
    """Declares two cells, with urxe as the client and as the server; run(server, client)."""
    add(name, lambda near, far: run(far, near), "urxe_client", *variants, needs=needs, mtu=mtu)
    add(name, lambda near, far: run(near, far), "urxe_server", *variants, needs=needs, mtu=mtu)


def all_cells():
    """In order of declaration."""
    return list(_cells.values())
