#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a stock program's own mishap looks like, and that nothing else is taken for it."""

import contextlib
import io

import harness
import stock_programs

SERVER = """\
server DISCONNECT EVENT...
wait for RDMA_READ_ADV state 10
rdma_get_cm_event: Bad file descriptor
server
created cm_id 0x56180964a740
server ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr
cma_event type RDMA_CM_EVENT_DISCONNECTED cma_id 0x7f2e5c000ce0 (child)
rping_free_buffers called on cb 0x561809628810
destroy cm_id 0x56180964a740
"""
CLIENT = """\
created cm_id 0x56084e150740
rdma_connect successful
ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr
rping_free_buffers called on cb 0x56084e12e810
destroy client DISCONNECT EVENT...
rdma_get_cm_event: Bad file descriptor
cm_id 0x56084e150740
"""
WITHOUT_D = """\
server DISCONNECT EVENT...
wait for RDMA_READ_ADV state 10
rdma_get_cm_event: Bad file descriptor
"""
TABLE = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]
 2       200          {0}            {0}          {0}      	       {0}         	{1}   		{0}
"""
FABRIC = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
4k      100     =100     800k        0.03s      2.99    1372.15       0.00
"""
FLUSHED = "[error] util/pingpong.c:1119: cq_readerr: Work Request Flushed Error\n"
NO_CLOCK = "Correlation coefficient r^2: 0.462242 < 0.9\n"


def is_measurement(output):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            stock_programs.expect_measurement(output)
        return True
    except SystemExit:
        return False


class Ended:
    """A process that has failed."""

    def __init__(self, command, output, code):
        self.command, self.output, self._code = command, output, code

    def wait(self, _timeout):
        return self._code

    def expect_success(self, _timeout, explain=lambda output: ""):
        harness.fail(f"it ended with {self._code}{explain(self.output)}")


def is_finished(command, output, code=255):
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            stock_programs.finish(Ended(command, output, code), 1)
        return True
    except SystemExit:
        return False


def test():
    lost = stock_programs.rping_lost_its_race
    for output in (SERVER, CLIENT):
        harness.expect(lost(output), output)
        for line in ("cq completion failed status 12\n", "data mismatch!\n", "wait for RDMA_WRITE_ADV state 10\n",
                     "rping client failed: -1\n", "rdma_get_cm_event: Bad file descriptor\n",
                     "rdma_get_cm_event: No data available\n", "cma event RDMA_CM_EVENT_UNREACHABLE, error -110\n"):
            harness.expect(not lost(line + output), f"{line} is no failure")
        harness.expect(not lost(output.replace("rdma_get_cm_event: Bad file descriptor\n", "")), "no race at all")
    harness.expect(not lost(SERVER.replace("destroy cm_id", "")), "the event channel was not to be destroyed yet")

    lost = stock_programs.rping_server_lost_its_race
    harness.expect(lost(WITHOUT_D), WITHOUT_D)
    for line in WITHOUT_D.splitlines(True):
        harness.expect(not lost(WITHOUT_D.replace(line, "")), f"without {line}")
        harness.expect(not lost(WITHOUT_D + line), f"twice {line}")
    for line in ("cq completion failed status 12\n", "rping server failed: -1\n", "wait for RDMA_WRITE_COMPLETE state 8\n"):
        harness.expect(not lost(line + WITHOUT_D), f"{line} is no failure")

    for command in (["urxe", "run", "--", "rping", "-d"], ["ld.so", "--library-path", "lib", "/old/usr/bin/rping", "-d"]):
        harness.expect(is_finished(command, SERVER), f"{command} has lost its race")
        harness.expect(not is_finished(command, "rping server failed: -1\n" + SERVER), f"{command} has failed")
    harness.expect(not is_finished(["ucmatose"], SERVER), "only rping has this race")

    said = stock_programs.rping_said("rdma_get_cm_event: No such device\nserver\nwait for CONNECTED state 4\nESTABLISHED\n")
    harness.expect(said == "; rdma_get_cm_event: No such device; wait for CONNECTED state 4", said)

    for output in (FLUSHED + FABRIC, FABRIC + FLUSHED):
        harness.expect(is_finished(["urxe", "run", "--", "fi_pingpong", "-c"], output, 125), output)
        harness.expect(not is_finished(["fi_pingpong"], output, 1), "another exit code")
        harness.expect(not is_finished(["rping"], output, 125), "another program")
    for output in (FABRIC, FLUSHED, FLUSHED + FLUSHED + FABRIC, FLUSHED + FABRIC.replace("=100", "=99"),
                   FLUSHED + "[error] util/pingpong.c:1119: cq_readerr: Remote Operation Error\n" + FABRIC):
        harness.expect(not is_finished(["fi_pingpong"], output, 125), output)

    harness.expect(is_measurement(TABLE.format("5.96", "0.10")), "numbers")
    harness.expect(is_measurement(NO_CLOCK + TABLE.format("inf", "-nan")), "no clock")
    harness.expect(is_measurement(" 65536 200 0.00 0.00 \t\t 0.000000\n"), "no clock, bandwidth")
    for output in (TABLE.format("inf", "-nan"), NO_CLOCK, "", NO_CLOCK + " 2 200 \n",
                   TABLE.format("5.96", "0.10") + " 4       200 \t inf inf\n"):
        harness.expect(not is_measurement(output), f"taken for a measurement:\n{output}")


harness.main(test)
