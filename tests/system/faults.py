#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs over a network that `urxe run --fault` makes bad.

usage: faults.py wrong_words | by_interface | wrong_variable | verify WORDS|none [OPTION OF urxe_rc_verify...]
"""

import subprocess
import sys

import ends
import harness
from harness import Process

ACCEPTED = "accepted are loss=P%, duplication=P%, reordering=P% and corruption=P%"
KINDS = {"loss": "lost", "duplication": "duplicated", "reordering": "reordered", "corruption": "corrupted"}


def verify(path, words, options):
    """urxe_rc_verify between two processes that both have the faults. Returns what was counted."""
    before = path.counters()
    port = harness.free_port()
    program = [harness.binary("urxe_rc_verify"), "-d", path.device, "-g", path.gid(0), "-p", str(port)]
    # The seeds differ, or both ends would lose the same packets.
    faults = lambda seed: ["--fault", f"{words},seed={seed}"] if words else []
    outputs = harness.run_pair(path.server(program, faults(1)),
                               path.client([*program, *options, path.address], faults(2)), port, timeout=300)
    for output in outputs:
        harness.expect(output.rstrip().endswith("verified"), output)
    path.expect_carried()
    return {name: value - before[name] for name, value in path.counters().items()}


def check_counters(words, found):
    """Each fault that was asked for was made, none that was not; and what they cause was counted, no more."""
    named = {word.split("=")[0] for word in words.split(",") if word}
    for word, name in KINDS.items():
        for direction in ("tx", "rx"):
            asked = word in named and not (f"direction={'out' if direction == 'rx' else 'in'}" in words)
            made = found[f"fault_{direction}_{name}"]
            harness.expect((made > 0) == asked, f"fault_{direction}_{name} is {made} with --fault {words!r}")
    made = lambda name: found[f"fault_tx_{name}"] + found[f"fault_rx_{name}"]
    # A flipped bit of a queue pair's number makes a packet another process's, or nobody's.
    bad = found["drop_bad_icrc"] + found["drop_not_owner"]
    harness.expect(bad <= made("corrupted"), f"{bad} bad packets, {made('corrupted')} were corrupted")
    harness.expect(made("corrupted") == 0 or found["drop_bad_icrc"] > 0, "corruption went unnoticed")
    gaps = made("lost") + made("reordered") + made("corrupted")
    harness.expect(gaps > 0 or found["out_of_seq_request"] == 0, "requests out of sequence without a fault")
    harness.expect(found["retry_exceeded_err"] == 0, "retries were used up")


def verify_under_faults(arguments):
    words, *options = arguments
    words = "" if words == "none" else words
    found = verify(ends.make(), words, options)
    print({name: value for name, value in found.items() if value != 0})
    check_counters(words, found)


def wrong_words(_arguments):
    """`urxe run` names the word that it cannot read and what it can, and does not run the program."""
    wrong = {words: f"urxe run: --fault: '{word}': {ACCEPTED}"
             for words, word in (("loss=1%,los=2%", "los=2%"), ("loss=1", "loss=1"),
                                 ("loss=1%,direction=up", "direction=up"), ("seed=x,loss=1%", "seed=x"))}
    wrong[""] = "urxe run: --fault is empty: "
    for words, message in wrong.items():
        process = Process(harness.urxe_run(["echo", "ran"], ["--fault", words]))
        code = process.wait()
        harness.expect(code == 2, f"--fault {words!r} ends with {code}")
        harness.expect(process.output.startswith(message), process.output)
        harness.expect("ran" not in process.output, process.output)


def by_interface(_arguments):
    """Only the interface that is named has the faults; a name that no device has is refused."""
    harness.need_programs("ib_write_bw")
    harness.need_namespaces()
    for index, name in enumerate(("one", "two")):
        subprocess.run(["ip", "link", "add", name, "type", "veth", "peer", "name", f"far-{name}"], check=True)
        subprocess.run(["ip", "link", "set", f"far-{name}", "up"], check=True)
        subprocess.run(["ip", "address", "add", f"10.9.{index}.1/24", "dev", name], check=True)
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    words = "one:loss=2%,seed=3"
    lost = {}
    for name in ("one", "two"):
        port = harness.free_port()
        command = ["ib_write_bw", "-F", "-d", f"urxe_{name}", "-x", "1", "-n", "100", "-p", str(port)]
        harness.run_pair(harness.urxe_run(command, ["--fault", words]),
                         harness.urxe_run([*command, f"10.9.{'one two'.split().index(name)}.1"], ["--fault", words]), port)
        path = f"/sys/class/infiniband/urxe_{name}/ports/1/hw_counters/fault_tx_lost"
        lost[name] = int(Process(harness.urxe_run(["cat", path])).expect_success())
    harness.expect(lost["one"] > 0 == lost["two"], f"{lost}")
    process = Process(harness.urxe_run(["echo", "ran"], ["--fault", "three:loss=1%"]))
    harness.expect(process.wait() == 2, process.output)
    harness.expect(process.output.startswith("urxe run: --fault: no device has the interface 'three'"), process.output)


def wrong_variable(_arguments):
    """A plan that cannot be read is refused: a program that ran without its faults would prove nothing."""
    wrong = harness.environment() | {"URXE_FAULTS": "loss=100"}
    process = Process(harness.urxe_run(["echo", "ran"]), "urxe run", env=wrong)
    code = process.wait()
    harness.expect(code == 2, f"ends with {code}")
    harness.expect(process.output.startswith(f"urxe run: URXE_FAULTS: 'loss=100': {ACCEPTED}"), process.output)
    # Set after `urxe run` has looked.
    inner = ["env", "URXE_FAULTS=loss=100", "ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0"]
    process = Process(harness.urxe_run(inner), "ibv_rc_pingpong")
    harness.expect(process.wait() != 0, process.output)
    said = [line for line in process.output.splitlines() if line.startswith("urxe:")]
    harness.expect(len(said) == 1, process.output)
    harness.expect(said[0].startswith(f"urxe: URXE_FAULTS: 'loss=100': {ACCEPTED}"), process.output)


CASES = {"wrong_words": wrong_words, "by_interface": by_interface, "wrong_variable": wrong_variable,
         "verify": verify_under_faults}


def test():
    if sys.argv[1] != "verify":
        harness.isolate()
    CASES[sys.argv[1]](sys.argv[2:])


harness.main(test)
