"""Opens the page of `touchstone steps` in headless Chromium, presses keys, and compares the
document with the command's text output. Keys and documents go through the browser's own protocol,
independent of the page's scripts.

rewrite_page_test.py TOUCHSTONE CHROMIUM
"""
import html
import os
import re
import subprocess
import sys
import tempfile

from browser import Browser, same

PROGRAM = ("float32 2,3: 1 2 3 4 5 6; exp2 %0; reduce_sum %1 1; reshape %2 2,1; expand %3 2,3; "
           "mul %1 %4; permute %5 1,0; contiguous %6")


def printed_passes(text):
    """[(name, [(rule, before, after)])] from the command's output."""
    passes = []
    for line in text.splitlines():
        head = re.match(r"(\S.*): (\d+) matches?, \d+ nodes become \d+$", line)
        match = re.match(r"  (\S.*?)  +(\S.*) -> (.*?)(?:  of .*)?$", line)
        if head:
            passes.append((head[1], int(head[2]), []))
        elif match and passes:
            passes[-1][2].append(match.groups())
    return passes


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
    same(page.text("#position"), "kernels: kernel 1 of 2", "kernels")
    for part in ("#ast", "#c"):
        same(bool(page.text(part)), True, part)
    same("exp2" in page.text("#c"), True, "C of the first kernel")
    page.press("ArrowRight")
    same(page.text("#position"), "kernels: kernel 2 of 2", "the second kernel")


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
    same(page.text("#found"), f"{count} in this part", "after Escape")


def main():
    touchstone, chromium = sys.argv[1:3]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "page.html")
        command = [touchstone, "rewrite", "--program", PROGRAM]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        subprocess.run([touchstone, "steps", "--program", PROGRAM, "-o", path], capture_output=True, check=True)
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
