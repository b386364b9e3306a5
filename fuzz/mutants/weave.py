#!/usr/bin/env python3
"""Weaves the mutants of the tables beside this file into a copy of the sources.

usage: weave.py [--check | --names | --out FOLDER] [--root FOLDER] TABLE...

A mutant is a small fault in one place. A table holds the mutants of the area it is named after:

    [name] path/of/source.cpp
    what goes wrong, in a line
    - the text of the source, `the part that changes` between backticks
    + the faulty part

Without backticks the whole text changes. White space does not count; the text must occur exactly
once. Rows under the heading "# From history" are real past mistakes. An expression becomes
(mutant_on(i) ? (faulty) : (right)); statements, the last ending in ;, become
{ if (mutant_on(i)) { faulty } else { right } }; an empty faulty part removes them. Line numbers
stay. Mutants may share a place or nest.

--check only tests that every text is found; --names prints the names. --out writes the C++ files of
the folders symbolic, shapetracker, lib and interp, and lib/base/mutant_table.inc, one row per
mutant; unchanged files are not rewritten. If a table does not fit the sources, prints a line per
mistake and exits with 1. --most-stale N skips, and reports, up to N mutants whose source text has
changed.
"""

import argparse
import os
import re
import sys
import zlib

# A part of an expression that begins or ends with a binary operator.
BROKEN = re.compile(r"^\s*(<|>|=|/|%|\||\^|&&|\.|\?|,|!=)|([-+*/%<>=!&|^?,.]|\b(and|or))\s*$")

FOLDERS = ("symbolic", "shapetracker", "lib", "interp")


class Mutant:
    def __init__(self, name, area, path, place):
        self.name, self.area, self.path, self.place = name, area, path, place
        self.description, self.history = "", False
        self.before, self.right, self.after = "", "", ""
        self.faulty = None
        self.span = None


def parse(path, text, wrong):
    """The mutants of one table; complaints go to `wrong`."""
    area = os.path.splitext(os.path.basename(path))[0]
    mutants, lines = [], []
    history = False

    def close():
        if not mutants:
            return
        m = mutants[-1]
        whole = "\n".join(line for kind, line in lines if kind == "-")
        parts = whole.split("`")
        if len(parts) == 1:
            m.right = whole
        elif len(parts) == 3:
            m.before, m.right, m.after = parts
        else:
            wrong(f"{m.place}: {m.name}: one pair of backticks, or none")
        faulty = [line for kind, line in lines if kind == "+"]
        m.faulty = " ".join(faulty).strip() if faulty else None
        if not squeezed(m.right)[0] or m.faulty is None:
            wrong(f"{m.place}: {m.name}: needs a line with - and one with +")
        elif m.right.strip()[-1] != ";" and any(map(BROKEN.search, (m.right, m.faulty))):
            wrong(f"{m.place}: {m.name}: an operator without both its sides: take in the whole expression")
        elif "//" in m.faulty:
            wrong(f"{m.place}: {m.name}: no comments in the faulty part")
        elif not m.description:
            wrong(f"{m.place}: {m.name}: says nowhere what goes wrong")
        lines.clear()

    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{number}"
        head = re.fullmatch(r"\[([a-z0-9]+(?:-[a-z0-9]+)+)\] (\S+)", line)
        if line.startswith("# "):
            history = line.startswith("# From history")
        if not line.strip() or line.startswith("#"):
            continue
        if head:
            close()
            mutants.append(Mutant(head[1], area, head[2], place))
            mutants[-1].history = history
        elif not mutants or line.startswith("["):
            wrong(f"{place}: expected [some-name] path/of/source, not '{line}'")
        elif line[0] in "+-" and (len(line) == 1 or line[1] == " "):
            lines.append((line[0], line[2:]))
        elif not lines:
            m = mutants[-1]
            m.description = (m.description + " " + line.strip()).strip()
        else:
            wrong(f"{place}: expected a line that begins with + or -, not '{line}'")
    close()
    return mutants


def squeezed(text):
    """The text without white space, and the original position of each character."""
    kept = [(c, i) for i, c in enumerate(text) if not c.isspace()]
    return "".join(c for c, _ in kept), [i for _, i in kept]


def locate(mutant, text, flat, origin, wrong, stale):
    before, right, after = (squeezed(p)[0] for p in (mutant.before, mutant.right, mutant.after))
    wanted = before + right + after
    first = flat.find(wanted)
    if first < 0:
        stale(f"{mutant.place}: {mutant.name}: {mutant.path} does not hold its text"
              f" (a changed line? mend the table): {' '.join(mutant.right.split())}")
    elif flat.find(wanted, first + 1) >= 0:
        wrong(f"{mutant.place}: {mutant.name}: {mutant.path} holds its text more than once:"
              f" say more around `the part`")
    else:
        begin = first + len(before)
        mutant.span = origin[begin], origin[begin + len(right) - 1] + 1


def raw_literals(text):
    """The positions of raw string literals, whose content is no C++."""
    return [found.span() for found in re.finditer(r'R"([^()\\\s]*)\(.*?\)\1"', text, re.DOTALL)]


def weave(text, begin, end, mutants, number_of, wrong):
    """text[begin:end] with its mutants woven in; `mutants` lists outer ones first."""
    out = ""
    while mutants:
        place = mutants[0].span
        here = [m for m in mutants if m.span == place]
        inside = [m for m in mutants if m not in here and m.span[0] < place[1]]
        for m in inside:
            if m.span[1] > place[1]:
                wrong(f"{m.place}: {m.name} and {here[0].name} overlap: widen one or the other")
        mutants = [m for m in mutants if m not in here and m not in inside]
        right = weave(text, *place, inside, number_of, wrong)
        for m in here:
            on = f"::touchstone::mutant_on({number_of[m.name]}u)"
            if text[place[1] - 1] == ";":
                right = f"{{ if ({on}) {{ {m.faulty} }} else {{ {right} }} }}"
            else:
                right = f"({on} ? ({m.faulty}) : ({right}))"
        out += text[begin:place[0]] + right
        begin = place[1]
    return out + text[begin:end]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    options.add_argument("--check", action="store_true")
    options.add_argument("--names", action="store_true")
    options.add_argument("--most-stale", type=int, default=0)
    options.add_argument("--out")
    options.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    options.add_argument("tables", nargs="+")
    args = options.parse_args()

    mistakes = []
    mutants = []
    for table in args.tables:
        with open(table, encoding="utf-8") as file:
            mutants += parse(table, file.read(), mistakes.append)
    number_of = {}
    for m in mutants:
        number = zlib.crc32(m.name.encode())  # stable, so compiled objects stay valid
        if m.name in number_of:
            mistakes.append(f"{m.place}: there are two mutants {m.name}")
        elif number in number_of.values():
            mistakes.append(f"{m.place}: {m.name} has the number of another: choose another name")
        number_of[m.name] = number

    woven, stale = {}, []
    for path in sorted({m.path for m in mutants}):
        here = [m for m in mutants if m.path == path]
        try:
            with open(os.path.join(args.root, path), encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            mistakes.append(f"{here[0].place}: {here[0].name}: {path}: {error.strerror}")
            continue
        if not path.startswith(tuple(f + "/" for f in FOLDERS)):
            mistakes.append(f"{here[0].place}: {here[0].name}: only {', '.join(FOLDERS)} hold mutants")
        flat, origin = squeezed(text)
        for m in here:
            locate(m, text, flat, origin, mistakes.append, stale.append)
        for m in here:
            if m.span and any(a < end < b for a, b in raw_literals(text)
                              for end in m.span):
                mistakes.append(f"{m.place}: {m.name}: its text is in a raw string, where no mutant"
                                " can be asked for: change what reads the string")
        found = sorted((m for m in here if m.span), key=lambda m: (m.span[0], -m.span[1]))
        head = "#include \"touchstone/base/mutant.h\"\n"
        name = os.path.abspath(os.path.join(args.root, path))
        woven[path] = (head + f"#line 1 {quoted(name)}\n" +
                       weave(text, 0, len(text), found, number_of, mistakes.append))
        if path.endswith(".h"):
            woven[path] = "#pragma once\n" + woven[path].replace("#pragma once\n", "\n", 1)
        for m in found:
            m.where = f"{path}:{text.count(chr(10), 0, m.span[0]) + 1}"

    if stale:
        print("\n".join(stale), file=sys.stderr)
    if mistakes or len(stale) > args.most_stale:
        print("\n".join(mistakes), file=sys.stderr)
        return 1
    if args.names:
        print("\n".join(number_of))
    if args.out:
        for folder in FOLDERS:
            for parent, _, files in os.walk(os.path.join(args.root, folder)):
                for file in files:
                    path = os.path.relpath(os.path.join(parent, file), args.root)
                    if not file.endswith((".h", ".cpp", ".inc")):
                        continue
                    if path not in woven:
                        with open(os.path.join(args.root, path), encoding="utf-8") as source:
                            woven[path] = source.read()
        woven["lib/base/mutant_table.inc"] = "".join(
            "{{%s}, %du, %s},\n" % (", ".join(map(quoted, (m.name, m.area, m.where, m.description))),
                                  number_of[m.name], "true" if m.history else "false")
            for m in mutants if m.span)
        for path, text in woven.items():
            write(os.path.join(args.out, path), text)
        for parent, _, files in os.walk(args.out):  # removed sources
            for file in files:
                if os.path.relpath(os.path.join(parent, file), args.out) not in woven:
                    os.remove(os.path.join(parent, file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
