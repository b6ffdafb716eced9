#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What cpack makes: Debian packages with all that belongs to urxe, which runs from where they are unpacked.

usage: package.py make|contents|manual|completion|zsh_completion FOLDER, of which the first makes the package for the others
"""

import glob
import os
import re
import shutil
import subprocess
import sys

import harness
import terminal

COMMANDS = ("run", "env", "devices", "doctor", "analyze", "stat", "top", "lab", "drill")


def text_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make(folder):
    """Makes the package urxe in the folder, and unpacks it there."""
    harness.need_programs("cpack", "dpkg-deb", "dpkg-shlibdeps")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["cpack", "--config", os.path.join(harness.build_directory(), "CPackConfig.cmake"), "-B", folder],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["dpkg-deb", "-x", package_in(folder), root_in(folder)], check=True)


def package_in(folder):
    found = glob.glob(os.path.join(folder, "urxe_*.deb"))
    if not found:
        harness.skip("there is no package: the first case makes it")
    return found[0]


def root_in(folder):
    """Where the package is unpacked."""
    package_in(folder)
    return os.path.join(folder, "root")


def contents(folder):
    package, root = package_in(folder), root_in(folder)
    needed = text_of("dpkg-deb", "-f", package, "Depends")
    names = [re.match(r"[^ (]+", word)[0] for word in needed.split(", ")]
    harness.expect("libibverbs1" in names and "libc6" in names, needed)
    for name in names:
        state = text_of("dpkg-query", "-W", "-f=${db:Status-Status}", name)
        harness.expect(state == "installed", f"{name} is {state}")
    harness.isolate()
    port = harness.free_port()
    urxe = [os.path.join(root, "usr/bin/urxe"), "run", "--device", "lo", "--"]
    server = [*urxe, "ibv_rc_pingpong", "-g", "0", "-p", str(port)]
    for output in harness.run_pair(server, [*server, "127.0.0.1"], port):
        harness.expect("1000 iters in " in output, output)


def manual(folder):
    """Each page is right for groff, and has the options that --help has."""
    harness.need_programs("groff")
    root = root_in(folder)
    page = lambda name: os.path.join(root, "usr/share/man/man1", name)
    for path in glob.glob(page("*")):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True, check=True)
        harness.expect(not done.stderr, done.stderr)
    for command in COMMANDS:
        offered = set(re.findall(r"--[a-z-]+", text_of(harness.binary("urxe"), command, "--help"))) - {"--help"}
        with open(page(f"urxe-{command}.1"), encoding="ascii") as file:
            described = set(re.findall(r"--[a-z-]+", file.read().replace("\\-", "-")))
        harness.expect(offered <= described, f"urxe-{command}(1) has nothing of {offered - described}")


def completion(folder):
    root = root_in(folder)
    script = os.path.join(root, "usr/share/bash-completion/completions/urxe")

    def complete(*words):
        line = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _urxe; printf "%s\\n" "${COMPREPLY[@]}"'
        return text_of("bash", "-c", line, "bash", script, "urxe", *words).split()

    harness.expect(complete("") == [*COMMANDS, "--help", "--version"], complete(""))
    harness.expect(complete("run", "--engine", "r") == ["raw"], complete("run", "--engine", "r"))
    harness.expect("urxe_lo=lo" in complete("run", "--device", "urxe_l"), complete("run", "--device", "urxe_l"))
    harness.expect("ibv_devices" in complete("run", "--no-shm", "--", "ibv_dev"), "no programs")
    for command in COMMANDS:
        offered = set(re.findall(r"--[a-z-]+", text_of(harness.binary("urxe"), command, "--help")))
        harness.expect(set(complete(command, "--")) == offered, f"{complete(command, '--')} are not {offered}")


def zsh_completion(folder):
    """What an interactive zsh lists on a terminal."""
    harness.need_programs("zsh")
    place = "usr/share/zsh/vendor-completions"
    functions = os.path.join(root_in(folder), place)
    with terminal.Shell(["zsh", "-f", "-i"]) as shell:
        harness.expect(f"/{place}" in shell.run("print -l $fpath").split(), "Debian's zsh looks elsewhere")
        shell.run(f"fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D")
        listed = lambda line: shell.run(line + "\x04", execute=False)  # Ctrl-D lists the choices
        found = set(re.findall(r"^(\w+) +-- ", listed("urxe "), re.M))
        harness.expect(found == set(COMMANDS), found)
        found = listed("urxe run --engine ").split()
        harness.expect({"udp", "raw", "dpdk", "auto"} <= set(found), found)
        for command in COMMANDS:
            offered = set(re.findall(r"--[a-z-]+", text_of(harness.binary("urxe"), command, "--help")))
            lines = re.findall(r"^(--\w.*?) -- ", listed(f"urxe {command} --"), re.M)  # options of one description share one
            found = set(" ".join(lines).split())
            harness.expect(found == offered, f"of {command} zsh has {found ^ offered} wrong")


CASES = {f.__name__: f for f in (make, contents, manual, completion, zsh_completion)}


def test():
    CASES[sys.argv[1]](sys.argv[2])


harness.main(test)
