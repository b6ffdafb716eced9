# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands on the other end of a byte stream: the guest's serial port, or standard input and output over ssh.

usage: agent.py [PORT]

One JSON object a line, both ways; bytes are strings of the code points 0 to 255. Requests have an "id" of the asker's
choice, answers repeat it:
  {"op": "start", "id", "argv", "env": {...}, "stdin": "..."}  -> "pid" or "error"; then "output", and "exit" at the end
  {"op": "kill", "id", "signal"}     to the process group of what was started with this id; no answer
  {"op": "read", "id", "paths"}      -> "files": {path: contents} of all that match the patterns and can be read
  {"op": "write", "id", "path", "data", "mode"}  -> "done" or "error"
The first answer is {"ready": true}. When the stream ends, what was started is killed and the agent ends; as the first
process of a guest it ends the guest. It uses nothing but Python's standard library, and little of that: each
import costs emulated time.
"""

import glob
import json
import os
import resource
import selectors
import signal
import sys

CHUNK = 65536


class Command:
    """A started program and the pipe that its output comes through."""

    def __init__(self, request, environment):
        self.id = request["id"]
        self.ended = False
        self.output, writer = os.pipe()
        os.set_blocking(self.output, False)
        stdin = _input(request.get("stdin"))
        try:
            self.pid = os.posix_spawnp(request["argv"][0], request["argv"], environment,
                                       file_actions=[(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, writer, 1),
                                                     (os.POSIX_SPAWN_DUP2, writer, 2)],
                                       setsid=True, setsigmask=[], setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
        except OSError:
            os.close(self.output)
            raise
        finally:
            os.close(stdin)
            os.close(writer)


def _input(text):
    """A descriptor to read standard input from."""
    if not text:
        return os.open("/dev/null", os.O_RDONLY)
    kept = os.memfd_create("stdin")
    os.write(kept, text.encode("latin-1"))
    os.lseek(kept, 0, os.SEEK_SET)
    return kept


class Agent:
    def __init__(self, source, sink):
        self._source, self._sink = source, sink
        self._pending = b""
        self._commands = {}  # by id
        self._selector = selectors.DefaultSelector()
        self._wake, waker = os.pipe()
        for end in (self._wake, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(source, selectors.EVENT_READ, self._take_requests)
        self._selector.register(self._wake, selectors.EVENT_READ, self._reap)
        self._going_on = True

    def run(self):
        self._answer({"ready": True})
        while self._going_on:
            for key, _ in self._selector.select():
                key.data()
        for command in self._commands.values():
            self._kill(command.pid, signal.SIGKILL)

    def _answer(self, message):
        line = memoryview(json.dumps(message).encode() + b"\n")
        while line:
            line = line[os.write(self._sink, line):]

    def _take_requests(self):
        data = os.read(self._source, CHUNK)
        self._going_on = bool(data)
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            try:
                getattr(self, "_do_" + request["op"])(request)
            except (OSError, ValueError) as error:
                self._answer({"id": request["id"], "error": str(error)})

    def _do_start(self, request):
        command = Command(request, {**os.environ, **request.get("env", {})})
        self._commands[command.id] = command
        self._answer({"id": command.id, "pid": command.pid})
        self._selector.register(command.output, selectors.EVENT_READ, lambda: self._forward(command))

    def _do_kill(self, request):
        command = self._commands.get(request["id"])
        if command and not command.ended:
            self._kill(command.pid, request["signal"])

    def _do_read(self, request):
        files = {}
        for pattern in request["paths"]:
            for path in sorted(glob.glob(pattern)):
                try:
                    with open(path, "rb") as file:
                        files[path] = file.read().decode("latin-1")
                except OSError:
                    pass  # sysfs has files that cannot be read, such as GIDs that are not there.
        self._answer({"id": request["id"], "files": files})

    def _do_write(self, request):
        with open(request["path"], "wb") as file:
            file.write(request["data"].encode("latin-1"))
        os.chmod(request["path"], request.get("mode", 0o644))
        self._answer({"id": request["id"], "done": True})

    @staticmethod
    def _kill(pid, number):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            pass

    def _forward(self, command):
        """Hands on what there is; False where there is nothing for now, or for ever."""
        try:
            data = os.read(command.output, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._answer({"id": command.id, "output": data.decode("latin-1")})
            return True
        self._selector.unregister(command.output)
        os.close(command.output)
        command.output = None
        self._forget(command)
        return False

    def _reap(self):
        try:
            os.read(self._wake, CHUNK)
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._ended(pid, status)
        except (BlockingIOError, ChildProcessError):
            pass

    def _ended(self, pid, status):
        for command in list(self._commands.values()):
            if command.pid == pid and not command.ended:
                # Everything it wrote comes before its end; those it left behind may write after it.
                while command.output is not None and self._forward(command):
                    pass
                command.ended = True
                self._answer({"id": command.id, "exit": os.waitstatus_to_exitcode(status)})
                self._forget(command)

    def _forget(self, command):
        if command.ended and command.output is None:
            del self._commands[command.id]


def end_guest():
    with open("/proc/sysrq-trigger", "w", encoding="ascii") as trigger:
        trigger.write("b")  # QEMU is told to end where others would start anew.


def main():
    if len(sys.argv) > 1:
        port = os.open(sys.argv[1], os.O_RDWR)
        os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LC_ALL="C.UTF-8")
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        Agent(port, port).run()
    else:
        Agent(0, 1).run()
    if os.getpid() == 1:
        end_guest()


main()
