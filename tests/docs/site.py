#!/usr/bin/env python3
"""Tests that the site of ./dev docs contains every page, its links are valid and its search works without a server.

usage: site.py SITE SOURCE [CHROMIUM]
"""
import html
import os
import re
import sys
import tempfile
import time
import urllib.parse

LINK = re.compile(r'(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'(?:id|name)="([^"]*)"')


def pages_of(source):
    for folder, folders, files in os.walk(os.path.join(source, "docs")):
        folders[:] = [f for f in folders if f != "site"]
        for name in files:
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def headings(path):
    """The headings of a page, as plain words."""
    fence = False
    with open(path, encoding="utf-8") as f:
        for line in f:
            fence ^= line.startswith("```")
            found = re.match(r"#{1,3} (.*)", line)
            if found and not fence:
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]*>", r"\1", found[1])
                yield re.sub(r"[`*\\]", "", text).strip()


def plain(text):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", text))).replace("\u200b", "")


def check_pages(site, source):
    """Every page is complete: all its headings are in one file."""
    texts = {name: plain(open(os.path.join(site, name), encoding="utf-8").read())
             for name in os.listdir(site) if name.endswith(".html") and (name.startswith("md_") or name == "index.html")}
    wrong = []
    for path in pages_of(source):
        wanted = list(headings(path))
        if not any(all(h in text for h in wanted) for text in texts.values()):
            lacking = min(([h for h in wanted if h not in text] for text in texts.values()), key=len)
            wrong.append(f"{os.path.relpath(path, source)}: no page of the site has all its headings, the nearest lacks {lacking}")
    return wrong


def check_links(site):
    anchors, wrong, count = {}, [], 0

    def anchors_of(name):
        if name not in anchors:
            with open(os.path.join(site, name), encoding="utf-8", errors="replace") as f:
                anchors[name] = set(ANCHOR.findall(f.read())) if name.endswith(".html") else set()
        return anchors[name]

    for folder, _, files in os.walk(site):
        for name in files:
            if not name.endswith(".html") or name == "touchstone.html":
                continue
            here = os.path.relpath(os.path.join(folder, name), site)
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = re.sub(r"<script.*?</script>", "", f.read(), flags=re.S)
            for link in LINK.findall(text):
                link = html.unescape(link)
                if re.match(r"(https?|mailto|javascript|data):", link):
                    continue
                count += 1
                target, _, anchor = link.partition("#")
                to = os.path.normpath(os.path.join(os.path.dirname(here), urllib.parse.unquote(target))) if target else here
                if not os.path.isfile(os.path.join(site, to)):
                    wrong.append(f"{here}: there is no {link}")
                # Doxygen's own type tables name missing anchors.
                elif anchor and here.startswith(("md_", "index")) and to != "touchstone.html" and urllib.parse.unquote(anchor) not in anchors_of(to):
                    wrong.append(f"{here}: {to} has no place '{anchor}'")
    return wrong, count


def check_browser(site, chromium):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "playground"))
    from page_test import Page
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Page(chromium, os.path.join(folder, "profile"), None)
        try:
            page.open(os.path.join(os.path.abspath(site), "index.html"))
            page.wait("document.querySelector('#MSearchField')", "a search box")
            for word, hit in (("glossary", "glossary"), ("shapetracker", "ShapeTracker")):
                page.value("document.querySelector('#MSearchField').focus(); document.querySelector('#MSearchField').select()")
                for letter in word:
                    page.press(letter, letter)
                end = time.monotonic() + 20
                # The results are in a frame that a page opened from disk may not inspect.
                script = "document.querySelector('#MSearchResultsWindow').style.display === 'block'"
                while not page.value(script):
                    if time.monotonic() > end:
                        raise AssertionError(f"a search for '{word}' shows nothing")
                    time.sleep(0.05)
                if not found_in(site, word, hit):
                    raise AssertionError(f"the search knows no '{hit}'")
            out = [r for r in page.requests if not r.startswith(("file:", "data:", "about:"))]
            if out or page.said:
                raise AssertionError(f"requests {out}, said {page.said}")
        finally:
            page.end()


def found_in(site, word, hit):
    folder = os.path.join(site, "search")
    return any(f"'{word}" in text and hit in text for text in
               (open(os.path.join(folder, name), encoding="utf-8").read() for name in os.listdir(folder) if name.startswith("all_")))


def main():
    site, source = sys.argv[1:3]
    wrong = check_pages(site, source)
    broken, count = check_links(site)
    for line in (wrong + sorted(set(broken)))[:40]:
        print(line)
    if wrong or broken:
        sys.exit(f"{len(wrong)} pages are missing, {len(broken)} of {count} links lead nowhere")
    if len(sys.argv) > 3:
        check_browser(site, sys.argv[3])
    print(f"{count} links lead somewhere")


if __name__ == "__main__":
    main()
