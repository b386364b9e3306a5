"""pytest --touchstone-report[=FILE.html]: the verdicts of touchstone.testing in a table, and as a page.

pytest loads it by its entry point, which lies beside the package.
"""
from html import escape

from touchstone import testing


def pytest_addoption(parser):
    parser.getgroup("touchstone").addoption(
        "--touchstone-report", nargs="?", const="", default=None, metavar="FILE.html",
        help="a table of the verdicts of assert_legal, and a page where a file is named")


class _Report:
    def __init__(self, path):
        self.path, self.records, self.now = path, [], ""

    def heard(self, record):
        record.where = self.now
        self.records.append(record)

    def pytest_sessionstart(self):
        testing._listeners.append(self.heard)

    def pytest_sessionfinish(self):
        testing._listeners.remove(self.heard)
        if self.path:
            with open(self.path, "w", encoding="utf-8") as page:
                page.write(_page(self.records))

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
            ".WEAK{background:#ffd}</style><h1>Verdicts</h1><p>A smaller error than <i>power</i> could pass.</p>"
            "<table><tr><th>verdict</th><th>power</th><th>operation</th><th>test</th><th>in words</th></tr>"
            f"{rows}</table>\n")


def pytest_configure(config):
    path = config.getoption("--touchstone-report")
    if path is not None:
        config.pluginmanager.register(_Report(path), "touchstone-report")
