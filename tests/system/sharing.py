# SPDX-License-Identifier: BSD-2-Clause
"""Looks into the directory through which the processes of a user share (packet/sharing/README.md)."""

import contextlib
import fcntl
import glob
import os
import struct

_F_OFD_GETLK = 36
_CELL = struct.Struct("=QQ4QIII")  # HolderCell, in 64 bytes
_CELL_BYTES = 64
_SERVICE = 2  # HolderKey::Kind::kService
_HOLDERS = 1 << 61  # holder_lock(0)


def directories(user=None, place="/dev/shm", process="self"):
    """Those of the process's network namespace."""
    user = os.geteuid() if user is None else user
    namespace = os.stat(f"/proc/{process}/ns/net").st_ino
    return glob.glob(f"{place}/urxe-{user}*/net*-{namespace}-*")


def _is_alive(locks, holder):
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _HOLDERS + holder % _HOLDERS, 1, 0)
    found = struct.unpack("hhqqi4x", fcntl.fcntl(locks, _F_OFD_GETLK, asked))
    return found[0] != fcntl.F_UNLCK


def listens(service, interface_index, user=None, process="self"):
    """Whether a living process of the user listens for the service on the interface, in the network namespace of the
    process that is named."""
    for directory in directories(user, process=process):
        with contextlib.suppress(FileNotFoundError), \
                open(directory + "/held", "rb") as table, open(directory + "/locks", "r+b") as locks:
            content = table.read()
            for at in range(0, len(content) - _CELL_BYTES + 1, _CELL_BYTES):
                holder, key, _, _, index, _, kind, _, _ = _CELL.unpack_from(content, at)
                if (kind, key, index) == (_SERVICE, service, interface_index) and holder and _is_alive(locks, holder):
                    return True
    return False
