# SPDX-License-Identifier: BSD-2-Clause
"""Capture files: reading and writing classic pcap, and a table of what is in them."""

import collections
import os
import re
import struct
import subprocess

from remote import harness

_FILE = struct.Struct("<IHHiIII")
_FRAME = struct.Struct("<IIII")
_MAGIC, _ETHERNET = 0xA1B2C3D4, 1
# tshark guesses at payloads.
_NO_GUESSES = ["--disable-protocol", "rpcordma", "--disable-heuristic", "eth_over_ib", "--disable-heuristic",
               "mellanox_eoib"]


def read(path):
    """[(seconds, microseconds, bytes)] of a capture of Ethernet; what is cut off at the end is not there."""
    with open(path, "rb") as file:
        data = file.read()
    frames, position = [], _FILE.size
    if len(data) < position:
        return frames
    harness.expect(_FILE.unpack_from(data)[0] == _MAGIC, f"{path} is no capture of this byte order")
    while position + _FRAME.size <= len(data):
        seconds, microseconds, length, whole = _FRAME.unpack_from(data, position)
        position += _FRAME.size
        harness.expect(length == whole, f"{path}: a frame is cut short")
        if position + length > len(data):
            break
        frames.append((seconds, microseconds, data[position:position + length]))
        position += length
    return frames


def write(path, frames):
    with open(path, "wb") as file:
        file.write(_FILE.pack(_MAGIC, 2, 4, 0, 0, 262144, _ETHERNET))
        for seconds, microseconds, frame in frames:
            file.write(_FRAME.pack(seconds, microseconds, len(frame), len(frame)) + frame)


def udp_port(frame):
    """The destination port of an Ethernet frame with IPv4 or IPv6 without extension headers."""
    header = 14 + ((frame[14] & 15) * 4 if frame[12:14] == b"\x08\0" else 40)
    return int.from_bytes(frame[header + 2:header + 4], "big")


def checked(path):
    """The number of frames whose ICRC is right; fails if there is any other frame."""
    result = subprocess.run([harness.binary("urxe_icrc_check"), path], check=False, capture_output=True, text=True)
    match = re.search(r": (\d+) ok, 0 bad, 0 unchecked, 0 other frames", result.stdout)
    harness.expect(result.returncode == 0 and match, result.stdout + result.stderr)
    return int(match[1])


def contents(path):
    """(number of frames, what they are by tshark, counted)"""
    fields = ["-e", "_ws.col.Info", "-e", "infiniband.aeth.syndrome"]
    lines = subprocess.run(["tshark", "-r", path, *_NO_GUESSES, "-T", "fields", *fields], check=True, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.splitlines()
    counts = collections.Counter()
    for line in lines:
        info, syndrome = line.split("\t")
        counts[re.sub(r" QP=.*", "", info).strip()] += 1
        if syndrome and int(syndrome, 0) >> 5:
            counts[f"{'RNR NAK' if int(syndrome, 0) >> 5 == 1 else 'NAK'} {int(syndrome, 0):#x}"] += 1
    return len(lines), "; ".join(f"{what} ({count})" for what, count in counts.most_common())


def row(path, what):
    frames, kinds = contents(path)
    return f"| {os.path.basename(path)} | {what} | {frames} | {checked(path)} | {kinds} |"


def rows(path):
    """The rows of an index that is there, by the files' names."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        found = [line.rstrip() for line in file if line.startswith("| ") and ".pcap |" in line]
    return {line.split("|")[1].strip(): line for line in found}


HEAD = "| file | what | frames | ICRC ok | tshark: opcodes (count); CM; NAK |\n|---|---|---|---|---|"
