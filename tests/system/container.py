#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The image of tools/container and the GitHub action of tools/github-action, without docker and GitHub.

usage: container.py make_package
       container.py image|action_package|action_cached|action_refuses FOLDER

FOLDER is where package.py has made the package. Each root directory is this host's, with an overlay in memory: what the
steps install is installed there alone, and goes away with the test. There is no network, so what they install beside
urxe must be on the host.
"""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import action_runner
import dockerfile
import harness
from harness import Process

SOURCES = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PLACE = "/mnt"  # Of the overlays' changes.
# As a container that was started without any option has, or less.
NO_PRIVILEGES = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"]


def mount(*words):
    return subprocess.run(["mount", *words], check=False).returncode == 0


class Root:
    """A root directory with all that this host's has; its changes go to memory."""

    def __init__(self, name):
        self.path = os.path.join(PLACE, name, "root")
        upper, work = (os.path.join(PLACE, name, part) for part in ("upper", "work"))
        for folder in (self.path, upper, work):
            os.makedirs(folder)
        if not mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", "none", self.path):
            harness.skip("no overlay of / can be mounted here")
        harness.expect(mount("-t", "proc", "none", self.at("/proc")) and mount("-t", "sysfs", "none", self.at("/sys")) and
                       mount("--rbind", "/dev", self.at("/dev")), "cannot mount /proc, /sys and /dev")
        harness.mount_tmpfs(self.at("/dev/shm"))

    def at(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def command(self, command):
        return ["chroot", self.path, *command]

    def run(self, command, env):
        """Its exit code and output."""
        done = subprocess.run(self.command(command), env={"PATH": harness.SYSTEM_PATH, "HOME": "/root", **env}, check=False,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


def prepare():
    harness.own_files()
    harness.need_programs("apt-get", "dpkg-deb", "setpriv", "ibv_devinfo", "rping", "ib_write_bw")
    harness.mount_tmpfs(PLACE)
    harness.tempfile.tempdir = PLACE  # Outside of the roots.


def package_in(folder):
    found = glob.glob(os.path.join(folder, "urxe_*.deb"))
    if not found:
        harness.skip("there is no package: system.package.make makes it")
    return found[0]


def is_below(path, pattern):
    """Whether docker's pattern matches the path or a folder that it is in."""
    names, patterns = path.split("/"), pattern.split("/")
    return len(names) >= len(patterns) and all(map(fnmatch.fnmatch, names, patterns))


def copy_sources(target):
    """As docker sends them: without what the ignore file names."""
    with open(os.path.join(SOURCES, "tools/container/Dockerfile.dockerignore"), encoding="ascii") as file:
        patterns = file.read().split()

    def is_ignored(path):
        last = [pattern for pattern in patterns if is_below(path, pattern.removeprefix("!"))][-1:]
        return bool(last) and not last[0].startswith("!")

    ignored = lambda folder, names: [name for name in names
                                     if is_ignored(os.path.relpath(os.path.join(folder, name), SOURCES))]
    shutil.copytree(SOURCES, target, ignore=ignored, symlinks=True)


def expect_all_to_install(context):
    """What is installed from the sources, not from the build, is among those that docker gets."""
    build = harness.build_directory()
    named = set()
    for script in glob.glob(os.path.join(build, "**", "cmake_install.cmake"), recursive=True):
        with open(script, encoding="utf-8") as file:
            named |= set(re.findall(f'"{re.escape(SOURCES)}/([^"]+)"', file.read()))
    named = {name for name in named if not os.path.join(SOURCES, name).startswith(build)}
    harness.expect("README.md" in named, named)
    missing = [name for name in named if not os.path.exists(os.path.join(context, name))]
    harness.expect(not missing, f"docker gets nothing of {missing}, which the build installs")


def image(folder):
    """The steps make an image, in which a pair of stock programs runs without any privilege."""
    package = package_in(folder)
    prepare()
    context = os.path.join(PLACE, "context")
    copy_sources(context)
    expect_all_to_install(context)
    shutil.copy(package, context)
    image = dockerfile.build(os.path.join(context, "tools/container/Dockerfile"), context, Root,
                             {"URXE_PACKAGE": os.path.basename(package)})
    harness.expect(not os.path.exists(image.root.at("/tmp/urxe")), "the package is left in the image")
    run = lambda *words: image.root.command([*NO_PRIVILEGES, *image.entrypoint, *words])
    env = {"PATH": harness.SYSTEM_PATH, **image.env}
    shown = Process(run(*image.command), env=env).expect_success()
    harness.expect("urxe_lo" in shown and "PORT_ACTIVE" in shown, shown)
    port = harness.free_port()
    server = run("ibv_rc_pingpong", "-g", "0", "-c", "-p", str(port))
    for output in harness.run_pair(server, [*server, "127.0.0.1"], port, env=env):
        harness.expect("1000 iters in " in output, output)


def write_program(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def runner(name, cache, with_package=None):
    """A runner in a root directory of its own, where the action lies, and which cannot build anything."""
    root = Root(name)
    copy_sources(root.at("/urxe"))
    found = action_runner.Runner(root, "/urxe/tools/github-action", cache)
    if with_package:
        shutil.copy(with_package, root.at(found.workspace))
    write_program(root.at("/usr/local/sbin/cmake"), "echo this test must not build; exit 1")
    return found


def expect_devices(run, outputs):
    """A later step of the same job sees the devices."""
    version = subprocess.run([harness.binary("urxe"), "--version"], check=True, capture_output=True, text=True).stdout
    harness.expect(outputs["version"] and outputs["version"] in version, f"version is {outputs['version']}; {version}")
    code, output = run.script("urxe run -- ibv_devices", {})
    harness.expect(code == 0 and "urxe_lo" in output, f"ended with {code}: {output}")


def action_package(folder):
    """A package of the workspace is installed, and is not what later runs find in the cache."""
    package = package_in(folder)
    prepare()
    cache = {}
    run = runner("package", cache, package)
    expect_devices(run, run.run({"package": os.path.basename(package), "programs": "ibverbs-utils\nperftest"}))
    harness.expect(not cache, f"the cache has {list(cache)}")


def action_cached(folder):
    """What an earlier run has built is installed, unless the sources have changed since then."""
    package = package_in(folder)
    prepare()
    first = runner("cached", {})
    key = first.outputs_of("key")["key"]
    saved = os.path.join(PLACE, "saved")
    os.mkdir(saved)
    shutil.copy(package, saved)
    run = runner("again", {key: saved})
    expect_devices(run, run.run({}))
    with open(first.root.at("/urxe/transport/new.cc"), "w", encoding="ascii"):
        pass
    changed = first.outputs_of("key")["key"]
    harness.expect(changed != key and changed.rsplit("-", 1)[0] == key.rsplit("-", 1)[0], f"{key}, {changed}")


def action_refuses(folder):
    """Inputs that are not what they should be: nothing of them runs, and a line says which is wrong."""
    package = os.path.basename(package_in(folder))
    prepare()
    run = runner("refused", {}, package_in(folder))
    state = lambda: run.root.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", "urxe"], {})
    before = state()  # of this machine: a package that was removed may have left its state
    for inputs, words in (({"package": package, "programs": "ibverbs-utils;touch /pwned"}, "ibverbs-utils;touch"),
                          ({"package": package, "programs": "$(touch /pwned)"}, "$(touch"),
                          ({"package": package, "programs": "--allow-unauthenticated"}, "--allow-unauthenticated"),
                          ({"package": "absent.deb"}, "absent.deb"),
                          ({"package": "$(touch /pwned).deb"}, "$(touch /pwned).deb")):
        step, code, output = run.fails(inputs)
        harness.expect(step == "install" and words in output, f"{inputs}: {step} ended with {code}: {output}")
    harness.expect(not os.path.exists(run.root.at("/pwned")), "an input was run")
    harness.expect(state() == before, f"the package was {before}, and is {state()} now")


def make_package():
    """tools/make-package, in the build directory of this test, in which nothing is left to do after a build."""
    harness.need_programs("cpack", "dpkg-shlibdeps", "file")
    script = os.path.join(SOURCES, "tools/make-package")
    with tempfile.TemporaryDirectory() as place:
        write_program(f"{place}/apt-get", "echo this test installs no packages; exit 1")
        env = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
        run = lambda *words, **more: subprocess.run([script, *words], check=False, env={**env, **more}, text=True,
                                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        made = run("--build", harness.build_directory(), f"{place}/a b")
        if "this test installs no packages" in made.stdout:
            harness.skip("packages of `tools/install-packages package` are missing")
        harness.expect(made.returncode == 0, made.stdout)
        packages = os.listdir(f"{place}/a b")
        harness.expect(len(packages) == 1 and packages[0].startswith("urxe_"), packages)
        package = os.path.join(place, "a b", packages[0])
        listed = subprocess.run(["dpkg-deb", "-c", package], check=True, capture_output=True, text=True).stdout
        harness.expect("/usr/bin/urxe\n" in listed and "liburxe-rdmav34.so" in listed, listed)
        copied = run(f"{place}/copy", URXE_PACKAGE=package)
        harness.expect(copied.returncode == 0 and os.listdir(f"{place}/copy") == packages, copied.stdout)
        wrong = run(f"{place}/copy", URXE_PACKAGE=script)
        harness.expect(wrong.returncode == 1 and "is not a Debian package" in wrong.stdout, wrong.stdout)
        harness.expect(run().returncode == 2 and run("--out", "x").returncode == 2, "wrong use is not refused")


CASES = {f.__name__: f for f in (make_package, image, action_package, action_cached, action_refuses)}


def test():
    CASES[sys.argv[1]](*sys.argv[2:])


harness.main(test)
