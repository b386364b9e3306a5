"""Opens the page of `touchstone rewrite --html` in headless Chromium, presses keys, and holds what
its document then says to what the command prints as text. Keys and documents go through the
browser's own protocol, so that no script of the page is asked.

rewrite_page_test.py TOUCHSTONE CHROMIUM
"""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = ("float32 2,3: 1 2 3 4 5 6; exp2 %0; reduce_sum %1 1; reshape %2 2,1; expand %3 2,3; "
           "mul %1 %4; permute %5 1,0; contiguous %6")


class Browser:
    """Chromium, spoken to over two pipes."""

    def __init__(self, chromium, folder):
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()

        def prepare():
            # From there to 3 and 4, by way of numbers that are neither.
            a, b = os.dup(to_browser), os.dup(from_browser)
            while a < 5:
                a = os.dup(a)
            while b < 5:
                b = os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
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
        self.ask("Page.enable")
        self.ask("Page.navigate", url="file://" + path)
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

    def end(self):
        self.process.kill()
        self.process.wait()


def printed_passes(text):
    """[(name, [(rule, before, after)])] of what the command prints."""
    passes = []
    for line in text.splitlines():
        head = re.match(r"(\S.*): (\d+) matches?, \d+ nodes become \d+$", line)
        match = re.match(r"  (\S.*?)  +(\S.*) -> (.*?)(?:  of .*)?$", line)
        if head:
            passes.append((head[1], int(head[2]), []))
        elif match and passes:
            passes[-1][2].append(match.groups())
    return passes


def same(is_, must, what):
    if is_ != must:
        raise AssertionError(f"{what}: {is_!r}, must be {must!r}")


def lines_of(page, side, mark):
    drawn = page.outer(f"#graph-{side}")
    return [html.unescape(m) for m in
            re.findall(r'<g class="node %s" data-line="([^"]*)"' % mark, drawn)]


def check(page, passes):
    same(page.outer("#rule") is not None, True, "a rule is shown")
    for number, (name, count, matches) in enumerate(passes):
        same(len(matches), count, f"printed matches of {name}")
        if number:
            page.press("ArrowDown")
        for i, (rule, before, after) in enumerate(matches):
            if i:
                page.press("ArrowRight")
            same(page.text("#position"), f"{name}: match {i + 1} of {count}", "position")
            same(page.text("#rule"), rule, "rule")
            same(page.text("#before"), before, "before")
            same(page.text("#after"), after, "after")
            same(lines_of(page, "before", "was"), [before], "the marked node of the graph before")
            same(lines_of(page, "after", "now"), [after], "the marked node of the graph after")
        page.press("ArrowRight")  # past the end: nothing
        same(page.text("#position"), f"{name}: match {len(matches)} of {count}", "at the end")
    page.press("ArrowLeft")
    page.press("ArrowDown")
    same(page.text("#position"), "kernel 1 of 2", "kernels")
    for part in ("#ast", "#c"):
        same(bool(page.text(part)), True, part)
    same("exp2" in page.text("#c"), True, "C of the first kernel")
    page.press("ArrowRight")
    same(page.text("#position"), "kernel 2 of 2", "the second kernel")


def search(page, passes):
    for _ in range(len(passes) + 1):
        page.press("ArrowUp")
    page.press("/", "/")
    for letter in "expand":
        page.press(letter, letter)
    name, count, matches = passes[0]
    hits = [i for i, m in enumerate(matches) if "EXPAND" in m[1] + m[2]]
    same(page.text("#found"), f"{len(hits)} of {count} found", "search")
    same(page.text("#position"), f"{name}: match {hits[0] + 1} of {count}", "found")
    page.press("Escape")
    same(page.text("#found"), f"{count} in this pass", "after Escape")


def main():
    touchstone, chromium = sys.argv[1:3]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "page.html")
        command = [touchstone, "rewrite", "--program", PROGRAM]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        subprocess.run(command + ["--html", path], capture_output=True, check=True)
        passes = printed_passes(printed)
        same([p[0] for p in passes],
             ["simplify", "barriers", "tidy barriers", "drop tags", "kernels"], "passes")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        same(re.findall(r'https?://(?!www\.w3\.org/2000/svg)|src=|@import|<link', text), [],
             "what the page would fetch")
        page = Browser(chromium, os.path.join(folder, "profile"))
        try:
            page.open(path)
            check(page, passes)
            search(page, passes)
        finally:
            page.end()
    print("all that is printed is on the page")


main()
