"""A real browser for tests, without a window: Chromium, spoken to over two pipes in the DevTools protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

# Chromium reads commands from file 3 and answers on file 4.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 61)
os.dup2(int(sys.argv[2]), 62)
os.dup2(61, 3)
os.dup2(62, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_PATIENCE = 60
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "about:blank",
]


def find_browser():
    """Return where Chromium is, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of a running browser, which writes down what it loads and what goes wrong."""

    def __init__(self, commands, answers):
        self._commands, self._answers, self._number, self._session, self._left = commands, answers, 0, None, b""
        self.requests, self.errors = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self):
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._answers], [], [], _PATIENCE)
            found = os.read(self._answers, 1 << 16) if ready else b""
            if not found:
                raise RuntimeError(f"the browser has gone, or said nothing for {_PATIENCE} seconds")
            self._left += found
        text, self._left = self._left.split(b"\0", 1)
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str(parameters["args"]))
        return message

    def open(self, path, *, width=1200, height=900, dark=False, script=True, media=""):
        """Load a file, and return when it is there."""
        self.requests.clear()
        self.errors.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=Path(path).as_uri())
        self.wait_for_load()
        self.requests[:] = [url for url in self.requests if not url.startswith("about:")]

    def wait_for_load(self):
        """Return when a page that was asked for is there."""
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        """Evaluate an expression in the page, and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def picture(self, path):
        """Write all of the page as a PNG file."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(found["data"]))


@contextmanager
def running(program, profile):
    """Start a browser with an empty profile, and end it."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _LAUNCH, str(to_read), str(from_write), program),
            *(f"--user-data-dir={profile}", *_ARGUMENTS),
        ],
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(to_write, from_read)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE)
        os.close(to_write)
        os.close(from_read)
