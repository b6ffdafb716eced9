#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program that brings its own libibverbs along, under another name, as a Python wheel does.

usage: bundled.py devices|node
"""

import ctypes
import glob
import os
import subprocess
import sys
import tempfile

import harness

OLD, NEW = b"libibverbs.so.1\0", b"libibverbs-1.so\0"


def make_library(folder):
    """Copies Debian's library, and replaces its name inside the file by one of the same length."""
    installed = glob.glob("/usr/lib/*/libibverbs.so.1")
    if not installed:
        harness.skip("no libibverbs.so.1")
    with open(installed[0], "rb") as file:
        data = file.read()
    harness.expect(OLD in data, f"{installed[0]} does not have its name")
    path = os.path.join(folder, NEW[:-1].decode())
    with open(path, "wb") as file:
        file.write(data.replace(OLD, NEW))
    return path


def use(case, path):
    """Runs in a process of its own. The library's symbols are local, as in an extension module."""
    library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    if case == "node":
        os.close(os.open("/dev/infiniband/rdma_cm", os.O_RDWR))
    library.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
    library.ibv_get_device_name.restype = ctypes.c_char_p
    library.ibv_get_device_name.argtypes = [ctypes.c_void_p]
    library.ibv_open_device.restype = ctypes.c_void_p
    library.ibv_open_device.argtypes = [ctypes.c_void_p]
    library.ibv_close_device.argtypes = [ctypes.c_void_p]
    devices = library.ibv_get_device_list(None)
    names = []
    while devices[len(names)]:
        names.append(library.ibv_get_device_name(devices[len(names)]).decode())
    harness.expect(names == ["urxe_lo"], names)
    context = library.ibv_open_device(devices[0])
    harness.expect(context, "the device cannot be opened")
    library.ibv_close_device(context)


def test():
    if len(sys.argv) == 3:
        use(*sys.argv[1:])
        return
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        path = make_library(folder)
        command = [harness.binary("urxe"), "run", "--device", "lo", "--", "/usr/bin/python3", __file__, sys.argv[1], path]
        subprocess.run(command, check=True, timeout=60)


harness.main(test)
