#!/usr/bin/env python3
"""clang-tidy over the sources of a unity build, several files at once.

clang-tidy spends most of its time on common headers, so the files of one unity source are concatenated into one file,
where the analyzer and the main-file checks see all of them; locations are reported in the original files. Files that
do not compile together are checked separately.

usage: lint.py BUILD-FOLDER [--part K/N] [FILE...]
  --part K/N  of the groups, every N-th from the K-th on
  FILE        only these, each by itself

Exit code 1 where something was found.
"""

import argparse
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TIDY = ["clang-tidy-19", "--quiet", "--warnings-as-errors=*"]
# Test macros make path analysis expensive and of little use; tests use small numbers and deliberately make copies and
# short-lived objects.
NOT_IN_TESTS = [
    "clang-analyzer-*", "performance-*", "bugprone-implicit-widening-of-multiplication-result",
    "bugprone-integer-division", "bugprone-misplaced-widening-cast", "bugprone-signed-char-misuse",
    "bugprone-unused-raii",
]
INCLUDED = re.compile(r'^#include "(/.*\.cpp)"$', re.M)


class Group:
    """The sources of one compile command: those of a unity source, or a single file."""

    def __init__(self, entry):
        self.main = pathlib.Path(entry["directory"], entry["file"])
        words = shlex.split(entry["command"])
        while not os.path.basename(words[0]).startswith("clang++"):
            words.pop(0)  # what stands before the compiler: a cache, a clock
        at = words.index("-c")
        self.arguments = words[:at] + words[at + 2 :]
        self.directory = entry["directory"]
        self.sources = [self.main]
        self.joined = True
        if "/Unity/" in str(self.main):
            self.sources = [pathlib.Path(name) for name in INCLUDED.findall(self.main.read_text())]

    def tidy(self, file, extra=()):
        checks = ["--checks=" + ",".join("-" + check for check in NOT_IN_TESTS)] if "tests" in self.sources[0].parts else []
        run = subprocess.run(TIDY + checks + [str(file), "--", *self.arguments[1:], *extra],
                             cwd=self.directory, capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def of(self, wanted):
        """This group restricted to the wanted sources, each checked separately."""
        part = copy.copy(self)
        part.sources = [source for source in self.sources if source in wanted]
        part.joined = False
        return part

    def alone(self):
        return [self.tidy(source) for source in self.sources]

    def findings(self, folder):
        """The lines of the findings, with locations in the original files."""
        if not self.joined or len(self.sources) == 1:
            outcomes = self.alone()
        else:
            # One file with the contents of all sources; source i starts after line starts[i].
            name = re.sub(r"[^A-Za-z0-9]+", "_", str(self.main.relative_to(folder.parent)))
            together, starts, lines = folder / f"{name}.cpp", [], 0
            with together.open("w") as out:
                for source in self.sources:
                    starts.append(lines)
                    text = source.read_text()
                    text += "" if text.endswith("\n") else "\n"
                    out.write(text)
                    lines += text.count("\n")
            quotes = [word for source in self.sources for word in ("-iquote", str(source.parent))]
            code, out, err = self.tidy(together, quotes)
            if "clang-diagnostic-error" in out or (code and "warning:" not in out and "error:" not in out):
                outcomes = self.alone()
            else:
                def place(match):
                    line = int(match[1])
                    at = max(i for i, start in enumerate(starts) if start < line)
                    return f"{self.sources[at]}:{line - starts[at]}:"

                outcomes = [(code, re.sub(re.escape(str(together)) + r":(\d+):", place, out), err)]
        return "".join(out if out.strip() or not code else err for code, out, err in outcomes if code)


def groups_of(build):
    seen, groups = set(), []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not entry["file"].endswith((".cpp", ".cxx")):
            continue
        group = Group(entry)
        group.sources = [source for source in group.sources if build not in source.parents]  # none of the build's own
        fresh = [source for source in group.sources if source not in seen]
        if fresh and group.sources and str(group.sources[0]).startswith(str(build.parent.parent)):
            seen.update(fresh)
            groups.append(group)
    return groups


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over the sources of a unity build")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    asked = parser.parse_args()
    build = asked.build.resolve()
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    groups = groups_of(build)
    wanted = {file.resolve() for file in asked.files}
    missing = [str(file) for file in wanted if not file.exists()]
    if missing:
        sys.exit("lint: there is no " + ", ".join(sorted(missing)))
    unknown = wanted - {source for group in groups for source in group.sources}
    if unknown:
        print("lint: compiled by no target here, left out: " + ", ".join(map(str, sorted(unknown))), file=sys.stderr)
        wanted -= unknown
        if not wanted:
            return
    if wanted:
        groups = [group.of(wanted) for group in groups if wanted & set(group.sources)]
    part, parts = map(int, asked.part.split("/"))
    groups = groups[part % parts :: parts]
    found = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, text in enumerate(pool.map(lambda group: group.findings(folder), groups), 1):
            found |= bool(text)
            print(text, end="")
            print(f"lint: {done} of {len(groups)} groups", file=sys.stderr, flush=True)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
