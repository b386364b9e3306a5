"""Opens the playground in headless Chromium: types, drags, reads what is shown; no request may leave it, nothing may be
said on the console.

page_test.py CHROMIUM PAGE [FOLDER]: pictures of what was seen go to FOLDER.
"""
import base64
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from browser import Browser, same  # noqa: E402


class Page(Browser):
    """Keeps what the page asks of the network and says on the console."""

    def __init__(self, chromium, folder, pictures):
        self.requests, self.said, self.pictures = [], [], pictures
        super().__init__(chromium, folder)
        self.ask("Network.enable")
        self.ask("Runtime.enable")
        self.ask("Log.enable")

    def read(self):
        message = super().read()
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:80])
        elif method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method in ("Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(json.dumps(params)[:300])
        return message

    def value(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script, what, seconds=20):
        end = time.monotonic() + seconds
        while not self.value(f"Boolean({script})"):
            if time.monotonic() > end:
                now = self.value("[document.activeElement.id, document.querySelector('main').innerText.slice(0, 600)]")
                raise AssertionError(f"{what}: not within {seconds} s; {self.said} {now}")
            time.sleep(0.02)

    def fill(self, selector, text):
        """As a person does: picks all of it, and types."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus(); document.querySelector({json.dumps(selector)}).select()")
        self.ask("Input.insertText", text=text)

    def picture(self, name):
        if self.pictures:
            shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            with open(os.path.join(self.pictures, name + ".png"), "wb") as f:
                f.write(base64.b64decode(shot["data"]))

    def look(self, width, height, scheme="light"):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def example(self, select, name):
        self.value(f"""(() => {{ const s = document.querySelector("{select}");
            s.value = [...s.options].find(o => o.text === {json.dumps(name)}).value;
            s.dispatchEvent(new Event("change")); }})()""")


def text(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).textContent")


def check_expression(page):
    page.wait("document.documentElement.dataset.ready", "ready")
    print("ready after", page.value("document.documentElement.dataset.ready"), "ms")
    page.wait("document.querySelector('#e-out').textContent === 'x'", "the first example")
    page.wait("document.querySelectorAll('#e-steps .step').length === 3", "its steps")
    page.fill("#e-in", "(a*4 + b)//4")
    page.wait("document.querySelectorAll('.variable').length === 2", "a row for each variable")
    page.fill(".variable[data-name=b] input", "0")
    page.fill(".variable[data-name=b] input.end:nth-of-type(2)", "3")
    page.wait("document.querySelector('#e-out').textContent === 'a'", "the simplified sum")
    same("in=%28a*4" in page.value("location.hash"), True, "the state is in the address")
    page.wait("document.querySelectorAll('#e-plot .heat-cell').length > 20", "a heat map of two variables")
    page.fill("#e-in", "(a*4 +")
    page.wait("document.querySelector('#e-error .error')", "a message")
    same("column" in text(page, "#e-error"), True, "it says the column")
    page.fill("#e-claim", "x//-2 -> -(x//2)")
    page.click("#e-prove .action")
    page.wait("document.querySelector('#e-proof').textContent.includes('x = 1: lhs is -1, rhs is 0')", "a counterexample")
    page.fill("#e-claim", "x + 0 -> x")
    page.press("Enter", "\r")
    page.wait("document.querySelector('#e-proof').textContent.includes('Z3')", "no proof without Z3")


def check_frames(page):
    """From a key to the answer on the page."""
    took = page.value("""(async () => {
      const all = [];
      for (const e of expression.examples) {
        expression.set(e);
        await new Promise(r => setTimeout(r, 150));
        const from = performance.now();
        await engine.ask("key", expression.question("simplify"));
        all.push(performance.now() - from);
      }
      return all; })()""")
    print("an answer takes", ", ".join(f"{t:.1f}" for t in took), "ms")


def check_view(page):
    page.click("#tab-view")
    page.wait("document.querySelectorAll('#v-panels .panel').length === 3", "two views and the buffer")
    same(page.value("document.querySelectorAll('#v-panels .badge').length") >= 4, True, "the witness is drawn")
    page.fill("#v-words", "4,6 permute 1,0 reshape 24")
    page.wait("document.querySelectorAll('#v-chips .chip').length === 3", "chips")
    page.wait("!document.querySelector('#v-result').hidden && document.querySelector('#v-index').textContent.includes('//')", "its index")
    # Dragged: reshape before permute.
    page.value("""(() => { const [, from, to] = [...document.querySelectorAll('#v-chips .chip')].slice(0, 3).reverse();
      const data = new DataTransfer(), at = (e, t) => e.dispatchEvent(new DragEvent(t, { bubbles: true, cancelable: true, dataTransfer: data }));
      const chips = document.querySelectorAll('#v-chips .chip');
      at(chips[2], 'dragstart'); at(chips[1], 'dragover'); at(chips[1], 'drop'); })()""")
    same(page.value("document.querySelector('#v-words').value"), "4,6 reshape 24 permute 1,0", "the dragged chip")
    page.wait("document.querySelector('#v-error .error')", "which does not fit")
    page.value("document.querySelectorAll('#v-chips .chip')[2].focus()")
    page.press("Delete")
    page.wait("document.querySelector('#v-words').value === '4,6 reshape 24' && !document.querySelector('#v-error .error')", "taken out")
    page.wait("document.querySelector('#v-panels .cell')", "cells")
    page.tap("#v-panels section .cell")
    same("address 0" in text(page, "#v-readout"), True, "what a tapped cell reads")


def check_kernel(page):
    page.click("#tab-kernel")
    page.wait("document.querySelectorAll('#k-output td').length === 36", "elements of softmax")
    page.wait("document.querySelector('#k-detail h3')", "the first element explained")
    page.value("document.querySelector('#k-ast .code-line:nth-child(3)').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))")
    same(page.value("document.querySelectorAll('#k-uops .lit').length > 0 && document.querySelectorAll('#k-c .lit').length > 0"), True,
         "steps and C of a node")
    page.example("#k-examples", "two kernels")
    page.wait("!document.querySelector('#k-which-label').hidden", "two kernels")
    page.fill("#k-text", "softmax(x[4,9]")
    page.wait("document.querySelector('#k-error .error')", "a message")
    page.fill("#k-text", "matmul(a[4096,4096], b[4096,4096])")
    page.wait("document.querySelector('#k-error').textContent.includes('elements')", "too large")


def check_hostile(page):
    """What is deep or endless is told, and the page lives on."""
    page.click("#tab-expression")
    for bad in ("(" * 200_000, "x//" * 50_000 + "3", "9" * 200_000, "max(" * 5000 + "x" + ",1)" * 5000):
        page.value(f"document.querySelector('#e-in').value = {json.dumps(bad)}; document.querySelector('#e-in').dispatchEvent(new Event('input'))")
        time.sleep(0.3)
    page.fill("#e-in", "a//2*2 + a%2")
    page.wait("document.querySelector('#e-out').textContent === 'a'", "it lives on", 30)
    # A question that never ends is stopped.
    page.value("engine.finish = engine.finish.bind(engine); 0")
    answer = page.value("""(async () => { const a = engine.ask("hang", { ask: "prove", claim: "a*b*c*d*e*f*g*h -> a*b*c*d*e*f*g*h + 0*a", within: [-4, 4] });
        return JSON.stringify(await a); })()""")
    same("verdict" in answer or "stopped" in answer, True, "a long search ends")


def main():
    chromium, path = sys.argv[1:3]
    pictures = sys.argv[3] if len(sys.argv) > 3 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Page(chromium, os.path.join(folder, "profile"), pictures)
        try:
            page.look(1400, 900)
            page.open(os.path.abspath(path))
            check_expression(page)
            check_frames(page)
            check_view(page)
            check_kernel(page)
            check_hostile(page)
            if pictures:
                take_pictures(page)
            same([r for r in page.requests if not r.startswith(("file:", "blob:", "data:"))], [], "requests")
            same([s for s in page.said], [], "what is said on the console")
        finally:
            page.end()
    print("the page works")


def take_pictures(page):
    for width, height, scheme in ((1400, 900, "light"), (1400, 900, "dark"), (390, 844, "light")):
        page.look(width, height, scheme)
        for tab, select, names in (("expression", "#e-examples", ("digits of a number", "two variables, modulo")),
                                   ("view", "#v-examples", ("a cut row is no row", "padding")),
                                   ("kernel", "#k-examples", ("softmax", "a product of matrices"))):
            page.value(f"document.querySelector('#tab-{tab}').click()")
            for i, name in enumerate(names):
                page.example(select, name)
                time.sleep(0.8)
                page.picture(f"{tab}-{i}-{scheme}-{width}")
            if width < 600:
                wide = page.value("document.documentElement.scrollWidth")
                same(wide <= width, True, f"the tab {tab} is {wide} wide")


if __name__ == "__main__":
    main()
