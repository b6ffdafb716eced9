#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One end of the recorded cases of case_plans.py.

usage: case_run.py serve DEVICE GID4 GID6 PORT               for many cases, one after another, until it is killed
       case_run.py run DEVICE GID4 GID6 ADDRESS:PORT CASE ROLE

ROLE, of this end: requester or responder. GID4 and GID6 are indices of the device's GID table. The two ends tell each
other over TCP what they need to. Both verify all that they can see; `run` ends with 0 where both found it right.
"""

import json
import socket
import struct
import sys
import time
import traceback

import case_plans
import case_verbs
from case_verbs import Endpoint, status_name
from pyverbs.device import Context

LATE = 0.06  # Seconds that a late responder has no receives, from the first request on.
_WORD = struct.Struct("=Q")


class Wrong(Exception):
    """Something is not as the plan has it."""


class Conversation:
    """With the other end: JSON, one value a line."""

    def __init__(self, connection):
        # Two, as a file for both forgets what it has read ahead when it writes.
        self._reader, self._writer = (connection.makefile(mode, encoding="ascii") for mode in "rw")

    def tell(self, value):
        self._writer.write(json.dumps(value) + "\n")
        self._writer.flush()

    def hear(self):
        line = self._reader.readline()
        if not line:
            raise Wrong("the other end has gone")
        return json.loads(line)

    def exchange(self, value):
        self.tell(value)
        return self.hear()


def pattern(index, size, salt):
    """The bytes of an operation; salt: which end's."""
    return bytes((index * 37 + salt + position * 7 + (position >> 8)) & 0xFF for position in range(size))


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def fill(end, salt, kinds):
    """The places of the operations of these kinds."""
    for index, operation in enumerate(end.plan.operations):
        if operation.kind.startswith(kinds) and operation.size:
            end.region.write(pattern(index, operation.size, salt), operation.size, end.offsets[index])


class Requester:
    salt = 1

    def __init__(self, end, conversation):
        self._end, self._conversation = end, conversation

    def prepare(self):
        fill(self._end, self.salt, ("send", "write"))

    def run(self):
        hello = self._conversation.hear()
        self._end.peer.update(hello)
        operations = self._end.plan.operations
        for first in range(0, len(operations), self._end.plan.batch):
            batch = range(first, min(first + self._end.plan.batch, len(operations)))
            for index in batch:
                self._end.post(index)
            if self._end.plan.responder == "late" and first == 0:
                self._conversation.tell("posted")
            for index in batch:
                self._check(index, self._end.next_completion())
        self._conversation.tell("done")

    def _check(self, index, completion):
        operation = self._end.plan.operations[index]
        status = status_name(completion)
        expect(completion.wr_id == index and status in operation.status.split("|"),
               f"operation {index} ({operation.kind}): completion {completion.wr_id} is {status}")
        if status != "SUCCESS" or not operation.size:
            return
        offset = self._end.offsets[index]
        if operation.kind == "read":
            expect(self._end.region.read(operation.size, offset) == pattern(index, operation.size, Responder.salt),
                   f"operation {index}: READ other data")
        elif operation.is_atomic:
            found = _WORD.unpack(self._end.region.read(8, offset))[0]
            expect(found == operation.original, f"operation {index}: the atomic found {found}")


class Responder:
    salt = 101

    def __init__(self, end, conversation):
        self._end, self._conversation = end, conversation

    def prepare(self):
        fill(self._end, self.salt, "read")
        for index, operation in reversed(list(enumerate(self._end.plan.operations))):
            if operation.is_atomic:
                self._end.region.write(_WORD.pack(operation.original), 8, self._end.offsets[index])
        if self._end.plan.responder == "ready":
            self._end.post_receives()

    def run(self):
        plan = self._end.plan
        hello = {"window": self._end.bind_window()} if plan.window else {}
        if plan.responder == "gone":
            self._end.qp.close()
        self._conversation.tell(hello)
        if plan.responder == "late":
            expect(self._conversation.hear() == "posted", "the requester has not begun")
            time.sleep(LATE)
            self._end.post_receives()
        expect(self._conversation.hear() == "done", "the requester has not done its part")
        self._check()

    def _check(self):
        values = {}
        for index, operation in enumerate(self._end.plan.operations):
            failed = operation.status != "SUCCESS"
            if operation.takes_receive and not failed:
                self._check_receive(index, operation, self._end.next_completion())
            if operation.kind.startswith("write") and operation.place is None:
                content = self._end.region.read(operation.size, self._end.offsets[index]) if operation.size else b""
                expected = bytes(operation.size) if failed else pattern(index, operation.size, Requester.salt)
                expect(content == expected, f"operation {index}: other data was written")
            if operation.is_atomic and not failed:
                values[self._end.offsets[index]] = _result(operation)
        for offset, value in values.items():
            found = _WORD.unpack(self._end.region.read(8, offset))[0]
            expect(found == value, f"the atomics left {found} where it had to be {value}")

    def _check_receive(self, index, operation, completion):
        expect(completion.wr_id == index and status_name(completion) == "SUCCESS",
               f"operation {index}: the receive {completion.wr_id} is {status_name(completion)}")
        if operation.kind.endswith("_imm"):
            expect(socket.ntohl(completion.imm_data) == case_verbs.IMMEDIATE + index,
                   f"operation {index}: immediate data {completion.imm_data:#x}")
        if operation.kind.startswith("send"):
            expect(self._end.received(index)[:operation.size] == pattern(index, operation.size, Requester.salt),
                   f"operation {index}: other data was received")


ROLES = {"requester": Requester, "responder": Responder}


def _result(operation):
    """What an atomic leaves behind."""
    if operation.kind == "fetch_add":
        return (operation.original + operation.compare_add) & case_plans.ALL_BITS
    return operation.swap if operation.original == operation.compare_add else operation.original


def run_plan(context, gid_indices, plan, role, conversation):
    psn = plan.psn if plan.psn is None or role is Requester else plan.psn + 2
    end = Endpoint(context, gid_indices[plan.family], plan, psn)
    try:
        end.initialize()
        part = role(end, conversation)
        part.prepare()
        end.connect(conversation.exchange(end.description()))
        conversation.exchange("connected")
        part.run()
        # Both queue pairs stay until neither needs the other's answers.
        expect(conversation.exchange("verified") == "verified", "the other end has not verified")
    finally:
        end.close()


def run_case(context, gid_indices, name, role, conversation):
    for plan in case_plans.case_named(name).plans:
        run_plan(context, gid_indices, plan, role, conversation)


def serve(device, gid_indices, port):
    context = Context(name=device)
    with socket.create_server(("", int(port))) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    conversation = Conversation(connection)
                    name, role = conversation.hear()
                    run_case(context, gid_indices, name, ROLES[role], conversation)
                    print(f"{name} as {role}: verified", flush=True)
                except Exception:  # What is wrong with one case must not end the others; the peer hears of it.
                    traceback.print_exc(file=sys.stdout)
                    sys.stdout.flush()


def run(device, gid_indices, place, name, role):
    address, port = place.rsplit(":", 1)
    context = Context(name=device)
    with socket.create_connection((address, int(port))) as connection:
        conversation = Conversation(connection)
        conversation.tell([name, "responder" if role == "requester" else "requester"])
        run_case(context, gid_indices, name, ROLES[role], conversation)
    print("verified")


def main():
    what, device, gid4, gid6, *rest = sys.argv[1:]
    {"serve": serve, "run": run}[what](device, {"ipv4": int(gid4), "ipv6": int(gid6)}, *rest)


if __name__ == "__main__":
    main()
