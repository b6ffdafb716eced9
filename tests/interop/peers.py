# SPDX-License-Identifier: BSD-2-Clause
"""Links between urxe and a peer of one's choice, for tests that do not care which it is.

    with peers.link("guest", mtu=4500) as (near, far):
        server = far.start([far.program("urxe_rc_verify"), "-d", far.device, "-g", str(far.gid_index_v4), ...])
        far.wait_for_tcp_listener(server, port)
        near.run([...])

The near side is urxe, unless the table says otherwise. Peers:
  guest     rxe, in a guest that the first such link boots and that stays until this process ends
  urxe      urxe again, in another network namespace: needs nothing but urxe
  rxe       rxe in a guest on both sides, over the device's own loopback
  guests    rxe in two guests
  ssh:HOST[,device=NAME][,gid=INDEX]...[,ip=ADDRESS]...[,programs=FOLDER][,interface=NAME]
            a device of another host (ssh_side.py); interface: the one here, by default where the route to it leaves
"""

import atexit
import contextlib
import ipaddress
import json
import signal
import subprocess

import guest
from remote import harness
from sides import PATIENCE, TCP, UDP, AgentSide, GuestSide, Side, UrxePeerSide, UrxeSide  # noqa: F401
from ssh_side import SshSide

_BRIDGE = "urxbr"
_state = {"isolated": False, "guests": {}}


class Link:
    """Both sides of a link: it unpacks as (near, far).

    wire         the interface of this namespace that all frames of the link pass; None for a device's own loopback
    fixed_mtu    whether the interfaces are not ours to change
    """

    def __init__(self, near, far, wire, fixed_mtu=False):
        self.near, self.far, self.wire, self.fixed_mtu = near, far, wire, fixed_mtu

    def __iter__(self):
        return iter((self.near, self.far))

    def set_mtu(self, mtu):
        """Of both interfaces, where they are ours; the devices' active_mtu follows."""
        if not self.fixed_mtu:
            for side in {id(side): side for side in self}.values():
                side.set_mtu(mtu)

    def active_mtu(self):
        """The largest path MTU that both devices take."""
        return min(side.active_mtu() for side in self)

    @contextlib.contextmanager
    def capture(self, path, words="udp port 4791"):
        """Records (pcap) what passes the wire, each frame as it is there, none missing."""
        harness.need_programs("tcpdump")
        harness.expect(self.wire, "nothing of a device's own loopback can be captured")
        recorder = harness.Process(["tcpdump", "-i", self.wire, "-U", "-B", "65536", "-s", "0", "-Z", "root", "-w", path,
                                    words])
        harness.wait_until(lambda: "listening on" in recorder.output or not recorder.running(), "tcpdump to listen")
        try:
            yield
        finally:
            recorder.kill(signal.SIGINT)
            recorder.wait()
        harness.expect("\n0 packets dropped by kernel" in recorder.output, recorder.output)


def shared_guest(number=1):
    """A guest of this process, booted if there is none yet of that number. Only for the main thread."""
    if number not in _state["guests"]:
        guest.need()
        _isolate()
        started = guest.start(number)
        atexit.register(started.stop)
        _state["guests"][number] = started
    return _state["guests"][number]


def _isolate():
    if not _state["isolated"]:
        harness.need_namespaces()
        _state["isolated"] = True


@contextlib.contextmanager
def _guest_link():
    there = shared_guest()
    yield Link(UrxeSide(there.tap), GuestSide(there), there.tap)


@contextlib.contextmanager
def _rxe_link():
    side = GuestSide(shared_guest())
    yield Link(side, side, None)


@contextlib.contextmanager
def _guests_link():
    far, near = shared_guest(1), shared_guest(2)
    ip = lambda *words: subprocess.run(["ip", "link", *words], check=True)
    ip("add", _BRIDGE, "type", "bridge", "mcast_snooping", "0")
    try:
        ip("set", _BRIDGE, "up")
        for end in (near, far):
            ip("set", end.tap, "master", _BRIDGE)
        yield Link(GuestSide(near), GuestSide(far), far.tap)
    finally:
        ip("delete", _BRIDGE)


@contextlib.contextmanager
def _urxe_link():
    _isolate()
    with harness.veth_pair() as (other, _ours, _theirs):
        harness.without_offloads("urxa")
        harness.without_offloads("urxb", other.command([]))
        yield Link(UrxeSide("urxa"), UrxePeerSide("urxb", other), "urxa")


@contextlib.contextmanager
def _ssh_link(host, *options):
    words = {"interface": [], "device": [], "gid": [], "ip": [], "programs": []}
    for option in options:
        name, value = option.split("=", 1) if "=" in option else (option, "")
        harness.expect(name in words, f"no such option of a peer: {name}")
        words[name].append(value)
    interface = words.pop("interface")
    far = SshSide(host, **words)
    try:
        near = UrxeSide(interface[0] if interface else _interface_towards(far.ipv4 or far.ipv6))
        yield Link(near, far, near.interface, fixed_mtu=True)
    finally:
        far.close()


def _interface_towards(address):
    family = f"-{ipaddress.ip_address(address).version}"
    routes = json.loads(subprocess.run(["ip", "-j", family, "route", "get", address], check=True, text=True,
                                       stdout=subprocess.PIPE).stdout)
    return routes[0]["dev"]


@contextlib.contextmanager
def link(peer="guest", mtu=1500):
    """Yields a Link to the peer, with this MTU of both interfaces where they are ours."""
    kinds = {"guest": _guest_link, "urxe": _urxe_link, "rxe": _rxe_link, "guests": _guests_link}
    if peer.startswith("ssh:"):
        joining = _ssh_link(*peer[len("ssh:"):].split(","))
    elif peer in kinds:
        joining = kinds[peer]()
    else:
        harness.fail(f"no such peer: {peer}; there are {', '.join(kinds)} and ssh:HOST")
    with joining as joined:
        joined.set_mtu(mtu)
        yield joined
