"""Opens the playground in headless Chromium: types, drags, reads the page; it may send no request and print nothing on the
console.

page_test.py CHROMIUM PAGE QUESTIONS [FOLDER]: QUESTIONS is the program playground_questions, whose messages the page must
show; screenshots go to FOLDER.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from browser import Browser, same  # noqa: E402


class Page(Browser):
    """Records the page's network requests and console messages."""

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
        # The script may not be ready: the page's main part is unpacked on opening.
        asked = f"(() => {{ try {{ return Boolean({script}) }} catch {{ return false }} }})()"
        while not self.value(asked):
            if time.monotonic() > end:
                now = self.value("[document.activeElement.id, document.querySelector('main').innerText.slice(0, 600)]")
                raise AssertionError(f"{what}: not within {seconds} s; {self.said} {now}")
            time.sleep(0.02)

    def fill(self, selector, text):
        """Like a person: selects everything, then types."""
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


EXAMPLES = (("expression", "#e-examples", ("digits of a number", "two variables, modulo")),
            ("view", "#v-examples", ("a cut row is no row", "padding")),
            ("map", "#m-examples", ("a swizzle, by bank", "lanes of a tile", "equal, step by step", "two layouts that differ")),
            ("kernel", "#k-examples", ("softmax", "a product of matrices")))


def text(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).textContent")


def fresh(page, path, tab=""):
    """Reloads the file, which changing the fragment alone does not."""
    page.open_url("about:blank")
    page.open_url(f"file://{path}{'#' + tab if tab else ''}")


# The longest time during which the page does not handle keys, once it accepts input.
HELD_UP = """new Promise(done => {
  let longest = 0;
  const from = Number(document.documentElement.dataset.typing);
  new PerformanceObserver(list => {
    for (const e of list.getEntries()) if (e.startTime >= from) longest = Math.max(longest, e.duration);
  }).observe({ type: "longtask", buffered: true });
  setTimeout(() => done(Math.round(longest)), 100);
})"""


def check_start(page, path):
    """The time until typing works, until the first answer, and the longest wait of a key in between."""
    typing, ready, held_up = [], [], []
    for _ in range(7):
        fresh(page, path)
        page.wait("document.documentElement.dataset.ready", "ready")
        typing.append(int(page.value("document.documentElement.dataset.typing")))
        ready.append(int(page.value("document.documentElement.dataset.ready")))
        held_up.append(page.value(HELD_UP))
    print("ready to type in after", sorted(typing), "ms; the first answer after", sorted(ready), "ms; held up for",
          sorted(held_up), "ms")
    same(min(held_up) < 100, True, f"no key waits for 100 ms: {held_up}")
    same(min(typing) < 150, True, f"ready to type in within 150 ms: {typing}")
    same(min(ready) < 1500, True, f"a first answer within 1500 ms: {ready}")


def check_not_whole(page, path, folder):
    """A truncated or changed program never runs, and the page reports it."""
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    begin = re.search(r'<script id="packed"[^>]*>', whole).end()
    end = whole.index("</script>", begin)
    middle = (begin + end) // 2
    other = "y" if whole[middle] == "x" else "x"
    for name, wrong in (("cut short", whole[:middle] + whole[end:]), ("changed", whole[:middle] + other + whole[middle + 1:]),
                        ("changed at its end", whole[:end - 3] + other + whole[end - 2:])):
        file = os.path.join(folder, "wrong.html")
        with open(file, "w", encoding="utf-8", newline="") as f:
            f.write(wrong)
        fresh(page, file)
        page.wait("document.querySelector('#broken').textContent", name)
        same(text(page, "#broken"), "This browser cannot run the page: the page is not whole", name)


SHIFTS = """new Promise(done => {
  let sum = 0, worst = "";
  new PerformanceObserver(list => {
    for (const e of list.getEntries()) {
      if (e.hadRecentInput) continue;
      sum += e.value;
      worst += e.sources.map(s => `${s.node?.id || s.node?.className || s.node?.nodeName} `).join("");
    }
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done([sum, worst]), 300);
})"""


def check_shifts(page, path):
    """No layout shifts while a page opens."""
    for width, height in ((1400, 900), (390, 844)):
        page.look(width, height)
        for tab in ("expression", "view", "map", "kernel"):
            fresh(page, path, tab)
            page.wait("document.documentElement.dataset.ready", "ready")
            time.sleep(0.7)
            moved, what = page.value(SHIFTS)
            print(f"layout shift of {tab} at {width}: {moved:.4f} {what[:200]}")
            same(moved < 0.01, True, f"{tab} at {width} moves by {moved}: {what}")
    page.look(1400, 900)


# The contrast of every text with its background (WCAG 2: relative luminance; AA requires 4.5, for
# large text 3).
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const lin = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * lin(c[0]) + 0.7152 * lin(c[1]) + 0.0722 * lin(c[2]);
  const behind = e => {
    const layers = [];
    for (let n = e; n; n = n.parentElement) {
      const colour = rgba(getComputedStyle(n).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, c) => over(c, below), rgba(getComputedStyle(document.body).backgroundColor));
  };
  const opacity = e => { let o = 1; for (let n = e; n; n = n.parentElement) o *= Number(getComputedStyle(n).opacity); return o; };
  const low = [];
  let count = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), e = walk.currentNode.parentElement;
    if (!text || !e.checkVisibility({ visibilityProperty: true }) || ["SCRIPT", "STYLE", "OPTION", "TITLE"].includes(e.nodeName.toUpperCase())) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
    let ground = behind(svg ? e.ownerSVGElement.parentElement : e);
    if (svg) {
      const cell = e.previousElementSibling;
      if (cell?.nodeName === "rect" && e.matches(".number")) {
        const fill = getComputedStyle(cell).fill;
        if (!fill.startsWith("url")) { const c = rgba(fill); c[3] *= Number(getComputedStyle(cell).opacity); ground = over(c, ground); }
      } else if (e.matches(".badge-text")) ground = rgba(getComputedStyle(e.previousElementSibling).fill);
    }
    const ink = rgba(svg ? style.fill : style.color);
    ink[3] *= opacity(e);
    const [a, b] = [light(over(ink, ground)), light(ground)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    ++count;
    if (ratio < (large ? 3 : 4.5)) low.push(`${e.nodeName}.${e.className?.baseVal ?? e.className}#${e.id} "${text.slice(0, 20)}" ${ratio.toFixed(2)}`);
  }
  return { count, low: [...new Set(low)].slice(0, 12) };
})()"""


def check_contrast(page):
    for scheme in ("light", "dark"):
        page.look(1400, 900, scheme)
        for tab, select, names in EXAMPLES:
            page.value(f"document.querySelector('#tab-{tab}').click()")
            for name in names:
                page.example(select, name)
                time.sleep(0.5)
                seen = page.value(CONTRAST)
                same(seen["low"], [], f"contrast of {tab}, {name}, {scheme}")
                same(seen["count"] > 20, True, f"texts looked at: {seen['count']}")
    page.look(1400, 900)
    page.value("document.querySelector('#tab-expression').click()")


def check_expression(page):
    page.wait("document.querySelector('#e-out').textContent === 'x'", "the first example")
    page.wait("document.querySelectorAll('#e-steps .step').length === 3", "its steps")
    page.fill("#e-in", "(a*4 + b)//4")
    page.wait("document.querySelectorAll('.variable').length === 2", "a row for each variable")
    page.fill(".variable[data-name=b] input", "0")
    page.fill(".variable[data-name=b] input.end:nth-of-type(2)", "3")
    page.wait("document.querySelector('#e-out').textContent === 'a'", "the simplified sum")
    page.wait("location.hash.includes('in=%28a*4')", "the state is in the address")
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
    """The time from a key to the answer for every example; the best of five, for busy machines."""
    took = page.value("""(async () => {
      const all = [];
      for (const e of expression.examples) {
        expression.set(e);
        await new Promise(r => setTimeout(r, 250));
        let best = Infinity;
        for (let i = 0; i < 5; ++i) {
          const changed = new Promise(done => { const o = new MutationObserver(() => { o.disconnect(); done(); });
            o.observe(document.querySelector("#e-facts"), { childList: true }); });
          const from = performance.now();
          document.querySelector("#e-in").value += " ";
          document.querySelector("#e-in").dispatchEvent(new Event("input"));
          await changed;
          best = Math.min(best, performance.now() - from);
          await new Promise(r => setTimeout(r, 120));
        }
        all.push(best);
      }
      return all; })()""")
    print("from a key to its answer", ", ".join(f"{t:.1f}" for t in took), "ms")
    same(max(took) < 16, True, f"an answer within a frame: {took}")


def check_view(page):
    page.click("#tab-view")
    page.wait("document.querySelectorAll('#v-panels .panel').length === 3", "two views and the buffer")
    same(page.value("document.querySelectorAll('#v-panels .badge').length") >= 4, True, "the witness is drawn")
    page.fill("#v-words", "4,6 permute 1,0 reshape 24")
    page.wait("document.querySelectorAll('#v-chips .chip').length === 3", "chips")
    page.wait("!document.querySelector('#v-result').hidden && document.querySelector('#v-index').textContent.includes('//')", "its index")
    # Dragging: reshape before permute.
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
    for _ in range(100):  # the panels are redrawn with the answer: a tap may hit the old ones
        try:
            page.tap("#v-panels section .cell")
            if "address 0" in text(page, "#v-readout"):
                break
        except RuntimeError:
            pass
        time.sleep(0.1)
    same("address 0" in text(page, "#v-readout"), True, "what a tapped cell reads")


def check_map(page):
    page.click("#tab-map")
    page.wait("document.querySelectorAll('#m-drawing td.at').length === 32", "a cell for each point")
    same(page.value("document.querySelectorAll('#m-drawing .map-scale span').length"), 32, "a scale")
    same("(4,8):(8,1)" in text(page, "#m-lines"), True, "the notations that it has")
    page.example("#m-examples", "two layouts that differ")
    page.wait("document.querySelector('#m-verdict').textContent === 'no'", "they differ")
    same(page.value("""(() => { const [a, b] = [...document.querySelectorAll('#m-drawing table')].map(t => [...t.querySelectorAll('td')]);
        return a.length === 128 && a.every((c, i) => b[i].matches('.other') === (c.textContent !== b[i].textContent)); })()"""), True,
         "cells that differ have a frame")
    page.example("#m-examples", "equal, step by step")
    page.wait("document.querySelector('#m-verdict').textContent === 'yes' && document.querySelectorAll('#m-steps .step').length > 0", "steps")
    page.example("#m-examples", "a swizzle, by bank")
    page.wait("document.querySelectorAll('#m-drawing td.at').length === 512", "a swizzle")
    same(page.value("""[...document.querySelectorAll('#m-drawing td.at')].every(c => c.style.backgroundColor ===
        document.querySelectorAll('#m-drawing .map-scale span')[Number(c.textContent) % 32].style.backgroundColor)"""), True, "its banks' colours")
    page.fill("#m-first", "(4,8):(8")
    page.wait("document.querySelector('#m-error .error')", "a message")
    page.fill("#m-vars", "i=0")
    page.wait("document.querySelector('#m-error').textContent.includes('i=0..7')", "what to write")


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


BAD = {
    "e": ("", "(", "a +", "a // 0", "a b", "1" * 30 + "x", "a ? b", "\u2200a", "where(a, b)", "max()", "a = 3", "foo(a)", "a..b", "a\nb",
          "(" * 200_000, "a//" * 50_000 + "3", "9" * 200_000, "max(" * 5000 + "a" + ",1)" * 5000, "-" * 100_000 + "a", "not " * 30_000 + "a",
          "a" * 100_000),
    "v": ("4,6 permute", "4,6 permuet 1,0", "4,6 permute 0,0", "4,6 reshape 25", "4,-6", "4,x", "4,6 pad 1", "99999999999999999999,2 flip 0",
          "4,6 stride 0,1", "4,6 shrink 0:9,0:6", ",".join(["2"] * 5000), "4,6 " + "flip 0 " * 20_000 + "flip 9"),
    "k": ("", "softmax(x[4,9]", "nothing(x[2])", "x[2] + y[3]", "x[-1]", "matmul(a[4096,4096], b[4096,4096])", "x[2]:f99", "(" * 50_000,
          "float32 2: 1; frob %0", "float32 2: 1; add %0 %9", "float32 99999999999: 1; neg %0"),
}


def check_hostile(page, native):
    """Bad input gives the native message at once, and the page keeps working."""
    slots = {"e": ("expression", "#e-in", "#e-error", 'expression.question("simplify")'),
             "v": ("view", "#v-words", "#v-error", '''JSON.stringify({ ask: "view", words: $("v-words").value, vars: [] })'''),
             "k": ("kernel", "#k-text", "#k-error", 'JSON.stringify(kernels.question("kernel"))')}
    for key, (tab, field, error, question) in slots.items():
        page.click(f"#tab-{tab}")
        if key == "v":
            page.value("$('v-vars').value = ''")
        if key == "k":
            page.value("$('k-inputs').value = ''")
        for bad in BAD[key]:
            blocked = page.value(f"""(() => {{ const f = document.querySelector({json.dumps(field)});
                f.value = {json.dumps(bad)};
                const from = performance.now();
                f.dispatchEvent(new Event('input'));
                return performance.now() - from; }})()""")
            same(blocked < 100, True, f"{bad[:40]!r} holds the page up for {blocked:.0f} ms")
            asked = page.value(question)
            said = subprocess.run([native, "answer"], input=asked.encode() + b"\n", capture_output=True, check=True).stdout
            wanted = json.loads(said).get("error", "")
            what = f"the message for {bad[:60]!r}"
            end = time.monotonic() + 30
            while True:
                now = page.value(f"document.querySelector({json.dumps(error)}).textContent")
                quiet = page.value("engine.running === null && engine.waiting.size === 0")
                if now == wanted and quiet:
                    break
                if time.monotonic() > end:
                    raise AssertionError(f"{what}: {now[:300]!r}, must be {wanted[:300]!r}")
                time.sleep(0.02)
    page.click("#tab-expression")
    page.fill("#e-in", "a//2*2 + a%2")
    page.wait("document.querySelector('#e-out').textContent === 'a'", "it lives on", 30)


def check_endless(page):
    """Endless work is terminated, by timeout or by the next key, and a new worker takes over."""
    restarts = page.value("engine.restarts")
    endless = "min(" + ", ".join(f"max(a*{i % 7 - 3} + {i}, b*{i % 5 - 2} + {i % 11}, c*{i % 3 - 1})" for i in range(60)) + ")"
    page.fill("#e-in", endless)
    time.sleep(0.5)
    page.fill("#e-in", "b//2*2 + b%2")
    begin = time.monotonic()
    page.wait("document.querySelector('#e-out').textContent === 'b'", "the next question is answered")
    print(f"after a long question the next one is answered within {time.monotonic() - begin:.2f} s, "
          f"{page.value('engine.restarts') - restarts} workers ended")
    answer = page.value("""(async () => {
      const answers = engine.ask("long", { ask: "prove", claim: "a*b*c*d*e*f*g*h -> a*b*c*d*e*f*g*h + 0*a", within: [-4, 4] });
      const worker = engine.worker;
      setTimeout(() => engine.finish({ late: true }), 30);
      const said = await answers;
      return [said.error ?? said.verdict, engine.worker !== worker, (await engine.ask("next", { ask: "rules" })).rules.length > 50]; })()""")
    same(answer[2], True, f"a fresh worker answers: {answer}")


def main():
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # messages hold numbers of any length
    chromium, path, native = sys.argv[1:4]
    pictures = sys.argv[4] if len(sys.argv) > 4 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Page(chromium, os.path.join(folder, "profile"), pictures)
        try:
            page.look(1400, 900)
            path = os.path.abspath(path)
            check_start(page, path)
            check_not_whole(page, path, folder)
            check_shifts(page, path)
            fresh(page, path)
            check_expression(page)
            check_frames(page)
            check_view(page)
            check_map(page)
            check_kernel(page)
            check_contrast(page)
            check_hostile(page, native)
            check_endless(page)
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
        for tab, select, names in EXAMPLES:
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
