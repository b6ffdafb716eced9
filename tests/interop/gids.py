# SPDX-License-Identifier: BSD-2-Clause
"""GID tables as sysfs shows them."""

import ipaddress
import re

_PATH = re.compile(r"/sys/class/infiniband/([^/]+)/ports/1/gid_attrs/types/(\d+)")


def patterns(device="*"):
    """The files that gids() wants to have read."""
    port = f"/sys/class/infiniband/{device}/ports/1"
    return f"{port}/gids/*", f"{port}/gid_attrs/types/*"


def gids(files):
    """(device, index, address) of all RoCE v2 GIDs, by index; address: an IPv4Address or an IPv6Address."""
    found = []
    for path, kind in files.items():
        match = _PATH.fullmatch(path)
        if match and kind.strip() == "RoCE v2":
            gid = files[path.replace("gid_attrs/types", "gids")]
            address = ipaddress.IPv6Address(gid.strip())
            if int(address) != 0:
                found.append((match[1], int(match[2]), address.ipv4_mapped or address))
    return sorted(found, key=lambda entry: entry[:2])
