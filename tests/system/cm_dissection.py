#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Wireshark understands every message of the communication manager that urxe writes: urxe_cm_examples puts one of each,
over IPv4 and over IPv6, into a capture; tshark names each, shows the values that went in, and finds nothing wrong.
Messages that it does not take apart (MRA, SIDR_REQ, SIDR_REP, LAP, APR) are compared by their bytes instead.
Not asked for: flow label and packet rate of a REQ, which tshark 4.0 shows eight bits off, of the kernel's too."""

import os
import subprocess
import tempfile

import harness

GUID = 0x0253fffefe445566
LOCAL, REMOTE = 0x11223344, 0xfedcba98
TRANSACTION, ECE = 0xa1b2c3d4e5f60718, 0xe0000001
IDS = "11223344fedcba98"
V4 = ("192.0.2.1", "192.0.2.2")
V6 = ("2001:db8::1", "2001:db8::2")


def private_data(size):
    """Has a start and an end."""
    return "aa" + "dd" * (size - 2) + "ee"


def path_bytes(addresses):
    """A path as LAP has it, from its LIDs on."""
    gids = {V4: ("00000000000000000000ffffc0000201", "00000000000000000000ffffc0000202"),
            V6: ("20010db8000000000000000000000001", "20010db8000000000000000000000002")}[addresses]
    return "ffffffff" + "".join(gids) + "abcde0" + "b8" + "3f" + "2a" + "50" + "a8"


def ip_cm_bytes(addresses):
    if addresses == V4:
        return "00409876" + "00" * 12 + "c0000201" + "00" * 12 + "c0000202"
    return "00609876" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002"


def request(addresses, transport, extended):
    version, suffix = (4, "4") if addresses == V4 else (6, "6")
    gid = "_ipv4" if addresses == V4 else ""
    fields = {
        "": LOCAL, "serviceid.prefix": "0000000001", "serviceid.protocol": 6, "serviceid.dport": 0xabcd,
        "localcaguid": GUID, "localqkey": 0x89abcdef, "localqpn": 0xc0ffee, "responderres": 0x81, "localeecn": 0,
        "initdepth": 0x42, "remoteeecn": 0, "remoteresptout": 0x15, "transpsvctype": transport, "e2eflowctrl": 1,
        "startpsn": 0xfffffe,
        "localresptout": 0x0a, "retrcount": 5, "pkey": 0x8001, "pppmtu": 5, "rdcexist": 0, "rnrretrcount": 6,
        "maxcmretr": 0xb, "srq": 1, "ext_transport": extended, "prim_locallid": 0xffff, "prim_remotelid": 0xffff,
        f"prim_localgid{gid}": addresses[0], f"prim_remotegid{gid}": addresses[1], "prim_tfcclass": 0xb8,
        "prim_hoplim": 63, "prim_sl": 5, "prim_subnetlocal": 0, "prim_localacktout": 0x15, "ip_cm.majv": 0,
        "ip_cm.minv": 0, "ip_cm.ipv": version, "ip_cm.sport": 0x9876, f"ip_cm.sip{suffix}": addresses[0],
        f"ip_cm.dip{suffix}": addresses[1], "ip_cm.private": "dd" * 55 + "ee",
    }
    return prefixed("req", fields) | {"infiniband.mad.attributemodifier": ECE}


def alternate(addresses):
    gids = path_bytes((addresses[0], addresses[1]))[8:72]
    return prefixed("req", {"alt_locallid": 0xffff, "alt_remotelid": 0xffff, "alt_localgid": gids[32:],
                            "alt_remotegid": gids[:32], "alt_tfcclass": 0xb8, "alt_hoplim": 63, "alt_sl": 5,
                            "alt_subnetlocal": 0, "alt_localacktout": 0x15})


def prefixed(message, fields):
    return {f"infiniband.cm.{message}" + (f".{name}" if name else ""): value for name, value in fields.items()}


def reply():
    fields = {"": LOCAL, "remotecommid": REMOTE, "localqkey": 0x89abcdef, "localqpn": 0xc0ffee, "localeecn": 0xdecade,
              "startpsn": 0xfffffe, "respres": 0x81, "initdepth": 0x42, "tgtackdelay": 0x15, "failoveracc": 1,
              "e2eflowctrl": 1, "rnrretrcount": 5, "srq": 1, "localcaguid": GUID, "private": private_data(196)}
    return prefixed("rep", fields) | {"infiniband.mad.attributemodifier": ECE}


def rejection():
    ari = "aa" + "dd" * 15 + "00" * 56
    return prefixed("rej", {"localcommid": LOCAL, "remotecommid": REMOTE, "msgrej": 1, "rejinfolen": 16, "reason": 12,
                            "ari": ari, "private": private_data(148)})


def with_ids(message, size, more=()):
    return prefixed(message, {"localcommid": LOCAL, "remotecommid": REMOTE, "private": private_data(size)}) | dict(more)


def data(text):
    """The MAD from its header on, for what tshark does not take apart."""
    harness.expect(len(text) == 464, f"{len(text) // 2} bytes are expected of a MAD")
    return {"infiniband.mad.data": text}


def expected(addresses):
    """By tshark's name, what it shows: one entry a packet, in the order of the capture."""
    service = "0000000001" "11" "abcd"
    return [
        (0x10, "ConnectRequest", request(addresses, 0, 0)),
        (0x11, "MsgRcptAck", data(IDS + "80a8" + private_data(222))),
        (0x12, "ConnectReject", rejection()),
        (0x13, "ConnectReply", reply()),
        (0x14, "ReadyToUse", with_ids("rtu", 224)),
        (0x15, "DisconnectRequest", with_ids("dreq", 220, {"infiniband.cm.req.remoteqpneecn": 0xc0ffee}.items())),
        (0x16, "DisconnectReply", with_ids("drsp", 224)),
        (0x17, "ServiceIDResReq", data("11223344" "8001" "0000" + service + ip_cm_bytes(addresses) +
                                       "dd" * 179 + "ee")),
        (0x18, "ServiceIDResReqResp", data("11223344" "02" "48" "1234" "c0ffee" "56" + service + "01234567" +
                                           private_data(72) + private_data(136))),
        (0x19, "LoadAlternatePath", data(IDS + "00000000" "c0ffee" "a8" "00000000" + path_bytes(addresses) +
                                         private_data(168))),
        (0x1a, "AlternatePathResponse", data(IDS + "48" "09" "0000" + private_data(72) + private_data(148))),
        (0x10, "ConnectRequest", request(addresses, 3, 1) | alternate(addresses)),
    ]


def tshark(file, *arguments):
    done = subprocess.run(["tshark", "-r", file, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def same(shown, value):
    if isinstance(value, int):
        return shown != "" and int(shown, 0) == value
    return shown.replace(":", "") == value.replace(":", "")


def with_headers(addresses, attribute, name, fields):
    return {"_ws.col.Info": f"CM: {name}", "infiniband.bth.opcode": 100, "infiniband.bth.destqp": 1,
            "infiniband.deth.srcqp": 1, "infiniband.mad.mgmtclass": 7, "infiniband.mad.classversion": 2,
            "infiniband.mad.method": 3, "infiniband.mad.transactionid": TRANSACTION,
            "infiniband.mad.attributeid": attribute, "ip.dst" if addresses == V4 else "ipv6.dst": addresses[1],
            **fields}


def show(file, fields):
    """What tshark shows of each packet, by field."""
    arguments = [word for field in fields for word in ("-e", field)]
    lines = tshark(file, "-T", "fields", "-E", "separator=|", *arguments)
    return [dict(zip(fields, line.split("|"), strict=True)) for line in lines]


def check_packets(file, packets):
    shown = show(file, sorted({field for packet in packets for field in packet}))
    harness.expect(len(shown) == len(packets), f"{len(shown)} packets, not {len(packets)}")
    for number, (packet, fields) in enumerate(zip(packets, shown), 1):
        for field, value in packet.items():
            harness.expect(same(fields[field].strip(), value),
                           f"packet {number}, {packet['_ws.col.Info']}: {field} is {fields[field]}, not {value}")


def test():
    harness.need_programs("tshark")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "cm.pcapng")
        subprocess.run([harness.binary("urxe_cm_examples"), file], check=True)
        wrong = tshark(file, "-V", "_ws.malformed || _ws.expert")
        harness.expect(not wrong, "tshark is not content:\n" + "\n".join(wrong))
        packets = [with_headers(addresses, *packet) for addresses in (V4, V6) for packet in expected(addresses)]
        check_packets(file, packets)
        subprocess.run([harness.binary("urxe_icrc_check"), file], check=True)
        print(f"{len(packets)} packets as expected")


harness.main(test)
