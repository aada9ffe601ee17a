"""A headless Chromium, driven through its DevTools protocol over a pipe. Standard library only.

    with Browser() as browser:
        browser.open("file:///...", width=390)
        browser.evaluate("document.title")

Skip is raised where none is installed; RuntimeError says what one that is there did not do.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tools.pictures import Skip

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
LIMIT = 60  # seconds for one answer
HEIGHT = 900  # pixels of the window
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # as root it does not start with one; it opens nothing but files made here
    "--disable-gpu",
    "--disable-dev-shm-usage",  # in a container there may be too little of it
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing is to be found in the network
)
# The browser reads commands from descriptor 3 and answers on 4. The pipes' ends may have just these
# numbers, so they are copied out of the way first. $1 and $2 are theirs.
START = 'exec 13<&"$1" 14>&"$2" 3<&13 4>&14 13<&- 14>&-; shift 2; exec "$@"'
WITHOUT_NETWORK = ("data:", "about:")


class Browser:
    """One browser with one tab."""

    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            names = ", ".join(NAMES)
            raise Skip(f"none of {names} is installed; Debian's package is {NAMES[0]}")
        self.number, self.said, self.events, self.session = 0, b"", [], None
        self.folder = tempfile.mkdtemp(prefix="gemm-ladder-browser-")
        self._start(program)
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _start(self, program):
        """Starts it with our ends of the pipes in `to` and `back`."""
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        ends = (to_read, to_write)
        command = [program, *FLAGS, f"--user-data-dir={self.folder}/profile", "about:blank"]
        with open(Path(self.folder) / "stderr", "wb") as errors:
            self.process = subprocess.Popen(
                ["bash", "-c", START, "browser", *map(str, ends), *command],
                pass_fds=ends,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        os.close(to_read)
        os.close(to_write)

    def _attach(self):
        """Waits for its tab, and asks to be told what happens there."""
        page = None
        until = time.monotonic() + LIMIT
        while page is None and time.monotonic() < until:
            targets = self.call("Target.getTargets")["targetInfos"]
            page = next((one for one in targets if one["type"] == "page"), None)
        if page is None:
            raise RuntimeError("the browser opened no tab")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it, and removes what it left. It goes when its pipe is closed."""
        os.close(self.to)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.back)
        for _ in range(20):  # its helpers may still write there for a moment
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.1)

    def _ended(self):
        """The error that says with which words it ended."""
        said = (Path(self.folder) / "stderr").read_text(errors="replace").strip()
        return RuntimeError(f"the browser ended by itself: {said[-500:]}")

    def call(self, method, **parameters):
        """Calls a method of the protocol and returns its result; what happens meanwhile is kept in
        `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.to, json.dumps(message).encode("utf-8") + b"\0")
        except BrokenPipeError:
            raise self._ended() from None
        until = time.monotonic() + LIMIT
        while (answer := self._read(until)).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _read(self, until):
        """The next message."""
        while b"\0" not in self.said:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise RuntimeError(f"the browser said nothing for {LIMIT} s")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise self._ended()
            self.said += data
        message, _, self.said = self.said.partition(b"\0")
        return json.loads(message)

    def resize(self, width):
        """Makes the window so many pixels wide."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, url):
        """Opens a page and waits until all that it asked for is there, or is known not to be."""
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(f"{url}: {answer['errorText']}")
        until = time.monotonic() + LIMIT
        while not self._parameters("Page.loadEventFired"):
            self.events.append(self._read(until))

    def evaluate(self, expression):
        """The value of a JavaScript expression on the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"the page: {result['exceptionDetails']['text']}: {expression}")
        return result["result"].get("value")

    def requests(self):
        """Every address that the page asked for."""
        found = self._parameters("Network.requestWillBeSent")
        urls = [one["request"]["url"] for one in found]
        return [url for url in urls if not url.startswith(WITHOUT_NETWORK)]

    def complaints(self):
        """What went wrong on the page: what its console says, and what it did not get."""
        said = []
        for one in self._parameters("Runtime.consoleAPICalled"):
            if one["type"] in ("error", "warning", "assert"):
                words = [str(a.get("value", a.get("description", ""))) for a in one["args"]]
                said.append(f"console.{one['type']}: {' '.join(words)}")
        for one in self._parameters("Runtime.exceptionThrown"):
            said.append(f"exception: {one['exceptionDetails']['text']}")
        for one in self._parameters("Log.entryAdded"):
            if one["entry"]["level"] in ("error", "warning"):
                said.append(f"{one['entry']['text']} {one['entry'].get('url', '')}".strip())
        for one in self._parameters("Network.loadingFailed"):
            said.append(f"not loaded: {one['errorText']}")
        return said

    def _parameters(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]
