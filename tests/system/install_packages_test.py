#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/install-packages, with made-up lists of installed packages and an apt-get that installs nothing."""

import os
import re
import subprocess
import tempfile
import unittest

SCRIPT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "tools/install-packages"))


class Machine:
    """A folder of programs that take the places of dpkg-query, apt-get and id."""

    def __init__(self, folder, installed, uid):
        self._folder = folder
        self._write("dpkg-query", f"cat <<'END'\n{installed}END")
        self._write("apt-get", f"echo apt-get \"$@\" >>{folder}/asked")
        self._write("id", f"echo {uid}")

    def _write(self, name, text):
        path = os.path.join(self._folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def run(self, *words):
        return subprocess.run([SCRIPT, *words], env={"PATH": f"{self._folder}:/usr/bin:/bin"}, capture_output=True, text=True,
                              check=False)

    def asked(self):
        path = os.path.join(self._folder, "asked")
        if not os.path.exists(path):
            return []
        with open(path, encoding="ascii") as file:
            return file.read().splitlines()


def wanted(purpose):
    """By what the script asks of a machine that has nothing."""
    with tempfile.TemporaryDirectory() as folder:
        done = Machine(folder, "", 1000).run(purpose)
    return re.search(r"--no-install-recommends (.*)", done.stderr)[1].split()


def listed(names):
    return "".join(f"installed|{name}, \n" for name in names)


class InstallPackages(unittest.TestCase):
    def machine(self, installed, uid=1000):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Machine(folder.name, installed, uid)

    def test_nothing_is_missing(self):
        machine = self.machine(listed(wanted("tests")), 0)
        done = machine.run("tests")
        self.assertEqual((done.returncode, done.stdout, done.stderr, machine.asked()), (0, "", "", []))

    def test_a_package_that_was_renamed_is_there(self):
        names = [name for name in wanted("tests") if name != "libtcmalloc-minimal4"]
        renamed = "installed|libtcmalloc-minimal4t64, other (= 1), libtcmalloc-minimal4 (= 2.16-1)\n"
        self.assertEqual(self.machine(listed(names) + renamed).run("tests").returncode, 0)

    def test_a_package_that_was_removed_is_missing(self):
        names = [name for name in wanted("build") if name != "cmake"]
        done = self.machine(listed(names) + "config-files|cmake, \n").run("build")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"--no-install-recommends cmake\n")

    def test_an_ordinary_user_gets_the_command_for_root(self):
        machine = self.machine("")
        done = machine.run("build")
        self.assertEqual((done.returncode, machine.asked()), (1, []))
        self.assertRegex(done.stderr, r"(?m)^  apt-get update && apt-get install --no-install-recommends cmake ")

    def test_root_installs_what_is_missing(self):
        machine = self.machine(listed(name for name in wanted("build") if name not in ("cmake", "g++")), 0)
        self.assertEqual(machine.run("build").returncode, 0)
        self.assertEqual(machine.asked(), ["apt-get -q update", "apt-get -q install --yes --no-install-recommends cmake g++"])

    def test_wrong_use(self):
        self.assertEqual(self.machine("").run("everything").returncode, 2)


unittest.main()
