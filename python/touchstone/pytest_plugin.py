"""pytest --touchstone-report[=FILE.html]: the verdicts of touchstone.testing in a table, and as a page.

pytest loads it by its entry point, which is beside the package.
"""
import os
from html import escape

import pytest

from touchstone import testing

_OPTION = "--touchstone-report"


def pytest_addoption(parser):
    parser.getgroup("touchstone").addoption(
        _OPTION, nargs="?", const="", default=None, metavar="FILE.html",
        help="print a table of the verdicts of assert_legal; with a file name also write a page")


def pytest_load_initial_conftests(args):
    """Without a page the option takes no argument: the next word is a test, not a page."""
    for i, arg in enumerate(args):
        if arg == _OPTION and not (i + 1 < len(args) and args[i + 1].endswith(".html")):
            args[i] += "="


def _refuse(path):
    """The reason why no page can be written there, or None."""
    if not path.endswith(".html"):
        return "a page's name ends in .html"
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.path.isdir(folder):
        return "there is no such folder" if not os.path.isdir(folder) else "that is a folder"
    return None if os.access(path if os.path.exists(path) else folder, os.W_OK) else "it cannot be written"


class _Report:
    def __init__(self, path):
        self.path, self.records, self.now, self.lost = path, [], "", ""

    def heard(self, record):
        record.where = self.now
        self.records.append(record)

    def pytest_sessionstart(self):
        testing._listeners.append(self.heard)

    def pytest_sessionfinish(self):
        testing._listeners.remove(self.heard)
        if self.path:
            try:
                with open(self.path, "w", encoding="utf-8", errors="backslashreplace") as page:
                    page.write(_page(self.records))
            except OSError as why:
                self.lost = f"no page was written: {why}"

    def pytest_runtest_setup(self, item):
        self.now = item.nodeid

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("touchstone")
        for r in self.records:
            terminalreporter.line(f"{r.verdict.status:8} {_power(r.verdict):>10}  {r.call:30} {r.where}")
        counts = {}
        for r in self.records:
            counts[r.verdict.status] = counts.get(r.verdict.status, 0) + 1
        terminalreporter.line(f"{len(self.records)} verdicts: "
                              + (", ".join(f"{n} {word}" for word, n in sorted(counts.items())) or "none"))
        if self.lost:
            terminalreporter.line(self.lost, red=True)


def _power(verdict):
    if verdict.status == "UNUSABLE":
        return "-"
    if verdict.determined == verdict.checked:
        return "exact"
    return f"{100 * verdict.power:.2g} %"


def _page(records):
    rows = "".join(f"<tr class='{r.verdict.status}'><td>{r.verdict.status}</td><td>{_power(r.verdict)}</td>"
                   f"<td><code>{escape(r.call)}</code></td><td>{escape(r.where)}</td>"
                   f"<td>{escape(str(r.verdict))}</td></tr>" for r in records)
    return ("<!doctype html><meta charset='utf-8'><title>Touchstone</title><style>body{font-family:sans-serif}"
            "td,th{padding:.2em .6em;text-align:left;border-bottom:1px solid #ccc}.FAIL,.SUSPECT{background:#fdd}"
            ".WEAK{background:#ffd}</style><h1>Verdicts</h1><p>Errors smaller than <i>power</i> could go unnoticed.</p>"
            "<table><tr><th>verdict</th><th>power</th><th>operation</th><th>test</th><th>in words</th></tr>"
            f"{rows}</table>\n")


def pytest_configure(config):
    path = config.getoption(_OPTION)
    if path:
        path = os.path.abspath(path)  # tests may change directory
        if why := _refuse(path):
            raise pytest.UsageError(f"{_OPTION}={path}: {why}")
    if path is not None:
        config.pluginmanager.register(_Report(path), "touchstone-report")
