#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Records captures of urxe with kernel rxe in a guest: each case with urxe as requester or client, and as the other.

usage: record.py [--out DIR] [--only PATTERN]... [--list]

  --out     where to put the captures and INDEX.md, by default pcap_samples/interop
  --only    cases whose name contains the pattern, or matches it where it has a wildcard; other captures stay

Cases are in case_plans.py and case_programs.py. Frames are as they pass the tap. Both ends verify what they transfer;
a capture is kept only if they do, if every ICRC is right and if it is small. Ends with 1 if one is not made.
"""

import argparse
import contextlib
import io
import os
import socket
import sys
import tempfile

import capture_index
import case_plans
import case_programs
import matrix
import peers
from remote import AgentLost, harness

PYTHON = "/usr/bin/python3"  # The one that python3-pyverbs is for.
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.realpath(os.path.join(HERE, "..", "..", "pcap_samples", "interop"))
CASES = (*case_plans.CASES, *case_programs.CASES)
ROLES = ("urxe_to_rxe", "rxe_to_urxe")
PORT = 4791
MARK = 9  # The UDP port of the frame that ends a recording.
MOST_BYTES = 64 * 1024
ATTEMPTS = 3
PATIENCE = 240
# What makes the faults on the sender's side: netem in the guest, urxe itself here.
_NETEM = {"loss_request": ["loss", "15%"], "duplicate": ["duplicate", "30%"],
          "reorder": ["delay", "5ms", "reorder", "25%"]}
_FAULTS = {"loss_request": "loss=15%", "duplicate": "duplication=30%",
           "reorder": "reordering=8%"}  # urxe lets up to eight others pass each of these.
for faults in (_NETEM, _FAULTS):
    faults["loss_response"] = faults["loss_request"]


class Server:
    """The far end of the cases of queue pairs of our own: one process for all."""

    def __init__(self, link):
        self._link, self._port = link, harness.free_port()
        self._process = link.far.start(self._words(link.far, "serve", self._port), name="case_run.py serve")
        link.far.wait_for_tcp_listener(self._process, self._port)

    @staticmethod
    def _words(side, *words):
        what, *rest = words
        gids = [side.gid_index_v4, side.gid_index_v6]
        return [PYTHON, "-B", os.path.join(HERE, "case_run.py"), what, side.device, *gids, *rest]

    def run(self, case, near_is_requester):
        near, far = self._link
        before = len(self._process.output)
        end = near.start(self._words(near, "run", f"{far.ipv4}:{self._port}", case.name,
                                     "requester" if near_is_requester else "responder"),
                         env=_faults_of_urxe(case.faults) if near_makes_faults(case, near_is_requester) else None)
        code = end.wait(PATIENCE)
        harness.expect(code == 0, f"{end.output}\n{self._process.output[before:]}")


def near_makes_faults(case, near_is_requester):
    return bool(case.faults) and near_is_requester != (case.faults == "loss_response")


def _faults_of_urxe(faults):
    return {"URXE_FAULTS": f"{_FAULTS[faults]},direction=out,seed=3"}


@contextlib.contextmanager
def netem(side, faults):
    words = ["tc", "qdisc", "add", "dev", side.interface, "root", "netem", *_NETEM[faults]]
    side.run_plain(words)
    try:
        yield
    finally:
        side.run_plain(["tc", "qdisc", "del", "dev", side.interface, "root"])


@contextlib.contextmanager
def recorded(link, frames):
    """Adds the frames that pass the link's wire meanwhile to the list. That the recorder has written what came before a
    last frame of ours tells that none is missing."""
    with tempfile.TemporaryDirectory(prefix="urxe-record-") as folder:
        path = os.path.join(folder, "capture.pcap")
        with link.capture(path, f"udp port {PORT} or udp port {MARK}"):
            yield
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"end", (link.far.ipv4, MARK))
            is_mark = lambda frame: capture_index.udp_port(frame[2]) == MARK
            harness.wait_until(lambda: any(map(is_mark, capture_index.read(path))), "the recorder to write all")
        frames += [frame for frame in capture_index.read(path) if not is_mark(frame)]


class Recorder:
    def __init__(self, link, out):
        self._link, self._out, self._server = link, out, None
        self.reasons = {}  # By the file's name: why there is none.

    def record(self, case, role):
        name = f"{case.name}.{role}.pcap"
        said = io.StringIO()
        for _ in range(ATTEMPTS):
            try:
                with contextlib.redirect_stdout(said):
                    frames = self._frames(case, role == ROLES[0])
                    size = 24 + sum(16 + len(frame[2]) for frame in frames)
                    harness.expect(size <= MOST_BYTES, f"{len(frames)} frames, {size} bytes: too many")
                    self._keep(name, frames)
                print(f"{name}: {len(frames)} frames, {size} bytes", flush=True)
                return
            except SystemExit:  # harness.fail
                print(f"{name}: {said.getvalue()}", flush=True)
        self.reasons[name] = (said.getvalue().strip().splitlines() or ["?"])[-1]

    def _keep(self, name, frames):
        with tempfile.TemporaryDirectory(prefix="urxe-record-") as folder:
            path = os.path.join(folder, name)
            capture_index.write(path, frames)
            harness.expect(capture_index.checked(path) == len(frames), "a frame is not RoCE")
        capture_index.write(os.path.join(self._out, name), frames)

    def _frames(self, case, near_is_requester):
        frames = []
        near, far = self._link
        self._link.set_mtu(case.interface_mtu)
        if isinstance(case, case_plans.Case):
            self._server = self._server or Server(self._link)
            with contextlib.ExitStack() as stack:
                if case.faults and not near_makes_faults(case, near_is_requester):
                    stack.enter_context(netem(far, case.faults))
                stack.enter_context(recorded(self._link, frames))
                self._server.run(case, near_is_requester)
        else:
            with recorded(self._link, frames):
                server, client = (far, near) if near_is_requester else (near, far)
                with matrix.only_new_processes():
                    case.run(server, client)
        return frames


def write_index(out, kernel, reasons, new):
    """The rows of captures that are not of these new cases stay."""
    path = os.path.join(out, "INDEX.md")
    old = capture_index.rows(path)
    rows, missing = [], []
    for case in CASES:
        for role in ROLES:
            name = f"{case.name}.{role}.pcap"
            if name in old and case not in new:
                rows.append(old[name])
            elif os.path.exists(os.path.join(out, name)):
                rows.append(capture_index.row(os.path.join(out, name), case.what))
            else:
                missing.append(f"- {name}: {reasons.get(name, 'not recorded')}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""# Captures of urxe with kernel rxe (Linux {kernel})

Made by `tests/interop/record.py` on the tap between urxe (10.99.0.1, fd00:99::1) and rxe in a guest (10.99.0.2,
fd00:99::2); classic pcap, UDP port 4791 only, frames as they would be on a wire. In `*.urxe_to_rxe.pcap` urxe is the
requester or the client, in `*.rxe_to_urxe.pcap` rxe is. Both ends verified the data. A test checks each frame's ICRC.
Faults are made on their sender's side of the tap: what was lost is not there.

{capture_index.HEAD}
""" + "\n".join(rows) + "\n")
        if missing:
            file.write("\nNot there:\n" + "\n".join(missing) + "\n")


def record_all(link, wanted, out):
    """The reasons why captures are not there, by their files' names."""
    recorder = Recorder(link, out)
    # Those that need the same MTU together: the peer takes a while to change it.
    for case in sorted(wanted, key=lambda each: each.interface_mtu):
        for role in ROLES:
            try:
                recorder.record(case, role)
            except AgentLost as lost:
                print(lost, flush=True)
                return {**recorder.reasons, f"{case.name}.{role}.pcap": "the guest was lost"}
    return recorder.reasons


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=OUT)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    wanted = [case for case in CASES if not arguments.only or matrix.matches(case.name, arguments.only)]
    if arguments.list:
        print("\n".join(case.name for case in wanted))
        return
    harness.need_programs("tcpdump", "tshark", PYTHON)
    os.makedirs(arguments.out, exist_ok=True)
    with peers.link("guest") as link:
        kernel = link.far.run_plain(["uname", "-rv"]).strip()
        reasons = record_all(link, wanted, os.path.realpath(arguments.out))
    write_index(arguments.out, kernel, reasons, wanted)
    sys.exit(1 if reasons else 0)


if __name__ == "__main__":
    harness.main(main)
