# SPDX-License-Identifier: BSD-2-Clause
"""The libraries and programs of another release of Debian or Ubuntu, in a folder that fetch_release.py has made."""

import glob
import os
import re

import cm_place
import harness
from harness import Process

NEWEST_SERVED = 65  # Of rdma-core.


def newest_glibc(library):
    """The newest version, less its 2, whose symbols a library wants, or a C library has."""
    with open(library, "rb") as file:
        return max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", file.read()))


class Release:
    def __init__(self, folder):
        libraries = glob.glob(os.path.join(folder, "usr/lib/*/libibverbs.so.1.*"))
        if not libraries:
            harness.skip("there is nothing in the folder; the test that fetches it says why")
        self.number = int(re.search(r"\.so\.1\.\d+\.(\d+)", libraries[0])[1])
        if self.number > NEWEST_SERVED:
            harness.skip(f"urxe serves rdma-core 36 to {NEWEST_SERVED}, and this is {self.number}")
        self._refuse_older_library(folder)
        self._programs = os.path.join(folder, "usr/bin")
        found = [*glob.glob(os.path.join(folder, "usr/lib/*-linux-gnu")), *glob.glob(os.path.join(folder, "lib/*-linux-gnu"))]
        self._loader = [path for place in found for path in glob.glob(os.path.join(place, "ld-linux-*.so.*"))][0]
        self._libraries = ":".join(found)

    @staticmethod
    def _refuse_older_library(folder):
        """What was built with a C library may want symbols that an older one has not."""
        libraries = glob.glob(os.path.join(folder, "**", "libc.so.6"), recursive=True)
        wanted = newest_glibc(os.path.join(harness.build_directory(), "lib", "liburxe-rdmav34.so"))
        has = newest_glibc(libraries[0])
        if wanted > has:
            harness.skip(f"this build wants the C library 2.{wanted}, and that release has 2.{has}")

    def words(self, program, *arguments):
        return self.words_of(os.path.join(self._programs, program), *arguments)

    def words_of(self, path, *arguments):
        return [self._loader, "--inhibit-cache", "--library-path", self._libraries, path, *arguments]

    def conformance(self, tests):
        """Ours, with the release's libibverbs. Nothing may be skipped."""
        words = self.words_of(harness.binary("urxe_conformance"), f"--gtest_filter={tests}")
        output = Process(harness.urxe_run(words), "urxe_conformance").expect_success()
        harness.expect("[  PASSED  ]" in output and "SKIPPED" not in output and "0 tests from 0" not in output, output)

    def run(self, program, *arguments):
        return Process(harness.urxe_run(self.words(program, *arguments)), program).expect_success()

    def pair(self, program, *arguments):
        port = harness.free_port()
        server = harness.urxe_run(self.words(program, "-d", "urxe_lo", "-p", str(port), *arguments))
        return harness.run_pair(server, [*server, "127.0.0.1"], port)

    def connected_pair(self, program, server, client, port=None, space=cm_place.TCP):
        """Programs of librdmacm, on 127.0.0.1. `port`: of a program that takes no other."""
        words = [] if port else ["-p", str(harness.free_port())]
        with cm_place.place("ipv4") as place:
            return place.pair(self.words(program, *words, *server), self.words(program, *words, *client),
                              port or int(words[1]), space)
