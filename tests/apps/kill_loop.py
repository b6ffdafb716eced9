#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Kills processes at random instants while others on the same address go on.

Pairs of urxe_rc_verify run at the same time. One process of a victim pair is killed (SIGKILL) at a random instant
after its start, again and again; its peer must notice and end with the exit code for a lost peer, never with one for
wrong data. The survivors' pairs must all finish and verify, and new pairs take the slots that the dead have left.

usage: kill_loop.py [--kills N] [--survivors N] [--batches N] [--seed N]
"""

import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import harness  # noqa: E402
from harness import Process  # noqa: E402

PEER_LOST = 3  # The exit code of urxe_rc_verify.
LONGEST_LIFE = 0.4  # Seconds that a victim lives, from its start or from the begin of its transfers.
# Small messages, many queue pairs connected and torn down: much to leave behind.
WORK = ["--scenarios", "random", "--qps", "2", "--messages", "16", "--max-size", "60000", "--budget", "200000"]


class Pair:
    def __init__(self, batches, seed):
        self.port = harness.free_port()
        program = [harness.binary("urxe_rc_verify"), "-d", "urxe_lo", "-p", str(self.port)]
        self.server = Process(harness.urxe_run(program), name=f"server {self.port}")
        self.server.wait_for_listener(self.port)
        self.client = Process(harness.urxe_run(
            [*program, *WORK, "--batches", str(batches), "--seed", str(seed), "127.0.0.1"]),
            name=f"client {self.port}")

    def running(self):
        return self.server.running() or self.client.running()

    def expect_verified(self):
        self.client.expect_success(timeout=120)
        self.server.expect_success(timeout=120)


def kill_one(rng, seed):
    """Starts a pair and kills one side of it. Returns whether that was during transfers, not before."""
    pair = Pair(batches=100000, seed=seed)
    # The server listens no more once its client is there. Nothing of RDMA happens before.
    harness.wait_until(lambda: not pair.server.listens_on(pair.port), "the victims to meet")
    victim, peer = rng.sample([pair.server, pair.client], 2)
    if rng.random() < 0.5:
        # However busy the machine is, every other one dies during its transfers.
        harness.wait_until(lambda: "connected" in peer.output or not pair.running(), "the victims to connect")
    time.sleep(rng.uniform(0, LONGEST_LIFE))
    if not victim.running():
        victim.expect_success()
        harness.fail("the victim ended before its death")
    victim.kill()
    code = peer.wait(timeout=90)
    if code != PEER_LOST:
        peer.show()
        harness.fail(f"the peer of a killed process ended with {code}")
    return "connected" in peer.output


def test():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--survivors", type=int, default=2)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    harness.isolate()

    survivors = [Pair(options.batches, seed=i) for i in range(options.survivors)]
    finished = 0
    connected = 0
    for number in range(options.kills):
        connected += kill_one(rng, seed=1000 + number)
        for index, pair in enumerate(survivors):
            if not pair.running():
                pair.expect_verified()
                finished += 1
                survivors[index] = Pair(options.batches, seed=rng.randrange(1 << 30))
    for pair in survivors:
        pair.expect_verified()
        finished += 1
    print(f"{options.kills} kills, {connected} of them during transfers; {finished} pairs beside them verified")
    harness.expect(connected >= options.kills // 4, "too few processes were killed during their transfers")


harness.main(test)
