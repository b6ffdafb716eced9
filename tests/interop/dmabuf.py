#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ibv_reg_dmabuf_mr of urxe in a guest, whose kernel makes dma-bufs."""

import signal
import sys

import guest
from remote import harness


def check(booted):
    # rxe has the port in the network namespace that the guest began with.
    place = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    output = booted.agent.run([*place, harness.binary("urxe"), "run", "--device", "lo", "--",
                               harness.binary("urxe_conformance"), "--device", "urxe_lo", "--gtest_filter=DmaBuf.*"])
    harness.expect("[  PASSED  ]" in output and "SKIPPED" not in output and "0 tests from 0" not in output, output)


def main():
    guest.need()
    harness.need_namespaces()
    with guest.start(mtu=1500) as booted:
        check(booted)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
