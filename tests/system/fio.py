#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fio's rdma engine over urxe. It asks for no RNR retries, and waits for ever after a completion in error.

usage: fio.py write|read|send
"""

import subprocess
import sys

import harness
from harness import Process

COMMON = ["--ioengine=rdma", "--bs=4k", "--size=16m"]


def has_rdma():
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False).stdout
    return "rdma" in engines.split()


def fio(*words):
    # As threads fio has one process, which the harness can end.
    return harness.urxe_run(["fio", "--thread", *COMMON, *words])


def test():
    harness.need_programs("fio")
    if not has_rdma():
        harness.skip("this fio has no rdma engine")
    harness.isolate()
    port = f"--port={harness.free_port()}"
    server = Process(fio("--name=receiver", "--rw=read", "--iodepth=16", port), name="server")
    harness.wait_until(lambda: "waiting for" in server.output or not server.running(), "the server to listen")
    verb = f"--verb={sys.argv[1]}"
    sender = fio("--name=sender", "--rw=write", "--iodepth=4", "--hostname=127.0.0.1", verb, port)
    client = Process(sender, name="client")
    client.expect_success(timeout=120)
    server.expect_success(timeout=120)


harness.main(test)
