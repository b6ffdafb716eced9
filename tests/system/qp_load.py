#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two processes with many busy RC queue pairs between them, with the usual timeouts: no request fails.

usage: qp_load.py QUEUE_PAIRS

Prints what was sent again and why, for people: how much that is depends on what else runs.
"""

import glob
import json
import sys

import harness
from harness import Process

SHOWN = ("sent_pkts", "completer_retry_err", "local_ack_timeout_err", "rnr_nak_retry_err", "drop_unexpected_psn")


def read_counters():
    """Runs under urxe, as the last of those that share the device's counters."""
    for path in glob.glob("/sys/class/infiniband/*/ports/1/hw_counters/*"):
        name = path.rsplit("/", 1)[1]
        if name in SHOWN:
            with open(path, encoding="ascii") as file:
                print(name, file.read().strip())


def test():
    if sys.argv[1:] == ["counters"]:
        read_counters()
        return
    harness.isolate()
    queue_pairs = int(sys.argv[1])
    load = [harness.binary("urxe_qp_load"), "--qps", str(queue_pairs), "--seconds", "3"]
    output = Process(harness.urxe_run(load)).expect_success(timeout=250)
    result = json.loads(output.splitlines()[-1])
    harness.expect(result["bytes"] > 0, output)
    print(output)
    print(Process(harness.urxe_run([sys.executable, "-B", __file__, "counters"])).expect_success())


harness.main(test)
