#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`urxe analyze` tells the truth.

usage: analyze.py stories FOLDER | standard_input FOLDER | wrong_use | lost_output FOLDER | progress
       analyze.py live clean|corruption|duplication|loss|loss_behind|reordering
       analyze.py reads loss|reordering

stories: what is written by hand beside a capture of FOLDER, FILE.story, is what it reports of it.
progress: a terminal gets a bar if it takes more than two seconds, and is clean at the end; others get none.
live: faults that `urxe run --fault` makes are found in a capture of `urxe run --capture`. Faults that are made on the
way out are made before the packets come to the capture, those on the way in behind it.
reads: the same of READs whose responses are lost or overtaken.
"""

import decimal
import glob
import io
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time

import harness
from harness import Process
from roce_capture import Capture
from terminal import read_rest

QUICK_COPY_NS = 250_000  # kCopyGuessNs of tools/analyze
BASE = "/sys/class/infiniband/urxe_lo/ports/1/hw_counters"


def analyze(file):
    """Returns the exit status and the report."""
    process = Process([harness.binary("urxe"), "analyze", "--json", file])
    status = process.wait()
    return status, json.loads(process.output)


def value_at(report, path):
    for word in path.split("."):
        report = report[int(word)] if isinstance(report, list) else report[word]
    return report


def check_story(story):
    status, report = analyze(story.removesuffix(".story") + ".pcap")
    lines = 0
    with open(story, encoding="ascii") as file:
        for line in file:
            if line.startswith("#"):
                continue
            path, value = line.split(maxsplit=1)
            found = status if path == "exit" else value_at(report, path)
            harness.expect(found == json.loads(value), f"{story}: {path} is {found}, not {value}")
            lines += 1
    harness.expect(lines > 0, f"{story} says nothing")


def stories(arguments):
    found = glob.glob(os.path.join(arguments[0], "**", "*.story"), recursive=True)
    harness.expect(len(found) > 10, f"only {len(found)} stories in {arguments[0]}")
    for story in found:
        check_story(story)


def standard_input(arguments):
    """What the message about a compressed file proposes."""
    file = os.path.join(arguments[0], "rc_send.pcap")
    whole = subprocess.run([harness.binary("urxe"), "analyze", file], capture_output=True, check=True, env=harness.environment())
    packed = subprocess.run(["gzip", "-c", file], capture_output=True, check=True).stdout
    unpacked = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout
    piped = subprocess.run([harness.binary("urxe"), "analyze", "-"], input=unpacked, capture_output=True, check=True,
                           env=harness.environment())
    harness.expect(piped.stdout == whole.stdout and b"ACK" in piped.stdout, piped.stdout.decode())


def wrong_use(_arguments):
    with tempfile.TemporaryDirectory() as folder:
        garbage = os.path.join(folder, "garbage")
        with open(garbage, "wb") as file:
            file.write(b"no capture at all, whatever its name says")
        for words in ([], ["--xml", garbage], [os.path.join(folder, "none")], [garbage], [garbage, garbage]):
            process = Process([harness.binary("urxe"), "analyze", *words])
            code = process.wait()
            harness.expect(code == 2, f"{words} ends with {code}: {process.output}")
        compressed(folder)


def lost_output(arguments):
    """What cannot be written is an error that says why. The defects: "cannot write to file", and SIGXFSZ ended the program."""
    file = os.path.join(arguments[0], "rc_send.pcap")
    with tempfile.TemporaryDirectory() as folder:
        small = os.path.join(folder, "report")
        for words in ([], ["--json"]):
            command = [harness.binary("urxe"), "analyze", *words, file]
            for limit, place, why in (([], "/dev/full", "No space left on device"),
                                      (["prlimit", "--fsize=100"], small, "File too large")):
                with open(place, "w", encoding="ascii") as out:
                    done = subprocess.run([*limit, *command], stdout=out, stderr=subprocess.PIPE, text=True, check=False,
                                          env=harness.environment())
                harness.expect((done.returncode, done.stderr) == (125, f"urxe analyze: cannot write the output: {why}\n"), done)


def compressed(folder):
    """The defect: a compressed capture was an unknown file format, without a word of what to do."""
    programs = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\0", "bzip2": b"BZh9",
                "lz4": b"\x04\x22\x4d\x18"}
    for program, magic in programs.items():
        file = os.path.join(folder, "capture." + program)
        with open(file, "wb") as out:
            out.write(magic + bytes(20))
        process = Process([harness.binary("urxe"), "analyze", file])
        harness.expect(process.wait() == 2 and f"{program} -dc {file} | urxe analyze -" in process.output, process.output)


class SlowReader:
    """`urxe analyze` of a capture that comes through a pipe, until it is told to end."""

    def __init__(self, folder, errors):
        self._pipe = os.path.join(folder, "pipe")
        os.mkfifo(self._pipe)
        self.process = subprocess.Popen([harness.binary("urxe"), "analyze", self._pipe], stdout=subprocess.PIPE, stderr=errors,
                                        env=harness.environment())
        self._file = open(self._pipe, "wb", buffering=0)
        self._frames = io.BytesIO()
        self._capture = Capture(self._frames)

    def feed(self):
        """Some thousand frames more."""
        for _ in range(2048):
            self._capture.add(b"no IP")
        self._file.write(self._frames.getvalue())
        self._frames.seek(0)
        self._frames.truncate()

    def end(self):
        self._file.close()
        output = self.process.stdout.read().decode()
        harness.expect(self.process.wait(harness.PATIENCE) == 0, output)
        harness.expect(output.startswith(f"{self._capture.frames} frames in "), output)


def read_some(descriptor):
    return os.read(descriptor, 65536).decode() if select.select([descriptor], [], [], 0.05)[0] else ""


def progress(_arguments):
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        reader = SlowReader(folder, theirs)
        os.close(theirs)
        shown = ""
        while shown.count(" frames") < 2:
            reader.feed()
            shown += read_some(ours)
        reader.end()
        # The bar is removed: what was written last erases the line.
        shown += read_rest(ours)
        harness.expect(shown.endswith("\r\x1b[K"), f"the terminal shows {shown!r}")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        reader = SlowReader(folder, errors)
        begin = time.monotonic()
        while time.monotonic() < begin + 3:
            reader.feed()
            time.sleep(0.05)
        reader.end()
        harness.expect(errors.tell() == 0, "a bar for a file")


def counters():
    lines = Process(harness.urxe_run(["grep", "-H", ".", "-r", BASE])).expect_success().splitlines()
    return {path.rsplit("/", 1)[1]: int(value) for path, value in (line.split(":") for line in lines)}


def traffic(file, client_faults, server_faults, capture_at, program="ib_write_bw", size=8000, count=1000):
    """WRITEs from the client to the server, which only acknowledges; or another program's. Returns what was counted of faults."""
    harness.need_programs(program)
    before = counters()
    port = harness.free_port()
    command = [program, "-d", "urxe_lo", "-x", "0", "-F", "-p", str(port), "-n", str(count), "-s", str(size), "-m", "1024"]
    options = {"client": client_faults, "server": server_faults}
    options = {end: ["--fault", words + ",seed=5"] if words else [] for end, words in options.items()}
    options[capture_at] += ["--capture", file]
    harness.run_pair(harness.urxe_run(command, options["server"]),
                     harness.urxe_run([*command, "127.0.0.1"], options["client"]), port)
    after = counters()
    return {name: after[name] - before[name] for name in after if name.startswith("fault_")}


def writes(report):
    """The direction that has the WRITEs."""
    directions = [d for c in report["connections"] for d in c["directions"] if d["packets"]]
    harness.expect(len(directions) == 1, f"{len(directions)} directions with requests")
    harness.expect(directions[0]["messages"]["write"]["sent"] >= 1000, directions[0]["messages"])
    return directions[0]


def expect_equal(found, made, what):
    harness.expect(made > 0, f"no fault was made: {what}")
    harness.expect(found == made, f"{what}: {found} found, {made} made")


def late_packets(file):
    """How many request packets come for the first time behind a later one, as tshark and simple code see it."""
    harness.need_programs("tshark")
    command = ["tshark", "-r", file, "-Y", "infiniband.bth.opcode <= 11", "-T", "fields", "-e", "infiniband.bth.psn"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    seen, newest, late = set(), None, 0
    for psn in map(int, lines):
        if psn in seen:
            continue
        seen.add(psn)
        if newest is not None and (psn - newest) % 2**24 >= 2**23:
            late += 1
        else:
            newest = psn
    return late


def expect_named(found, mistaken, late, made, what):
    """`found` of the faults have their right name, and `mistaken` a wrong one: all together explain what came late, and nearly
    all are right. Not each one: the last packet of a burst leaves no trace, whether it is lost or held back; a packet that is
    sent again unasked, because a busy machine lets the responder wait, looks like a late one; and a repair may be lost, too."""
    harness.expect(made > 0, f"no fault was made: {what}")
    summary = f"{what}: {found} found, {mistaken} misnamed, {late} packets came late, {made} faults made"
    harness.expect(late <= found + mistaken, summary)
    harness.expect(made * 3 // 4 <= found <= made * 5 // 4 and mistaken <= made // 4, summary)


def copies(file):
    """The times, in ns, between copies of a request packet that come one after the other, as tshark and simple code see it."""
    harness.need_programs("tshark")
    command = ["tshark", "-r", file, "-Y", "infiniband.bth.opcode <= 11", "-T", "fields", "-e", "infiniband.bth.psn",
               "-e", "frame.time_epoch"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    last, found = {}, []
    for line in lines:
        psn, time_text = line.split()
        now = round(decimal.Decimal(time_text) * 10**9)
        if psn in last:
            found.append(now - last[psn])
        last[psn] = now
    return found


def expect_duplicates(repeats, made, intervals):
    """The report calls a copy a duplicate if it follows within QUICK_COPY_NS, and only then. On a busy machine one may come
    later, and then looks like a packet that the requester has sent again."""
    quick = sum(ns < QUICK_COPY_NS for ns in intervals)
    summary = f"{repeats}, {made} made, {len(intervals)} copies, {quick} of them quick"
    harness.expect(0 < made <= len(intervals) == sum(repeats.values()), summary)
    harness.expect(quick == repeats["duplicate"], summary)


LIVE = {
    "clean": ("", "", "client"),
    "corruption": ("corruption=1%,direction=out", "", "client"),
    "duplication": ("duplication=1%,direction=out", "", "client"),
    "loss": ("loss=0.5%,direction=out", "", "client"),
    "loss_behind": ("", "loss=0.5%,direction=in", "server"),
    "reordering": ("reordering=0.5%,direction=out", "", "client"),
}


def live(arguments):
    harness.isolate()
    case = arguments[0]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "capture.pcapng")
        made = traffic(file, *LIVE[case])
        status, report = analyze(file)
        found = writes(report)
        late = late_packets(file)
        intervals = copies(file)
    shown = {name: value for name, value in found.items() if name not in ("messages", "rate")}
    print(case, late, {name: value for name, value in made.items() if value}, shown)
    harness.expect(report["violation_count"] == 0, report["violations"])
    harness.expect(found["messages"]["write"]["answered"] == found["messages"]["write"]["sent"], "unanswered WRITEs")
    harness.expect(status == (1 if case == "corruption" else 0), f"ends with {status}")
    if case != "corruption":
        harness.expect(report["capture"]["bad_icrc"] == 0, "ICRCs")
    if case == "clean":
        # What a busy machine loses or sends again is in the capture, too.
        summary = f"{shown}, {late} packets came late, {len(intervals)} came again"
        harness.expect(sum(found["repeats"].values()) == len(intervals) >= found["lost_after"], summary)
        harness.expect(found["lost_before"] + found["out_of_order"] <= late and not found["corrupted"], summary)
    elif case == "corruption":
        expect_equal(report["capture"]["bad_icrc"], made["fault_tx_corrupted"], case)
        expect_named(found["corrupted"], found["lost_before"], late, made["fault_tx_corrupted"], case)
    elif case == "duplication":
        expect_duplicates(found["repeats"], made["fault_tx_duplicated"], intervals)
    elif case == "loss":
        expect_named(found["lost_before"], found["out_of_order"], late, made["fault_tx_lost"], case)
    elif case == "loss_behind":
        expect_named(found["lost_after"], found["lost_before"], late, made["fault_rx_lost"], case)
    elif case == "reordering":
        expect_named(found["out_of_order"], found["lost_before"], late, made["fault_tx_reordered"], case)


def reads(arguments):
    """Each READ is answered, though some responses are lost or overtaken, and only these are asked for again."""
    harness.isolate()
    fault = arguments[0]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "capture.pcapng")
        made = traffic(file, "", f"{fault}=1%,direction=out", "client", program="ib_read_bw", size=100000, count=200)
        status, report = analyze(file)
    (found,) = [d for c in report["connections"] for d in c["directions"] if d["packets"]]
    counts = found["messages"]["read"]
    print(fault, {name: value for name, value in made.items() if value}, counts, report["violations"])
    harness.expect(any(made.values()), f"no fault was made: {made}")
    harness.expect(counts["sent"] >= 200 and counts["answered"] == counts["sent"], counts)
    harness.expect(report["violation_count"] == 0 and status == 0, f"ends with {status}: {report['violations']}")


CASES = {f.__name__: f for f in (stories, standard_input, wrong_use, lost_output, progress, live, reads)}


def test():
    CASES[sys.argv[1]](sys.argv[2:])


harness.main(test)
