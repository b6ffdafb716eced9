#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`urxe analyze` tells the truth.

usage: analyze.py stories FOLDER | wrong_use | live clean|corruption|duplication|loss|loss_behind|reordering

stories: what is written by hand beside a capture of FOLDER, FILE.story, is what it reports of it.
live: faults that `urxe run --fault` makes are found in a capture of `urxe run --capture`. Faults that are made on the
way out are made before the packets come to the capture, those on the way in behind it.
"""

import glob
import json
import os
import sys
import tempfile

import harness
from harness import Process

BASE = "/sys/class/infiniband/urxe_lo/ports/1/hw_counters"


def analyze(file):
    """Returns the exit status and the report."""
    process = Process([harness.binary("urxe"), "analyze", "--json", file])
    status = process.wait()
    return status, json.loads(process.output)


def select(report, path):
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
            found = status if path == "exit" else select(report, path)
            harness.expect(found == json.loads(value), f"{story}: {path} is {found}, not {value}")
            lines += 1
    harness.expect(lines > 0, f"{story} says nothing")


def stories(arguments):
    found = glob.glob(os.path.join(arguments[0], "**", "*.story"), recursive=True)
    harness.expect(len(found) > 10, f"only {len(found)} stories in {arguments[0]}")
    for story in found:
        check_story(story)


def wrong_use(_arguments):
    with tempfile.TemporaryDirectory() as folder:
        garbage = os.path.join(folder, "garbage")
        with open(garbage, "wb") as file:
            file.write(b"no capture at all, whatever its name says")
        for words in ([], ["--xml", garbage], [os.path.join(folder, "none")], [garbage], [garbage, garbage]):
            process = Process([harness.binary("urxe"), "analyze", *words])
            code = process.wait()
            harness.expect(code == 2, f"{words} ends with {code}: {process.output}")


def counters():
    lines = Process(harness.urxe_run(["grep", "-H", ".", "-r", BASE])).expect_success().splitlines()
    return {path.rsplit("/", 1)[1]: int(value) for path, value in (line.split(":") for line in lines)}


def traffic(file, client_faults, server_faults, capture_at):
    """WRITEs from the client to the server, which only acknowledges. Returns what was counted of faults."""
    harness.need_programs("ib_write_bw")
    before = counters()
    port = harness.free_port()
    command = ["ib_write_bw", "-d", "urxe_lo", "-x", "0", "-F", "-p", str(port), "-n", "1000", "-s", "8000", "-m", "1024"]
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


def expect_some(found, made, what):
    """What a capture tells of losses is not their exact number: a last packet that is lost leaves no trace, nor does the
    second of two that are lost at once; and a busy machine may lose some itself."""
    harness.expect(made > 0, f"no fault was made: {what}")
    harness.expect(found > 0, f"{what}: none found, {made} made")


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
    shown = {name: value for name, value in found.items() if name not in ("messages", "rate")}
    print(case, {name: value for name, value in made.items() if value}, shown)
    harness.expect(report["violation_count"] == 0, report["violations"])
    harness.expect(found["messages"]["write"]["answered"] == found["messages"]["write"]["sent"], "unanswered WRITEs")
    harness.expect(status == (1 if case == "corruption" else 0), f"ends with {status}")
    if case != "corruption":
        harness.expect(report["capture"]["bad_icrc"] == 0, "ICRCs")
    if case == "corruption":
        expect_equal(report["capture"]["bad_icrc"], made["fault_tx_corrupted"], case)
    elif case == "duplication":
        expect_some(found["repeats"]["duplicate"], made["fault_tx_duplicated"], case)
    elif case == "loss":
        expect_some(found["lost_before"], made["fault_tx_lost"], case)
    elif case == "loss_behind":
        expect_some(found["lost_after"], made["fault_rx_lost"], case)
    elif case == "reordering":
        expect_some(found["out_of_order"], made["fault_tx_reordered"], case)


CASES = {f.__name__: f for f in (stories, wrong_use, live)}


def test():
    CASES[sys.argv[1]](sys.argv[2:])


harness.main(test)
