# SPDX-License-Identifier: BSD-2-Clause
"""What cells need of the two devices. Each need is a function of the two ends that returns None where both can do it,
otherwise the reason why not, by what the device itself announces (ibv_devinfo -v)."""

import re

_attributes = {}
_installed = {}
_kernels = {}


def attributes(side):
    """The device's attributes by name, as ibv_devinfo -v prints them: numbers, words, and in "capabilities" the set of
    the capability flags' names."""
    key = (side.name, side.device)
    if key not in _attributes:
        _attributes[key] = parse(side.run(["ibv_devinfo", "-v", "-d", side.device], timeout=60))
    return _attributes[key]


def parse(text):
    """Reads what ibv_devinfo -v prints of one device."""
    found = {"capabilities": set(re.findall(r"^\t{4,}([A-Z0-9_]+)$", text, re.MULTILINE))}
    for name, value in re.findall(r"^\s*([a-z_0-9]+):\s+(\S+)", text, re.MULTILINE):
        found.setdefault(name, int(value, 0) if re.fullmatch(r"\d+|0x[0-9a-f]+", value) else value)
    return found


def _each(check):
    """The need that both ends meet the check; check(attributes) returns None or what is wrong with the device."""
    def need(near, far):
        for side in (near, far):
            reason = check(attributes(side))
            if reason is not None:
                return f"{side.name}: {reason}"
        return None
    return need


def at_least(attribute, value):
    def check(device):
        has = device.get(attribute, 0)
        return None if has >= value else f"{attribute} is {has}, {value} is needed"
    return _each(check)


def message_size(size):
    return at_least("max_msg_sz", size)


def capability(flag):
    return _each(lambda device: None if flag in device["capabilities"] else f"no {flag} among its capabilities")


def atomics():
    return _each(lambda device: "no atomic operations" if device.get("atomic_cap") == "ATOMIC_NONE" else None)


def kernel_of(side):
    """(major, minor) of the kernel that the side's device is a part of; None: it is no soft-RoCE."""
    if side.name != "rxe":
        return None
    if side not in _kernels:
        release = side.run_plain(["uname", "-r"])
        _kernels[side] = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", release).groups())
    return _kernels[side]


def peer_is_not(name, reason):
    """The known difference of a peer: it cannot do this, whatever it announces."""
    return lambda near, far: f"{name} {reason}" if name == far.name else None


def programs(*names):
    """Needs the programs on both ends."""
    def need(near, far):
        for side in (near, far):
            for name in names:
                if not _has(side, name):
                    return f"{side.name}: {name} is not installed"
        return None
    return need


def _has(side, name):
    key = (side.name, side.device, name)
    if key not in _installed:
        found = side.run_plain(["sh", "-c", f"command -v {name} || true"]).strip()
        _installed[key] = bool(found)
    return _installed[key]
