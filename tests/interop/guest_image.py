# SPDX-License-Identifier: BSD-2-Clause
"""The kernel and the initial file system of the guest, from Debian packages that are unpacked, not installed.

The kernel is Debian 12's on every host, since soft-RoCE differs from one release to the next (README.md, "Other kernels").

A cache directory keeps, for each kernel package, what the guest takes of it: the kernel, the modules and busybox. It is
$URXE_INTEROP_CACHE, else $XDG_CACHE_HOME/urxe-interop, else build/interop in the source tree. An entry is made under
another name and renamed, so that whoever finds it finds it complete. What is made of it, the initial file system, is
small and made for each start.
"""

import contextlib
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE_DIRECTORY = os.path.realpath(os.path.join(HERE, "..", ".."))

# What the guest loads, in this order and each after what it depends on. rdma_rxe asks for an algorithm called crc32.
# The last ones let tc put netem also in the way of what arrives.
MODULES = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "virtio_net", "crc32_generic",
           "crc32_pclmul", "rdma_rxe", "ib_uverbs", "rdma_ucm", "sch_netem", "sch_ingress", "cls_matchall",
           "act_mirred", "ifb"]
# Where in the package those modules and their dependencies are. All of it would be 400 MB to write.
_MODULE_FOLDERS = ["arch", "crypto", "lib", "net", "drivers/infiniband", "drivers/virtio", "drivers/char",
                   "drivers/net/*.ko*", "drivers/gpu/drm/*.ko*", "drivers/gpu/drm/vgem", "fs"]
KERNEL = "linux-image-6.1."
SUITE = "bookworm"
SOURCES = [f"http://deb.debian.org/debian {SUITE}", f"http://deb.debian.org/debian-security {SUITE}-security"]
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_ROOTS = [".", "./usr"]  # Debian 13 has in /usr what Debian 12 has in /.
# These let tc choose the packets that netem gets: RoCE's, not those of the programs' TCP connections.
MODULES += ["sch_prio", "cls_u32"]
# Makes dma-bufs without a graphics card.
MODULES += ["vgem"]
# The nodes by which programs exchange management datagrams.
MODULES += ["ib_umad"]
# VLANs, and what `urxe lab` makes two hosts of.
MODULES += ["8021q", "veth", "bridge"]
_XZ = b"\xfd7zXZ\0"  # How such a file begins.

# The network namespace with a way to Debian's servers: tests enter one of their own afterwards.
_OUTSIDE = os.open("/proc/self/ns/net", os.O_RDONLY)


class CannotBuild(Exception):
    """One line that says what is missing."""


def cache_directory():
    if os.environ.get("URXE_INTEROP_CACHE"):
        return os.environ["URXE_INTEROP_CACHE"]
    if os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(os.environ["XDG_CACHE_HOME"], "urxe-interop")
    return os.path.join(SOURCE_DIRECTORY, "build", "interop")


def unpacked():
    """The directory with vmlinux, busybox and modules/NN-NAME.ko (NN: the order to load them in)."""
    cache = cache_directory()
    modules = hashlib.sha256(" ".join(MODULES).encode()).hexdigest()[:8]
    package = _kernel_package()
    any_will_do = package is not None and os.environ.get("URXE_INTEROP_KERNEL") == "host"
    if not any_will_do and (package is None or not package.startswith(KERNEL)):
        entries = sorted(glob.glob(os.path.join(glob.escape(cache), f"{KERNEL}*-{modules}")), key=os.path.getmtime)
        return entries[-1] if entries else _from_suite(cache, modules)
    return _entry(cache, modules, package)


def _entry(cache, modules, package, apt_configuration=None):
    entry = os.path.join(cache, f"{package.replace('=', '_')}-{modules}")
    if not os.path.isdir(entry):
        _make_entry(package, entry, apt_configuration)
    return entry


def _from_suite(cache, modules):
    """On a host of another release: from SUITE's packages, with lists of its own."""
    if not os.path.exists(KEYS):
        raise CannotBuild(f"the guest's kernel is {SUITE}'s: debian-archive-keyring is not installed")
    with _work_directory(cache) as work:
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(work, name))
        with open(os.path.join(work, "sources"), "w", encoding="ascii") as file:
            file.writelines(f"deb [signed-by={KEYS}] {source} main\n" for source in SOURCES)
        open(os.path.join(work, "status"), "wb").close()
        settings = {"Dir::Etc::SourceList": f"{work}/sources", "Dir::Etc::SourceParts": "-", "Dir::State::Lists": f"{work}/lists",
                    "Dir::State::status": f"{work}/status", "Dir::Cache": work, "Acquire::Languages": "none",
                    "APT::Sandbox::User": "", "Debug::NoLocking": "1"}
        configuration = os.path.join(work, "apt.conf")
        with open(configuration, "w", encoding="ascii") as file:
            file.writelines(f'{name} "{value}";\n' for name, value in settings.items())
        _apt(["update"], work, configuration)
        package = _kernel_package(configuration)
        if package is None:
            raise CannotBuild(f"{SUITE} has no linux-image-amd64")
        return _entry(cache, modules, package, configuration)


def _kernel_package(apt_configuration=None):
    """NAME=VERSION of the kernel that linux-image-amd64 stands for, by apt's lists; None where they do not say."""
    if shutil.which("apt-cache") is None:
        return None
    shown = _output(apt_configuration, "apt-cache", "show", "--no-all-versions", "linux-image-amd64")
    depends = re.search(r"^Depends: (linux-image-\S+) \(= (\S+)\)", shown, re.M)
    return f"{depends[1]}={depends[2]}" if depends else None


def _environment(apt_configuration):
    return {**os.environ, "LC_ALL": "C", **({"APT_CONFIG": apt_configuration} if apt_configuration else {})}


def _output(apt_configuration, *command):
    return subprocess.run(command, check=False, capture_output=True, text=True, env=_environment(apt_configuration)).stdout


def _make_entry(package, entry, apt_configuration=None):
    with _work_directory(os.path.dirname(entry)) as work:
        _apt(["download", package, "busybox-static"], work, apt_configuration)
        made = os.path.join(work, "made")
        os.makedirs(os.path.join(made, "modules"))
        kernel = _only(os.path.join(work, f"{package.split('=')[0]}_*.deb"))
        busybox = _only(os.path.join(work, "busybox-static_*.deb"))
        modules = [f"{root}/lib/modules/*/{file}" for root in _ROOTS
                   for file in ("modules.builtin", *(f"kernel/{folder}" for folder in _MODULE_FOLDERS))]
        _unpack(kernel, work, "./boot/vmlinuz-*", *modules)
        _unpack(busybox, work, *(f"{root}/bin/busybox" for root in _ROOTS))
        with open(os.path.join(made, "vmlinux"), "wb") as file:
            file.write(_decompressed(_only(os.path.join(work, "boot", "vmlinuz-*"))))
        shutil.copy(_only(os.path.join(work, "**", "bin", "busybox")), made)
        for order, path in enumerate(_in_order(_only(os.path.join(work, "**", "lib", "modules")))):
            name = os.path.basename(path).removesuffix(".xz")
            with open(os.path.join(made, "modules", f"{order:02}-{name}"), "wb") as file:
                file.write(_read_module(path))
        # Somebody else may have been faster; then theirs stays.
        with contextlib.suppress(OSError):
            os.rename(made, entry)
    if not os.path.isdir(entry):
        raise CannotBuild(f"cannot write {entry}")


def _work_directory(cache):
    try:
        os.makedirs(cache, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="making-", dir=cache)
    except OSError as error:
        raise CannotBuild(f"the cache {cache} cannot be written ({error.strerror}): $URXE_INTEROP_CACHE names "
                          "another") from error


def _apt(words, directory, apt_configuration=None):
    as_root = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    outside = ["nsenter", f"--net=/proc/self/fd/{_OUTSIDE}", "--"] if os.geteuid() == 0 else []
    result = subprocess.run([*outside, "apt-get", *as_root, "-q", *words], cwd=directory, check=False, pass_fds=[_OUTSIDE],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment(apt_configuration))
    if result.returncode != 0:
        last = (result.stdout.strip().splitlines() or ["no output"])[-1]
        raise CannotBuild(f"apt-get {' '.join(words)} failed: {last}")


def _only(pattern):
    found = glob.glob(pattern, recursive=True)
    if len(found) != 1:
        raise CannotBuild(f"{len(found)} files are called {pattern}")
    return found[0]


def _unpack(package, directory, *patterns):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as reader:
        # A pattern may find nothing: kernels differ in what is a module.
        subprocess.run(["tar", "-x", "-C", directory, "--wildcards", *patterns], stdin=reader.stdout, check=False,
                       stderr=subprocess.DEVNULL)


def _decompressed(path):
    """The kernel itself, which QEMU starts as well and a quarter sooner: otherwise it decompresses itself, emulated."""
    image = _read(path)
    start = image.find(_XZ)
    try:
        kernel = lzma.LZMADecompressor().decompress(image[start:]) if start >= 0 else b""
    except lzma.LZMAError:
        kernel = b""
    return kernel if kernel.startswith(b"\x7fELF") else image


def _in_order(tree):
    """The paths of MODULES and what they depend on, dependencies first. Some are a part of the kernel."""
    paths = {}
    for folder, _, files in os.walk(tree):
        for file in files:
            if file.endswith((".ko", ".ko.xz")):
                paths[_module_name(file)] = os.path.join(folder, file)
    built_in = {_module_name(os.path.basename(line)) for line in _read(_only(os.path.join(tree, "*", "modules.builtin")))
                .decode().split()}
    ordered = {}

    def add(name):
        if name in ordered or name in built_in:
            return
        if name not in paths:
            raise CannotBuild(f"the kernel's package has no module {name}")
        for dependency in _dependencies(paths[name]):
            add(dependency)
        ordered[name] = paths[name]

    for name in MODULES:
        add(name)
    return list(ordered.values())


def _module_name(file):
    return file.removesuffix(".xz").removesuffix(".ko").replace("-", "_")


def _read_module(path):
    content = _read(path)
    return lzma.decompress(content) if path.endswith(".xz") else content


def _dependencies(path):
    named = re.search(rb"\0depends=([^\0]*)\0", _read_module(path))
    return [name for name in named[1].decode().split(",") if name] if named else []


def make_initramfs(entry, path):
    """Writes the initial file system: busybox, the modules, our init and agent."""
    files = [("init", os.path.join(HERE, "guest_init.sh"), 0o755), ("agent.py", os.path.join(HERE, "agent.py"), 0o644),
             ("bin/busybox", os.path.join(entry, "busybox"), 0o755)]
    files += [(f"modules/{module}", os.path.join(entry, "modules", module), 0o644)
              for module in sorted(os.listdir(os.path.join(entry, "modules")))]
    with open(path, "wb") as archive:
        for folder in ("bin", "modules", "proc", "sys", "dev", "host", "scratch", "root"):
            _append(archive, folder, b"", 0o040755)
        for name, source, mode in files:
            _append(archive, name, _read(source), 0o100000 | mode)
        _append(archive, "TRAILER!!!", b"", 0)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _append(archive, name, contents, mode):
    """One member of a cpio archive in the "newc" format that Linux takes (initramfs buffer format)."""
    encoded = name.encode() + b"\0"
    numbers = [0, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(encoded), 0]
    header = b"070701" + "".join(f"{number:08x}" for number in numbers).encode() + encoded
    archive.write(header + b"\0" * (-len(header) % 4) + contents + b"\0" * (-len(contents) % 4))
