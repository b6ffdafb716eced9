#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How a program takes its options: --help prints the usage, and what is wrong is said in one line.

usage: options_test.py PROGRAM WORDS...    each of WORDS is a wrong command line
"""

import os
import subprocess
import sys


def run(program, words):
    done = subprocess.run([program, *words.split()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def check_help(program):
    code, out, err = run(program, "--help")
    assert code == 0 and not err, f"--help ends with {code}: {err}"
    assert os.path.basename(program) in out and "--help" in out, f"--help prints no usage: {out}"


def check_wrong(program, words):
    code, out, err = run(program, words)
    assert code == 2 and not out, f"{words}: ends with {code}, prints {out}"
    assert err.startswith(f"{os.path.basename(program)}: ") and err.count("\n") == 1, f"{words}: not one line: {err}"


def main():
    program, *wrong = sys.argv[1:]
    check_help(program)
    for words in ("--no-such-option", *wrong):
        check_wrong(program, words)


main()
