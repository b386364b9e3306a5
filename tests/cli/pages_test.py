"""Opens the pages of `touchstone` for views, schedules, kernels and derivations in headless Chromium and uses keys, mouse
and touch.

pages_test.py TOUCHSTONE CHROMIUM
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from browser import Browser, same


def cells(page):
    return page.outer("#panels").count('class="cell')


def check_view(page, make):
    make("view", "4,6", "shrink", "0:4,0:3", "reshape", "12")
    same(page.text("#list li[aria-current] span:last-child"), "4,6", "the first step is shown first")
    same(cells(page), 24 + 24, "cells of a view and of its buffer")
    page.press("ArrowRight")
    same(page.text("#list li[aria-current] span:last-child"), "shrink 0:4,0:3", "the next step")
    same(cells(page), 12 + 24, "its cells")
    ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', page.outer("#panels section"))
    same(ticks, ["0", "1", "2", "0", "1", "2", "3", "0↓ 1→"], "indices of the axes")
    same(page.outer(".lit"), None, "nothing is pointed at")
    page.tap("#panels section .cell")
    same(page.text("#readout"), "(0, 0) of (4, 3)  →  address 0", "what a tapped cell reads")
    same(page.outer(".lit") is not None, True, "it stays marked")


def check_large_view(page, make):
    make("view", "100,200", "permute", "1,0")
    same("drawn: the first 25 × 25 of 100 × 200" in page.text("#panels"), True, "a crop")
    same(cells(page), 2 * 625, "cells of both crops")


def check_schedule(page, make):
    make("schedule", "softmax", "--opt", "2")
    same(page.text("#position"), "schedule: step 1 of 3", "the first step")
    same(page.outer("#picture").count('class="node'), 3, "nodes")
    same("void r_64_64" in page.text("#c"), True, "C of the first kernel")
    page.click("#i2")
    same(page.text("#position"), "schedule: step 3 of 3", "a click chooses")
    same("DIV" in page.text("#ast"), True, "AST of the last kernel")
    same(re.search(r'<g id="i2" class="[^"]*lit', page.outer("#picture")) is not None, True, "mark")
    page.press("ArrowLeft")
    same(page.text("#position"), "schedule: step 2 of 3", "the step before")
    page.tap("#i0")
    same(page.text("#position"), "schedule: step 1 of 3", "a tap chooses")


def check_kernels(page, make):
    make("kernels", "softmax", "--opt", "2")
    same(page.text("#position"), "softmax: kernel 1 of 3", "the first kernel")
    same("void r_64_64" in page.text("#c"), True, "its C")
    page.press("ArrowRight")
    page.press("ArrowRight")
    same(page.text("#position"), "softmax: kernel 3 of 3", "the last kernel")
    page.press("ArrowRight")
    same(page.text("#position"), "softmax: kernel 3 of 3", "there is no more")
    line = page.middle("#ast .code-line:nth-child(2)")
    page.ask("Input.dispatchMouseEvent", type="mouseMoved", **line)
    for column in ("#uops", "#c"):
        same('code-line lit' in page.outer(column), True, f"what belongs together is lit in {column}")


def check_derivation(page, make):
    make("simplify", "(a*4 + b)//4 + 0*a", "--var", "a=0..10", "b=0..3")
    number = int(re.search(r"of (\d+)$", page.text("#position"))[1])
    before = page.text("#before")
    same(before, "(a*4 + b)//4 + 0*a", "the text as it was given")
    rules = []
    for i in range(number):
        same(page.text("#position"), f"expression: step {i + 1} of {number}", "steps in order")
        if i:
            same(page.text("#before"), after, "a step begins where the last one ended")
        after = page.text("#after")
        rules.append(page.text("#rule").split(":")[0])
        for side, mark in (("before", "was"), ("after", "now")):
            same(page.outer(f"#graph-{side}").count(f'class="node {mark}"'), 1, f"the changed part {side} step {i + 1}")
        page.press("ArrowRight")
    same(after, "a", "the result")
    same("div.split" in rules, True, f"a law by its name: {rules}")


def main():
    touchstone, chromium = sys.argv[1:3]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Browser(chromium, os.path.join(folder, "profile"))

        def make(*words):
            path = os.path.join(folder, "page.html")
            subprocess.run([touchstone, *words, "--html", path], capture_output=True, check=True)
            page.open(path)

        try:
            check_view(page, make)
            check_large_view(page, make)
            check_kernels(page, make)
            if shutil.which("dot"):
                check_schedule(page, make)
                check_derivation(page, make)
        finally:
            page.end()
    print("the pages do as they are told")


main()
