#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unpacks libibverbs, librdmacm and stock programs of another release of Debian or Ubuntu into a folder, without installing
them.

usage: fetch_release.py SUITE FOLDER

Skips where there is no network. What is there already is kept, if it is of the same packages.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import harness

DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
UBUNTU_SUITES = ("jammy", "noble")
# Debian has no package with Ubuntu's keys, so one of Ubuntu's is taken, if it is this very file.
UBUNTU_KEYS = "pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb"
UBUNTU_KEYS_HASH = "SHA256:0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f"
APT_HELPER = "/usr/lib/apt/apt-helper"
PACKAGES = ["libibverbs1", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "perftest", "libisal2", "libnl-route-3-200",
            "libstdc++6", "iproute2"]


def ubuntu_keys(folder):
    package = os.path.join(folder, "keys.deb")
    done = subprocess.run([APT_HELPER, "download-file", f"{UBUNTU}/{UBUNTU_KEYS}", package, UBUNTU_KEYS_HASH],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        harness.skip("Ubuntu's keys cannot be fetched: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    subprocess.run(["dpkg-deb", "-x", package, f"{folder}/keys"], check=True)
    return f"{folder}/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def source_of(suite, folder):
    """The line of apt's list of sources."""
    if suite in UBUNTU_SUITES:
        return f"deb [signed-by={ubuntu_keys(folder)}] {UBUNTU} {suite} main universe"
    if not os.path.exists(DEBIAN_KEYS):
        harness.skip("debian-archive-keyring is not installed")
    return f"deb [signed-by={DEBIAN_KEYS}] http://deb.debian.org/debian {suite} main"


def configure(suite, folder):
    """apt's configuration: nothing of this host, where no package is installed."""
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name))
    with open(os.path.join(folder, "sources"), "w", encoding="ascii") as sources:
        sources.write(source_of(suite, folder) + "\n")
    open(os.path.join(folder, "status"), "wb").close()
    settings = {"Dir::Etc::SourceList": f"{folder}/sources", "Dir::Etc::SourceParts": "-",
                "Dir::State::Lists": f"{folder}/lists", "Dir::State::status": f"{folder}/status",
                "Dir::Cache": f"{folder}/cache", "APT::Install-Recommends": "0", "Acquire::Languages": "none",
                "APT::Sandbox::User": "", "Debug::NoLocking": "1", "Acquire::Retries": "2", "Acquire::http::Timeout": "20"}
    path = os.path.join(folder, "apt.conf")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f'{name} "{value}";\n' for name, value in settings.items())
    return path


def apt(configuration, *arguments):
    done = subprocess.run(["apt-get", "-q", "-y", *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "APT_CONFIG": configuration})
    if done.returncode != 0 or "Failed to fetch" in done.stderr:
        harness.skip(f"apt-get {arguments[0]} failed: " + (done.stderr.strip().splitlines() or ["?"])[-1])


def test():
    suite, folder = sys.argv[1:]
    harness.need_programs("apt-get", "dpkg-deb")
    names = os.path.join(folder, "packages")
    if os.path.exists(names) and open(names, encoding="ascii").read().split() == PACKAGES:
        return
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as scratch:
        configuration = configure(suite, scratch)
        apt(configuration, "update")
        apt(configuration, "--download-only", "install", *PACKAGES)
        root = os.path.join(scratch, "root")
        for package in glob.glob(os.path.join(scratch, "cache/archives/*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        shutil.rmtree(os.path.join(root, "usr/share"))
        with open(os.path.join(root, "packages"), "w", encoding="ascii") as file:
            file.write("\n".join(PACKAGES) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(root, folder)


harness.main(test)
