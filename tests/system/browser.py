# SPDX-License-Identifier: BSD-2-Clause
"""Chromium without a screen, driven by the DevTools protocol over a pair of pipes: no port, no driver, no network."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

import harness

PROGRAM = "chromium"
COMMAND_FD, ANSWER_FD = 3, 4  # where --remote-debugging-pipe expects the pipes


def _high_pipe():
    """A pipe whose descriptors are none of those that Chromium expects at certain numbers."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Browser:
    """A browser with one page. Use it in a `with` statement."""

    def __init__(self, width=1280, height=900, dark=False):
        harness.need_programs(PROGRAM)
        self._folder = tempfile.mkdtemp(prefix="urxe-browser-")
        self._log = os.path.join(self._folder, "log")
        command_read, self._write_fd = _high_pipe()
        self._read_fd, answer_write = _high_pipe()
        actions = [(os.POSIX_SPAWN_DUP2, command_read, COMMAND_FD), (os.POSIX_SPAWN_DUP2, answer_write, ANSWER_FD),
                   (os.POSIX_SPAWN_OPEN, 1, self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                   (os.POSIX_SPAWN_DUP2, 1, 2)]
        env = {**os.environ, "HOME": self._folder, "XDG_CONFIG_HOME": self._folder, "XDG_CACHE_HOME": self._folder,
               "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
        # Its sandbox needs rights that root in a container and others may not have; only our own page is opened.
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-breakpad", "--disable-background-networking", "--disable-component-update",
                   "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--window-size={width},{height}", f"--user-data-dir={self._folder}/profile"]
        self._pid = os.posix_spawnp(PROGRAM, [PROGRAM, *options], env, file_actions=actions, setsid=True)
        os.close(command_read)
        os.close(answer_write)
        self._unread = b""
        self._next_id = 0
        self._session = None
        self.events = []
        self._attach(width, height, dark)

    def _attach(self, width, height, dark):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._pid is None:
            return
        os.close(self._write_fd)
        os.close(self._read_fd)
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self._pid, 0)
        self._pid = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fail(self, text):
        with open(self._log, encoding="utf-8", errors="replace") as file:
            print(file.read()[-4000:], flush=True)
        self.close()
        harness.fail(text)

    def _message(self, deadline):
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read_fd], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                self._fail("the browser does not answer")
            got = os.read(self._read_fd, 1 << 20)
            if not got:
                self._fail("the browser ended")
            self._unread += got
        text, _, self._unread = self._unread.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """Calls a method of the protocol and returns its result. What else comes meanwhile goes to `events`."""
        self._next_id += 1
        request = {"id": self._next_id, "method": method, "params": parameters}
        if self._session is not None:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._write_fd, data):]
        deadline = time.monotonic() + harness.PATIENCE
        while True:
            message = self._message(deadline)
            if message.get("id") == self._next_id:
                if "error" in message:
                    self._fail(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            self._fail(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, path):
        """Opens a file, and returns when two pictures of it have been drawn: the seconds that this took."""
        start = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        harness.wait_until(lambda: self.evaluate("document.readyState === 'complete' && location.protocol === 'file:'"),
                           "the page")
        self.settle()
        return time.monotonic() - start

    def settle(self):
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def drag(self, start, end):
        """Between two places, (x, y) each."""
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", *end, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
        self.settle()

    def complaints(self):
        """What the page wrote to the console, its exceptions, and what it tried to load from anywhere."""
        self.evaluate("0")
        found = []
        for event in self.events:
            method, data = event.get("method"), event.get("params", {})
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(data)
            elif method == "Network.requestWillBeSent" and data["request"]["url"].split(":")[0] not in ("file", "about"):
                found.append(data["request"]["url"])
            elif method == "Network.requestWillBeSent" and data.get("type") != "Document":
                found.append(data["request"]["url"])
        return found

    def picture(self, path, whole=True):
        """Writes what the page looks like, as PNG."""
        result = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(result["data"]))
