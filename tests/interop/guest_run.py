#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands in a guest with kernel soft-RoCE, as rxe0, that is joined to a network namespace here by the tap urxg1.

usage: guest_run.py [--mtu N] [--] COMMAND [ARGUMENT...]   ends with the command's exit code; it runs in the guest's /
       guest_run.py [--mtu N] --shell     each line of standard input is a shell command for the guest, or, with !
                                          before it, for the namespace here: !build/release/bin/urxe run -- ibv_devinfo
                                          Ends with the last one's exit code.
       guest_run.py --build               only fills the cache of what the guest is made from
"""

import argparse
import signal
import subprocess
import sys
import time

import guest
import guest_image
from remote import harness


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        del options.command[0]
    if bool(options.command) + options.build + options.shell != 1:
        parser.error("either a command, or --shell, or --build")
    if not guest.LEAST_MTU <= options.mtu <= guest.HOST_MTU:
        parser.error(f"--mtu must be from {guest.LEAST_MTU} to {guest.HOST_MTU}")
    return options


def run(booted, command):
    """The exit code, as a shell has it."""
    process = booted.agent.start(command)
    try:
        code = process.follow(sys.stdout.buffer)
    finally:
        process.kill()
    return code if code >= 0 else 128 - code


def shell(booted):
    code = 0
    prompt = "guest> " if sys.stdin.isatty() else ""
    print(prompt, end="", flush=True)
    for line in sys.stdin:
        if line.startswith("!"):
            code = subprocess.run(["sh", "-c", line[1:]], check=False, stdin=subprocess.DEVNULL).returncode
        else:
            code = run(booted, ["sh", "-c", line])
        print(prompt, end="", flush=True)
    return code


def build():
    started = time.monotonic()
    try:
        entry = guest_image.unpacked()
    except guest_image.CannotBuild as reason:
        harness.skip(str(reason))
    print(f"{entry} in {time.monotonic() - started:.1f} s")


def main():
    options = parse()
    if options.build:
        build()
        return 0
    guest.need()
    harness.need_namespaces()
    with guest.start(mtu=options.mtu) as booted:
        steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in booted.seconds.items())
        print(f"guest: {steps}", file=sys.stderr, flush=True)
        return shell(booted) if options.shell else run(booted, options.command)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
