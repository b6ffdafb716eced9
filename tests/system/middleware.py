#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Libraries that applications use RDMA through: UCX, libfabric, and MPI over these two.

usage: middleware.py ucx|ucx_hosts TRANSPORTS TEST
       middleware.py fabric lo|veth ENDPOINT PROVIDER
       middleware.py mpi|mpi_hosts openmpi|mpich TRANSPORTS

TRANSPORTS are those of UCX; `ofi` stands for libfabric.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile

import harness
import stock_programs
from harness import Process

# Every byte that arrives is checked: messages around a ring of all sizes, broadcasts, messages between buffers that are
# allocated and freed each time, windows that are put to and got from; and a sum.
MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LARGEST = 1 << 20, RENEWED = 33 << 20 };
static unsigned char sent[LARGEST], received[LARGEST];
static void fill(unsigned char* bytes, int length, unsigned seed) {
  for (int i = 0; i < length; ++i) bytes[i] = (unsigned char)((seed * 2654435761u + i * 40503u) >> 8);
}
static void check(const unsigned char* bytes, int length, unsigned seed, const char* what) {
  for (int i = 0; i < length; ++i) {
    if (bytes[i] == (unsigned char)((seed * 2654435761u + i * 40503u) >> 8)) continue;
    printf("%s: byte %d of %d is wrong\n", what, i, length);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
static void ring(int rank, int count) {
  int next = (rank + 1) % count, previous = (rank + count - 1) % count;
  for (int length = 1; length <= LARGEST; length *= 4) {
    fill(sent, length, rank + length);
    MPI_Sendrecv(sent, length, MPI_BYTE, next, 7, received, length, MPI_BYTE, previous, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(received, length, previous + length, "message");
  }
}
static void broadcasts(int rank, int count) {
  for (int round = 0; round < 20; ++round) {
    if (rank == round % count) fill(received, LARGEST, round);
    MPI_Bcast(received, LARGEST, MPI_BYTE, round % count, MPI_COMM_WORLD);
    check(received, LARGEST, round, "broadcast");
  }
}
/* The allocator maps so large a block anew each time, mostly at the same place. */
static void new_buffers(int rank, int count) {
  int next = (rank + 1) % count, previous = (rank + count - 1) % count;
  for (int round = 1; round <= 4; ++round) {
    char* own = malloc(RENEWED);
    char* other = malloc(RENEWED);
    memset(own, rank + 10 * round, RENEWED);
    MPI_Sendrecv(own, RENEWED, MPI_BYTE, next, 8, other, RENEWED, MPI_BYTE, previous, 8, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (other[0] != previous + 10 * round || memcmp(other, other + 1, RENEWED - 1) != 0) {
      printf("new buffer: a byte is wrong in round %d\n", round);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(own);
    free(other);
  }
}
static void windows(int rank, int count) {
  int next = (rank + 1) % count, previous = (rank + count - 1) % count;
  unsigned char* own;
  MPI_Win window;
  MPI_Win_allocate(LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
  fill(sent, LARGEST, rank + 100);
  MPI_Win_fence(0, window);
  MPI_Put(sent, LARGEST, MPI_BYTE, next, 0, LARGEST, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(own, LARGEST, previous + 100, "put");
  MPI_Get(received, LARGEST, MPI_BYTE, next, 0, LARGEST, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(received, LARGEST, rank + 100, "get");
  MPI_Win_free(&window);
}
int main(int argc, char** argv) {
  int rank, count;
  double own, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  ring(rank, count);
  broadcasts(rank, count);
  new_buffers(rank, count);
  windows(rank, count);
  own = rank + 1;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %g of %d\n", sum, count);
  return MPI_Finalize();
}
"""


def shown_by(*command):
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def ucx_perftest(port):
    """The command. One that knows MPI expects to be started by it if it has no terminal: -P 0 says no."""
    harness.need_programs("ucx_perftest")
    return ["ucx_perftest", "-p", str(port), *(["-P", "0"] if "MPI mode" in shown_by("ucx_perftest", "-h") else [])]


def ucx(transports, test):
    harness.isolate()
    port = harness.free_port()
    words = harness.urxe_run(ucx_perftest(port))
    size = "8" if test == "ucp_fadd" else "4096"
    run_ucx(transports, words, [*words, "127.0.0.1", "-t", test, "-s", size, "-n", "1000"], port)


def run_ucx(transports, server, client, port):
    """UCX uses all devices that it finds. The server learns the test from the client."""
    env = {**harness.environment(), "UCX_TLS": transports}
    _, output = harness.run_pair(server, client, port, env=env)
    harness.expect(re.search(r"^Final: +1000 ", output, re.M), output)


def ucx_hosts(transports, test):
    """Between two hosts, each with a loopback interface, which must not be among the devices."""
    here, other = harness.two_hosts()
    port = harness.free_port()
    words = harness.urxe_run(ucx_perftest(port))
    run_ucx(transports, words, other.command([*words, here.ipv4, "-t", test, "-s", "65536", "-n", "1000"]), port)


def need_localhost():
    """A domain for datagrams has a thread that accepts on a socket. To end it, libfabric connects to "localhost", and
    without that name it waits for the thread forever."""
    try:
        socket.getaddrinfo("localhost", None, socket.AF_INET)
    except socket.gaierror:
        harness.skip("the name localhost has no address here (/etc/hosts), and libfabric needs it")


def fabric(where, endpoint, provider):
    """libfabric has domains of their own for datagrams, and none for connections on the loopback interface."""
    harness.need_programs("fi_pingpong")
    if where == "lo":
        need_localhost()
    port = str(harness.free_port())
    datagrams = endpoint == "dgram" or provider.endswith("rxd")

    def words(interface, *more):
        domain = f"urxe_{interface}" + ("-dgram" if datagrams else "")
        return harness.urxe_run(["fi_pingpong", "-c", "-p", provider, "-e", endpoint, "-d", domain, "-I", "100",
                                 "-S", "4096", *more])

    if where == "lo":
        harness.isolate()
        server, client = words("lo", "-B", port), words("lo", "-P", port, "127.0.0.1")
    else:
        here, other = harness.two_hosts(4200)
        server, client = words(here.interface, "-B", port), other.command(words(other.interface, "-P", port, here.ipv4))
    server = Process(server, "server")
    server.wait_for_listener(int(port))
    client = Process(client, "client")
    for end in (client, server):
        output = stock_programs.finish(end, harness.PATIENCE)
        harness.expect(re.search(r"^4k +100 +=100 ", output, re.M), output)


def compile_program(compiler, folder):
    source, program = (os.path.join(folder, name) for name in ("program.c", "program"))
    with open(source, "w", encoding="ascii") as file:
        file.write(MPI_PROGRAM)
    subprocess.run([compiler, source, "-o", program], check=True)
    return program


# What Open MPI is told besides the transports of UCX. Over libfabric its matching is the provider's, and windows are
# messages; Open MPI 5 cannot do that, so it has windows of UCX.
OPENMPI = {"ucx": ["--mca", "pml", "ucx", "--mca", "osc", "ucx"],
           "ofi": ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "verbs;ofi_rxm",
                   "--mca", "osc", "pt2pt"]}


def mpi_environment(transports):
    return {**harness.environment(), "UCX_TLS": transports, "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpi_tools(flavour):
    tools = f"mpicc.{flavour}", f"mpirun.{flavour}"
    harness.need_programs(*tools)
    if subprocess.run([tools[0], "-E", "-include", "mpi.h", "-x", "c", "/dev/null"], check=False,
                      capture_output=True).returncode != 0:
        harness.skip(f"the headers of {flavour} are not installed")
    return tools


def mpi(flavour, transports):
    compiler, starter = mpi_tools(flavour)
    harness.isolate()
    options = ["--oversubscribe", *OPENMPI["ucx"]] if flavour == "openmpi" else []
    with tempfile.TemporaryDirectory() as folder:
        words = [starter, *options, "-np", "3", compile_program(compiler, folder)]
        output = Process(harness.urxe_run(words), env=mpi_environment(transports)).expect_success()
    harness.expect("sum 6 of 3" in output, output)


def like_ssh(folder):
    """A launcher's agent: the `ssh` of `urxe lab`, which would pass the environment on, without an environment."""
    agent = os.path.join(folder, "agent")
    with open(agent, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec env -i PATH=/usr/bin:/bin "HOME=$HOME" "URXE_LAB=$URXE_LAB" '
                   f'"URXE_LAB_HOLDERS=$URXE_LAB_HOLDERS" {os.environ["HYDRA_LAUNCHER_EXEC"]} "$@"\n')
    os.chmod(agent, 0o755)
    return {"OMPI_MCA_plm_rsh_agent": agent, "PRTE_MCA_plm_ssh_agent": agent, "HYDRA_LAUNCHER_EXEC": agent, "HYDRA_ENV": "all"}


def mpi_hosts(flavour, transports):
    """Two hosts, by README's words: the launcher finds `urxe` in PATH."""
    compiler, starter = mpi_tools(flavour)
    here, other = harness.two_hosts(4200)
    if flavour == "openmpi":
        layer = OPENMPI["ofi" if transports == "ofi" else "ucx"]
        if "pt2pt" in layer and "osc: pt2pt" not in shown_by("ompi_info"):
            layer = [*layer[:-1], "ucx"]
        options = ["--host", f"{here.name}:1,{other.name}:1", "-x", "PATH", "-x", "UCX_TLS", *layer]
    else:
        options = ["-hosts", f"{here.name},{other.name}"]
    with tempfile.TemporaryDirectory() as folder:
        env = {**mpi_environment("rc_v" if transports == "ofi" else transports), **like_ssh(folder),
               "PATH": f"{os.path.dirname(harness.binary('urxe'))}:{os.environ['PATH']}"}
        rank = ["urxe", *harness.urxe_run([compile_program(compiler, folder)])[1:]]
        output = Process([starter, *options, "-np", "2", *rank], env=env).expect_success()
    harness.expect("sum 3 of 2" in output, output)


CASES = {"ucx": ucx, "ucx_hosts": ucx_hosts, "fabric": fabric, "mpi": mpi, "mpi_hosts": mpi_hosts}

harness.main(lambda: CASES[sys.argv[1]](*sys.argv[2:]))
