#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Modules of rdma-core's own tests (package python3-pyverbs) over urxe.

usage: pyverbs.py MODULE... [--may-skip REASON] [--veth]

--veth: on a veth interface in the place of the loopback interface.

A test that is skipped for another reason than REASON, a regular expression, has failed.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import tempfile

import harness
from harness import Process

PYTHON = "/usr/bin/python3"  # the one that the package is for
STORED = "/usr/share/doc/rdma-core/tests"
RUNNER = """
import sys, unittest
from args_parser import parser
parser.parse_args()
unittest.main(module=None, argv=sys.argv, verbosity=2)
"""


def unpack(folder):
    """The package has its larger files compressed."""
    tests = os.path.join(folder, "tests")
    os.mkdir(tests)
    for name in os.listdir(STORED):
        path = os.path.join(STORED, name)
        opener = gzip.open if name.endswith(".gz") else open
        with opener(path, "rb") as stored, open(os.path.join(tests, name.removesuffix(".gz")), "wb") as plain:
            shutil.copyfileobj(stored, plain)
    with open(os.path.join(folder, "run.py"), "w") as runner:
        runner.write(RUNNER)
    return tests


def need_package():
    works = os.path.isdir(STORED) and shutil.which(PYTHON) is not None
    if not works or subprocess.run([PYTHON, "-c", "import pyverbs"], capture_output=True).returncode != 0:
        harness.skip("python3-pyverbs is not installed")


def test():
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--may-skip", default="$^")
    parser.add_argument("--veth", action="store_true")
    arguments = parser.parse_args()
    need_package()
    if arguments.veth:
        harness.need_namespaces()
        with harness.veth_pair():
            run(arguments, "urxe_urxa")
    else:
        harness.isolate()
        run(arguments, "urxe_lo")


def run(arguments, device):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = f"{folder}:{unpack(folder)}"
        command = [PYTHON, "-B", os.path.join(folder, "run.py"), "--dev", device, "--gid", "0"]
        command += [f"tests.{module}" for module in arguments.modules]
        output = Process(harness.urxe_run(command), name="pyverbs").expect_success(timeout=300)
    print(output)
    harness.expect(re.search(r"^Ran [1-9]\d* tests?\b", output, re.M), "no test ran")
    for reason in re.findall(r"skipped ['\"](.*)['\"]$", output, re.M):
        harness.expect(re.search(arguments.may_skip, reason), f"skipped: {reason}")


harness.main(test)
