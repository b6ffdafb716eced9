# SPDX-License-Identifier: BSD-2-Clause
"""Links between urxe and a peer of one's choice, for tests that do not care which it is.

    with peers.link("guest", mtu=4500) as (near, far):
        server = far.start([far.program("urxe_rc_verify"), "-d", far.device, "-g", str(far.gid_index_v4), ...])
        far.wait_for_tcp_listener(server, port)
        near.run([...])

The near side is urxe. Peers:
  guest    rxe, in a guest that the first such link boots and that stays until this process ends
  urxe     urxe again, in another network namespace: needs nothing but urxe
  rxe      rxe in a guest on both sides, over the device's own loopback; there is no near urxe then
"""

import atexit
import contextlib
import signal
import typing

import guest
from remote import harness
from sides import TCP, UDP, AgentSide, GuestSide, Side, UrxePeerSide, UrxeSide  # noqa: F401

_state = {"isolated": False, "guest": None}


class Link(typing.NamedTuple):
    """Both sides of a link; it unpacks as (near, far)."""

    near: Side
    far: Side

    def set_mtu(self, mtu):
        """Of both interfaces; the devices' active_mtu follows."""
        for side in {id(side): side for side in self}.values():
            side.set_mtu(mtu)

    @contextlib.contextmanager
    def capture(self, path, words="udp port 4791"):
        """Records what passes the near side's interface, every frame of it as it would be on a wire."""
        harness.need_programs("tcpdump")
        recorder = self.near.start_plain(["tcpdump", "-i", self.near.interface, "-U", "-B", "65536", "-s", "0", "-Z", "root",
                                          "-w", path, words])
        harness.wait_until(lambda: "listening on" in recorder.output or not recorder.running(), "tcpdump to listen")
        try:
            yield
        finally:
            recorder.kill(signal.SIGINT)
            recorder.wait()
        harness.expect("\n0 packets dropped by kernel" in recorder.output, recorder.output)


def shared_guest():
    """The guest of this process, booted if there is none yet."""
    if _state["guest"] is None:
        _isolate()
        _state["guest"] = guest.Guest()
        atexit.register(_state["guest"].stop)
    return _state["guest"]


def _isolate():
    if not _state["isolated"]:
        harness.need_namespaces()
        _state["isolated"] = True


@contextlib.contextmanager
def _guest_link():
    there = shared_guest()
    yield Link(UrxeSide(there.tap), GuestSide(there))


@contextlib.contextmanager
def _rxe_link():
    side = GuestSide(shared_guest())
    yield Link(side, side)


@contextlib.contextmanager
def _urxe_link():
    _isolate()
    with harness.veth_pair() as (other, _ours, _theirs):
        harness.without_offloads("urxa")
        harness.without_offloads("urxb", other.command([]))
        yield Link(UrxeSide("urxa"), UrxePeerSide("urxb", other))


@contextlib.contextmanager
def link(peer="guest", mtu=1500):
    """Yields a Link to the peer, with this MTU of both interfaces."""
    kinds = {"guest": _guest_link, "rxe": _rxe_link, "urxe": _urxe_link}
    if peer not in kinds:
        harness.fail(f"no such peer: {peer}; there are {', '.join(kinds)}")
    with kinds[peer]() as joined:
        joined.set_mtu(mtu)
        yield joined
