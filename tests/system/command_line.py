#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""command_line.py CASE: what all commands of urxe do alike."""

import os
import subprocess
import sys

import harness


def run(*words, **more):
    return subprocess.run([harness.binary("urxe"), *words], text=True, timeout=harness.PATIENCE, stderr=subprocess.PIPE,
                          **{"env": harness.environment()} | more)


def unknown_command():
    done = run("dokter", "--json", stdout=subprocess.PIPE)
    harness.expect(done.returncode == 2 and "no command 'dokter'" in done.stderr and not done.stdout, done)


PRINTING = (["--help"], ["--version"], ["run", "--help"], ["devices"], ["env"], ["doctor"], ["doctor", "--json"])


def lost_output():
    """Who asks for output and gets none learns it by the exit status, and why on stderr."""
    harness.isolate()
    samples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pcap_samples")
    capture = os.path.join(samples, "loss_request.pcap")
    script = os.path.join(samples, "..", "tests", "drill", "responder", "credits.drill")
    for words in (*PRINTING, ["analyze", capture], ["analyze", "--json", capture], ["drill", script]):
        harness.expect(run(*words, stdout=subprocess.DEVNULL).returncode in (0, 1), f"{words} fail anyway")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = run(*words, stdout=full)
        harness.expect(done.returncode == 125 and "cannot write" in done.stderr, f"{words}: {done}")


def unknown_switches():
    """A switch that is neither on nor off is said once, and counts as not set."""
    harness.isolate()
    for name in ("URXE_SHM", "URXE_STAT", "URXE_EXPLAIN"):
        for command in (["run", "--device", "lo", "--", "printenv", name], ["env", "--device", "lo"]):
            done = run(*command, env=harness.environment() | {name: "yes"}, stdout=subprocess.PIPE)
            harness.expect(f"{name}=" not in done.stdout and "yes" not in done.stdout, f"{command} {done}")
            harness.expect(done.stderr == f"urxe: {name} is ignored: 'yes': accepted are 0 and 1\n", f"{command} {done}")
            done = run(*command, env=harness.environment() | {name: "1"}, stdout=subprocess.PIPE)
            harness.expect(not done.stderr, f"{command} {done}")


CASES = {case.__name__: case for case in (unknown_command, lost_output, unknown_switches)}


def test():
    CASES[sys.argv[1]]()


harness.main(test)
