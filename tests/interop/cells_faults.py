# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: RC transfers over a link that loses, duplicates, reorders and corrupts packets, both ways.

The faults are made by urxe's own decorator of its engine (`urxe run --fault`; seeded, and it counts what it does), or
by netem in the guest, at its interface: what leaves, and by an intermediate device what arrives.

urxe_rc_verify checks every byte and completion at both ends. Afterwards the devices' counters are compared with the
faults: no NAK, no bad ICRC that they do not explain. Without faults there must be none at all.

How much is lost: a transmission fails if the request or its answer is lost, each with probability p = 2 % (or what
loss and corruption come to together): q = 1 - (1 - p)^2 = 4 %. urxe gives up after eight failures in a row of its
oldest packet, q^8 = 6e-12; a cell has some 3000 packets, all cells some 60000: a spurious failure in 4e-7 of the runs.
soft-RoCE does not give up. The ACK timeout, 0.54 s, is what a loss that nothing later shows costs soft-RoCE.
"""

import contextlib
import dataclasses
import math

import data_path
import needs
import pairs
import peers
from cells import add
from remote import harness

# No fences: soft-RoCE's requester waits at one for ever when it has to go back (README.md, "rxe's requester stalls").
TRANSFER = ["--scenarios", "random", "--no-fence", "--timeout", "17", "--qps", "2", "--messages", "32",
            "--batches", "3", "--max-size", "20000", "--budget", "150000"]
# Soft-RoCE of Linux 6.12 refuses a READ that is asked for again (NAK, remote access error) if a READ or WRITE of no
# bytes came after it; Linux 6.1 answers it.
NO_EMPTY_FROM = (6, 2)
ROLES = ("urxe_client", "urxe_server")
KINDS = {
    "loss": {"lost": 2.0},
    "duplication": {"duplicated": 2.0},
    "reordering": {"reordered": 2.0},
    "corruption": {"corrupted": 2.0},
    "all": {"lost": 1.0, "duplicated": 1.0, "reordered": 1.0, "corrupted": 1.0},
}
URXE_WORDS = {"lost": "loss", "duplicated": "duplication", "reordered": "reordering", "corrupted": "corruption"}
LATE = "5ms"  # What netem reorders comes so much later: more than a round trip to the guest.
NAKS = ("out_of_seq_request", "rcvd_seq_err", "send_rnr_err", "rcvd_rnr_err", "retry_exceeded_err")
URXE_ONLY = ("implied_nak_seq_err", "drop_bad_icrc", "drop_malformed_request", "drop_malformed_response",
             "drop_not_owner")


@dataclasses.dataclass
class Faults:
    """What has happened in one direction, at most, in packets; exactly where `exact`."""
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    exact: bool = True

    @property
    def gaps(self):
        """NAKs of a PSN sequence error that they can cause. A packet that comes late causes two: one for itself, and,
        since those that overtook it were dropped, one for the packet after it."""
        return self.lost + self.corrupted + 2 * self.reordered


@dataclasses.dataclass
class Counted:
    """How much the counters of the two devices have grown."""
    near: dict
    far: dict


def transfer(near, far, role, family, words=""):
    """Runs urxe_rc_verify with urxe in the role; words: the faults that urxe is to make. Returns what was counted."""
    server, client = (far, near) if role == "urxe_client" else (near, far)
    port = str(pairs.free_port())
    env = lambda side: {"URXE_FAULTS": words} if words and side is near else None
    command = lambda side: [side.program("urxe_rc_verify"), "-d", side.device, "-g", data_path.gid_index(side, family),
                            "-p", port]
    test = [*TRANSFER, "--no-empty"] if (needs.kernel_of(far) or (0, 0)) >= NO_EMPTY_FROM else TRANSFER
    before = near.counters(), far.counters()
    serving = server.start(command(server), name=f"server ({server.name})", env=env(server))
    server.wait_for_tcp_listener(serving, int(port))
    asking = client.start([*command(client), *test, server.ipv4], name=f"client ({client.name})", env=env(client))
    for process in (asking, serving):
        output = process.expect_success(pairs.PATIENCE)
        harness.expect(output.rstrip().endswith("verified"), output)
    grown = [{name: value - old.get(name, 0) for name, value in side.counters().items()}
             for side, old in zip((near, far), before)]
    return Counted(*grown)


def made_by_urxe(counted):
    """(towards the peer, towards urxe)"""
    kinds = ("lost", "duplicated", "reordered", "corrupted")
    return [Faults(**{kind: counted.near[f"fault_{direction}_{kind}"] for kind in kinds}) for direction in ("tx", "rx")]


def made_by_netem(counted, percentages):
    """The same, as an upper bound: more than six standard deviations above what is to be expected, which by
    Bernstein's inequality one run in ten million exceeds."""
    def at_most(packets, percentage):
        expected = packets * percentage / 100
        return math.ceil(expected + 6 * math.sqrt(expected) + 6)
    return [Faults(**{kind: at_most(packets, share) for kind, share in percentages.items()}, exact=False)
            for packets in (counted.near["sent_pkts"], counted.far["sent_pkts"])]


def check(counted, outwards, inwards):
    """Compares what the devices have counted with the faults towards the peer and towards urxe."""
    near, far = counted.near, counted.far
    shown = f"{outwards}, {inwards}, {changed(near)}, {changed(far)}"

    def at_most(what, value, limit):
        harness.expect(value <= limit, f"{what}: {value}, at most {limit} are explained\n{shown}")

    at_most("gaps that urxe saw", near["out_of_seq_request"], inwards.gaps)
    at_most("gaps that the peer saw", far["out_of_seq_request"], outwards.gaps)
    at_most("NAKs that urxe received", near["rcvd_seq_err"], far["out_of_seq_request"] + inwards.duplicated)
    at_most("NAKs that the peer received", far["rcvd_seq_err"], near["out_of_seq_request"] + outwards.duplicated)
    at_most("implied NAKs", near["implied_nak_seq_err"], inwards.gaps)
    # A flipped bit of a queue pair's number makes a packet another process's, or nobody's.
    at_most("bad packets at urxe", near["drop_bad_icrc"] + near["drop_not_owner"], inwards.corrupted)
    for side in (near, far):
        at_most("receivers not ready", side["send_rnr_err"] + side["rcvd_rnr_err"], 0)
        at_most("retries used up", side["retry_exceeded_err"], 0)
    if outwards.exact:
        check_exactly(counted, outwards, inwards, at_most)


def check_exactly(counted, outwards, inwards, at_most):
    """What can be said if the faults were counted: corrupted packets were noticed by urxe, and not taken by the peer
    (soft-RoCE counts no bad ICRCs, but what it takes). Some flips, of byte 4 of the BTH, are not covered by the ICRC:
    of 20 bytes and more, so one in 20 packets at most."""
    near, far = counted.near, counted.far
    arrived = near["sent_pkts"] - outwards.lost + outwards.duplicated
    at_most("packets that the peer took", far["rcvd_pkts"], arrived - outwards.corrupted * 3 // 4)
    if inwards.corrupted > 10:
        harness.expect(near["drop_bad_icrc"] > inwards.corrupted // 2, f"corruption unnoticed by urxe: {changed(near)}")


def changed(counters):
    return {name: value for name, value in sorted(counters.items()) if value != 0}


def no_faults(role, family):
    """Without faults there is no NAK and no bad ICRC, and nothing is lost. (Packets may be sent twice: an emulated peer
    can be silent for so long that urxe asks.)"""
    def run(near, far):
        counted = transfer(near, far, role, family)
        for name in (*NAKS, *URXE_ONLY):
            harness.expect(counted.near[name] == 0, f"urxe: {changed(counted.near)}")
            harness.expect(counted.far.get(name, 0) == 0, f"{far.name}: {changed(counted.far)}")
        check(counted, Faults(), Faults())
        for sender, receiver in ((counted.near, counted.far), (counted.far, counted.near)):
            harness.expect(sender["sent_pkts"] == receiver["rcvd_pkts"],
                           f"{changed(counted.near)}, {changed(counted.far)}")
    return run


def urxe_faults(role, family, kind, seed):
    """Faults both ways by urxe's decorator."""
    words = [f"{URXE_WORDS[name]}={percentage}%" for name, percentage in KINDS[kind].items()]

    def run(near, far):
        counted = transfer(near, far, role, family, ",".join([*words, f"seed={seed}"]))
        outwards, inwards = made_by_urxe(counted)
        for name in KINDS[kind]:
            harness.expect(getattr(outwards, name) + getattr(inwards, name) > 0, f"no packet was {name}")
        check(counted, outwards, inwards)
    return run


@contextlib.contextmanager
def netem(side, percentages):
    """In the guest, on RoCE over IPv4: what leaves it, and what arrives, through an intermediate device."""
    words = ["netem", "limit", "10000"]
    if "reordered" in percentages:
        # All are late but those that are not.
        words += ["delay", LATE, "reorder", f"{100 - percentages['reordered']}%"]
    for name, word in (("lost", "loss"), ("duplicated", "duplicate"), ("corrupted", "corrupt")):
        if name in percentages:
            words += [word, f"{percentages[name]}%"]
    faulty, link = " ".join(words), side.interface
    roce = "protocol ip u32 match ip protocol 17 0xff match ip dport 4791 0xffff"
    try:
        side.run_plain(["ip", "link", "set", "ifb0", "up"])
        _traffic_control(
            side,
            # By default all packets go to the first three of the bands.
            f"qdisc add dev {link} root handle 1: prio bands 4",
            f"qdisc add dev {link} parent 1:4 {faulty}",
            f"filter add dev {link} parent 1: {roce} flowid 1:4",
            f"qdisc add dev ifb0 root {faulty}",
            f"qdisc add dev {link} ingress",
            f"filter add dev {link} parent ffff: {roce} action mirred egress redirect dev ifb0")
        yield
    finally:
        _traffic_control(side, f"qdisc del dev {link} root", f"qdisc del dev {link} ingress", "qdisc del dev ifb0 root",
                         how="-force -batch - || true")


def _traffic_control(side, *commands, how="-batch -"):
    """All by one program: in emulation each takes half a second to start."""
    side.run_plain(["sh", "-c", f"printf '%s\\n' \"$@\" | tc {how}", "sh", *commands])


def netem_faults(role, kind):
    """Faults both ways by netem."""
    def run(near, far):
        with netem(far, KINDS[kind]):
            counted = transfer(near, far, role, "ipv4")
        check(counted, *made_by_netem(counted, KINDS[kind]))
    return run


def has_netem(_near, far):
    return None if isinstance(far, peers.GuestSide) else f"{far.name}: only a guest's network is made bad there"


for role in ROLES:
    for family in data_path.FAMILIES:
        add("faults.none", no_faults(role, family), role, family, needs=[needs.atomics()])
    for number, kind in enumerate(KINDS):
        for family in data_path.FAMILIES if kind == "all" else ("ipv4",):
            add(f"faults.urxe_{kind}", urxe_faults(role, family, kind, 1 + number), role, family,
                needs=[needs.atomics()])
        add(f"faults.netem_{kind}", netem_faults(role, kind), role, needs=[needs.atomics(), has_netem])
