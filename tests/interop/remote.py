# SPDX-License-Identifier: BSD-2-Clause
"""Our end of the agent's stream (agent.py): commands elsewhere, with the interface of harness.Process."""

import contextlib
import itertools
import json
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import harness  # noqa: E402

PATIENCE = 300  # Seconds: an emulated guest may have little of a busy machine.
KILL_PATIENCE = 120  # Seconds that a killed process may take to end.
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py")


class AgentLost(Exception):
    """The stream to the agent has ended, or the agent's machine hangs."""


def forget(process):
    """So that what went well is not shown when something else fails."""
    with contextlib.suppress(ValueError):
        harness.Process._all.remove(process)


class Agent:
    """Thread-safe. A thread of its own reads all answers as they come.

    reader, writer    the stream's two ends, as unbuffered binary files
    where             what to call the other end in messages
    explain           called when the stream has ended unexpectedly: returns lines that may say why
    explain_silence   the same, called when the agent does not answer although the stream is open
    """

    def __init__(self, reader, writer, where, explain=lambda: "", explain_silence=lambda: ""):
        self.where, self._writer, self._explain, self._explain_silence = where, writer, explain, explain_silence
        self._changed = threading.Condition()
        self._answers, self._processes, self._ids = {}, {}, itertools.count(1)
        self._ready, self._over = False, False
        self._write_lock = threading.Lock()
        self._thread = threading.Thread(target=self._read_all, args=(reader,), daemon=True)
        self._thread.start()

    def _read_all(self, reader):
        try:
            pending = b""
            while data := reader.read(65536):
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        except (OSError, ValueError) as error:
            if not self._over:
                print(f"{self.where}: {error}", flush=True)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _take(self, answer):
        with self._changed:
            process = self._processes.get(answer.get("id"))
            if "output" in answer and process:
                process._take_output(answer["output"])
            elif "exit" in answer and process:
                process._code = answer["exit"]
                del self._processes[answer["id"]]
            elif "ready" in answer:
                self._ready = True
            else:
                self._answers[answer["id"]] = answer
            self._changed.notify_all()

    def _wait_for(self, condition, timeout):
        """Whether the condition came to hold in time."""
        with self._changed:
            self._changed.wait_for(lambda: condition() or self._over, timeout)
            if self._over and not condition():
                raise AgentLost(f"{self.where}: the connection to its agent has ended\n{self._explain()}")
            return condition()

    def close(self):
        """Nothing that comes from now on matters; what runs is as good as ended. Further calls raise AgentLost."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def wait_ready(self, timeout):
        return self._wait_for(lambda: self._ready, timeout)

    def _send(self, message):
        line = memoryview(json.dumps(message).encode() + b"\n")
        with self._write_lock:
            try:
                while line:
                    line = line[self._writer.write(line):]
            except OSError as error:
                raise AgentLost(f"{self.where}: the connection to its agent has ended\n{self._explain()}") from error

    def _ask(self, identity, message, timeout=PATIENCE):
        self._send({"id": identity, **message})
        if not self._wait_for(lambda: identity in self._answers, timeout):
            self.close()
            raise AgentLost(f"{self.where}: no answer to {message['op']} within {timeout} s\n{self._explain_silence()}")
        with self._changed:
            return self._answers.pop(identity)

    def start(self, command, name=None, env=None, stdin=b""):
        """Starts a command; env is added to the agent's environment. A RemoteProcess, which has failed at once with
        exit code 127 if there is no such program."""
        identity = next(self._ids)
        process = RemoteProcess(self, identity, command, name)
        harness.Process._all.append(process)
        with self._changed:
            self._processes[identity] = process
        answer = self._ask(identity, {"op": "start", "argv": process.command, "env": env or {},
                                      "stdin": stdin.decode("latin-1")})
        process._started(answer)
        return process

    def owns(self, process):
        """Whether this agent has started the process."""
        return isinstance(process, RemoteProcess) and process._agent is self

    def run(self, command, timeout=harness.PATIENCE, env=None, stdin=b""):
        """The output of a command that must succeed."""
        process = self.start(command, env=env, stdin=stdin)
        output = process.expect_success(timeout)
        forget(process)
        return output

    def read_files(self, *patterns):
        """{path: text} of all files there that match and can be read."""
        files = self._ask(next(self._ids), {"op": "read", "paths": patterns})["files"]
        return {path: text.encode("latin-1").decode(errors="replace") for path, text in files.items()}

    def write_file(self, path, contents, mode=0o644):
        answer = self._ask(next(self._ids), {"op": "write", "path": path, "data": contents.decode("latin-1"),
                                             "mode": mode})
        harness.expect("error" not in answer, f"{self.where}: {answer.get('error')}")


class RemoteProcess:
    """A process at the agent's end; what it writes comes here as it is written."""

    def __init__(self, agent, identity, command, name):
        self._agent, self._identity = agent, identity
        self.command = [str(part) for part in command]
        self.name = name or f"{agent.where}: {os.path.basename(self.command[0])}"
        self._code, self._chunks, self.pid = None, [], None

    def _started(self, answer):
        self.pid = answer.get("pid")
        if self.pid is None:
            self._chunks.append(answer["error"].encode() + b"\n")
            self._code = 127

    def _take_output(self, text):
        self._chunks.append(text.encode("latin-1"))

    @property
    def output(self):
        """Standard output and error, in the order of writing."""
        return self._raw().decode(errors="replace")

    def _raw(self):
        with self._agent._changed:
            self._chunks = [b"".join(self._chunks)]
            return self._chunks[0]

    def running(self):
        return self._code is None and not self._agent._over

    def wait(self, timeout=harness.PATIENCE):
        """The exit code; negative for a signal."""
        if not self._agent._wait_for(lambda: self._code is not None, timeout):
            self.show()
            harness.fail(f"{self.name} did not end within {timeout} s")
        return self._code

    def kill(self, with_signal=signal.SIGKILL):
        """Signals the process and those it has started, in its session."""
        if not self.running():
            return
        self._agent._send({"op": "kill", "id": self._identity, "signal": int(with_signal)})
        ended = lambda: self._code is not None
        if with_signal == signal.SIGKILL and not self._agent._wait_for(ended, KILL_PATIENCE):
            # It is in a system call that does not return, and may hold locks that other programs need.
            where = self._where_it_is()
            self._agent.close()
            raise AgentLost(f"{self.name} goes on {KILL_PATIENCE} s after SIGKILL\n{where}")

    def _where_it_is(self):
        """The state and the stack of the process in its kernel."""
        files = self._agent.read_files(*(f"/proc/{self.pid}/{name}" for name in ("status", "wchan", "stack")))
        return "\n".join(f"{path}:\n{text}" for path, text in files.items())

    def follow(self, file):
        """Writes the output to a binary file as it comes, until the end. The exit code."""
        done, code = 0, None
        while code is None:
            self._agent._wait_for(lambda: self._code is not None or sum(map(len, self._chunks)) > done, None)
            code = self._code
            data = self._raw()
            file.write(data[done:])
            file.flush()
            done = len(data)
        return code

    _is_shown = False
    show = harness.Process.show
    _show_end = harness.Process._show_end
    expect_success = harness.Process.expect_success
