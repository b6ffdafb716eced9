#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Several threads of a program use one device. usage: lanes.py CASE

auto: a lane for each thread that makes queue pairs; in_turn: four lanes in turn, whoever makes them; another_user,
another_network: what the program becomes between its queue pairs; stat: what observers see; use: wrong and odd values.
"""

import json
import re
import subprocess
import sys
import time

import harness
from harness import Process

LANES = 4


def program(*options):
    return [harness.binary("urxe_lanes"), *options]


def run(lanes, tests="-Identity.*", options=()):
    command = harness.urxe_run(program(f"--gtest_filter={tests}"), ["--lanes", lanes, *options])
    output = Process(command).expect_success(timeout=250)
    harness.expect(re.search(r"^\[  PASSED  \] [1-9]", output, re.M), output)
    print(output)


def auto():
    harness.isolate()
    run("auto")


def in_turn():
    harness.isolate()
    run(str(LANES))


def identity(test):
    if not harness.is_root():
        harness.skip("needs root")
    harness.isolate()
    run(str(LANES), f"Identity.{test}", ["--no-shm"])


def another_user():
    identity("AnotherUser")


def another_network():
    identity("AnotherNetwork")


def stat_once():
    done = subprocess.run([harness.binary("urxe"), "stat", "--json"], capture_output=True, text=True, check=False,
                          env=harness.environment())
    return json.loads(done.stdout)["devices"] if done.stdout else []


def stat():
    harness.isolate()
    running = Process(harness.urxe_run(program("--gtest_filter=*InARing", "--gtest_repeat=1000"), ["--lanes", str(LANES)]))
    lanes = set()
    for _ in range(400):
        devices = stat_once()
        # The upper bits of a queue pair's number are the lane's.
        lanes = {pair["qpn"] >> 15 for device in devices for pair in device["queue_pairs"]}
        if len(lanes) == LANES:
            break
        time.sleep(0.02)
    harness.expect(len(lanes) == LANES, f"the queue pairs of all lanes are seen, not only of {lanes}")
    harness.expect(len(devices) == 1, f"a program's device is one, whatever its lanes: {devices}")
    running.kill()


def use():
    harness.isolate()
    for wrong in ("0", "9", "-1", "two", "1.5"):
        refused = subprocess.run([harness.binary("urxe"), "run", f"--lanes={wrong}", "--", "true"], capture_output=True,
                                 text=True, check=False)
        harness.expect(refused.returncode == 2, refused)
        harness.expect(f"'{wrong}' is no number of lanes" in refused.stderr, refused)
    printed = Process([harness.binary("urxe"), "env", "--lanes", "2"]).expect_success()
    harness.expect("URXE_LANES=2" in printed, printed)


CASES = {case.__name__: case for case in (auto, in_turn, another_user, another_network, stat, use)}
harness.main(CASES[sys.argv[1]])
