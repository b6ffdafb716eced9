#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock programs of another release of Debian or Ubuntu, with its libibverbs, librdmacm and C library.

usage: release.py FOLDER CASE      FOLDER is what fetch_release.py has made
"""

import re
import sys

import cm_place
import harness
from other_release import Release


def devices(release):
    harness.isolate()
    listed = release.run("ibv_devices")
    harness.expect("urxe_lo" in listed, listed)
    shown = release.run("ibv_devinfo", "-v", "-d", "urxe_lo")
    harness.expect("PORT_ACTIVE" in shown and re.search(r"link_layer:\s+Ethernet", shown), shown)


def pingpong(release, program, *arguments):
    harness.isolate()
    for output in release.pair(program, "-g", "0", *arguments):
        harness.expect(re.search(r"^1000 iters in ", output, re.M), output)


def xsrq_pingpong(release):
    harness.isolate()
    for output in release.pair("ibv_xsrq_pingpong", "-g", "0"):
        harness.expect("success" in output, output)


def perftest(release, program, *arguments):
    harness.isolate()
    _, client = release.pair(program, *arguments, "-F", "-n", "200")
    harness.expect(re.search(r"^\s*\d+\s+200\s", client, re.M), client)


def perftest_connected(release):
    words = ["-R", "-F", "-n", "200"]
    for output in release.connected_pair("ib_send_bw", words, [*words, "127.0.0.1"]):
        harness.expect(re.search(r"^\s*\d+\s+200\s", output, re.M), output)


def rping(release):
    words = ["-d", "-a", "127.0.0.1", "-V", "-v", "-C", "20"]
    server, _ = release.connected_pair("rping", [*words, "-s"], [*words, "-c"])
    harness.expect(server.count("ping data") == 20, server)


def ucmatose(release):
    _, client = release.connected_pair("ucmatose", ["-b", "127.0.0.1"], ["-s", "127.0.0.1"])
    harness.expect("test complete" in client and "return status 0" in client, client)


def udaddy(release):
    _, client = release.connected_pair("udaddy", ["-b", "127.0.0.1"], ["-s", "127.0.0.1"], 7174, cm_place.UDP)
    harness.expect("return status 0" in client, client)


def rstream(release):
    words = ["-S", "4096", "-C", "100"]
    _, client = release.connected_pair("rstream", [*words, "-b", "127.0.0.1"], [*words, "-s", "127.0.0.1"])
    harness.expect("Gb/sec" in client, client)


def cmtime(release):
    """From rdma-core 59 on its two sides meet by TCP, and its options are others."""
    if release.number < 59:
        port = harness.free_port()
        words = release.words("cmtime", "-p", str(port), "-c", "100")
        with cm_place.place("ipv4") as place:  # Not every release's server ends.
            place.start_server([*words, "-b", "127.0.0.1"], port)
            client = place.run_client([*words, "-s", "127.0.0.1"])
    else:
        harness.isolate()
        port = harness.free_port()
        words = release.words("cmtime", "-b", "127.0.0.1", "-C", "127.0.0.1", "-p", str(port), "-c", "100")
        _, client = harness.run_pair(harness.urxe_run([*words, "-L"]), harness.urxe_run(words), port)
    harness.expect(re.search(r"^(cm )?connect[ :]+\d", client, re.M), client)


def imports(release):
    """A program of this build, with that library: ibv_import_device(3) calls the provider in a way of its own."""
    harness.isolate()
    output = release.run(harness.binary("urxe_conformance"), "--gtest_filter=Import.*", "--require-all")
    harness.expect(re.search(r"^\[  PASSED  \] [1-9]", output, re.M), output)


def flush(release):
    """ibv_wr_flush, which came with rdma-core 45."""
    harness.isolate()
    release.conformance("Flush.*")


def completion_counters(release):
    """They came with rdma-core 65."""
    if release.number < 65:
        harness.skip(f"rdma-core {release.number} has no completion counters")
    harness.isolate()
    release.conformance("CompCntr.*")


CASES = {
    "devices": devices,
    "imports": imports,
    "rc_pingpong": lambda release: pingpong(release, "ibv_rc_pingpong"),
    "rc_pingpong_events": lambda release: pingpong(release, "ibv_rc_pingpong", "-e"),
    "rc_pingpong_builders": lambda release: pingpong(release, "ibv_rc_pingpong", "-N"),
    "rc_pingpong_timestamps": lambda release: pingpong(release, "ibv_rc_pingpong", "-N", "-t"),
    "uc_pingpong": lambda release: pingpong(release, "ibv_uc_pingpong"),
    "ud_pingpong": lambda release: pingpong(release, "ibv_ud_pingpong"),
    "srq_pingpong": lambda release: pingpong(release, "ibv_srq_pingpong"),
    "xsrq_pingpong": xsrq_pingpong,
    "write_bw": lambda release: perftest(release, "ib_write_bw"),
    "read_lat": lambda release: perftest(release, "ib_read_lat"),
    "send_bw_connected": perftest_connected,
    "atomic_bw": lambda release: perftest(release, "ib_atomic_bw"),
    "rping": rping,
    "ucmatose": ucmatose,
    "udaddy": udaddy,
    "rstream": rstream,
    "cmtime": cmtime,
    "flush": flush,
    "completion_counters": completion_counters,
}


def test():
    folder, case = sys.argv[1:]
    CASES[case](Release(folder))


harness.main(test)
