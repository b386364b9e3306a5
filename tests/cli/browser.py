"""Headless Chromium for tests of pages."""
import html
import json
import os
import re
import subprocess


def same(is_, must, what):
    if is_ != must:
        raise AssertionError(f"{what}: {is_!r}, must be {must!r}")


class Browser:
    """Chromium, controlled over two pipes."""

    def __init__(self, chromium, folder):
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()

        def prepare():
            # Moves them to 3 and 4 via numbers that are neither.
            a, b = os.dup(to_browser), os.dup(from_browser)
            while a < 5:
                a = os.dup(a)
            while b < 5:
                b = os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--user-data-dir=" + folder, "--window-size=1400,900", "about:blank"],
            preexec_fn=prepare, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.session = 0, b"", None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        question = {"id": self.number, "method": method, "params": params}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.out, json.dumps(question).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.open_url("file://" + path)

    def open_url(self, url):
        self.ask("Page.enable")
        self.ask("Page.navigate", url=url)
        while self.read().get("method") != "Page.loadEventFired":
            pass

    def press(self, key, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)

    def outer(self, selector):
        root = self.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        return self.ask("DOM.getOuterHTML", nodeId=node)["outerHTML"] if node else None

    def text(self, selector):
        return html.unescape(re.sub(r"<[^>]*>", "", self.outer(selector)))

    def middle(self, selector):
        """The middle of an element, in pixels."""
        root = self.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        corners = self.ask("DOM.getBoxModel", nodeId=node)["model"]["border"]
        return {"x": sum(corners[0::2]) / 4, "y": sum(corners[1::2]) / 4}

    def click(self, selector):
        at = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def tap(self, selector):
        at = self.middle(selector)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=True)
        self.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[at])
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def end(self):
        self.process.kill()
        self.process.wait()
