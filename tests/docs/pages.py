#!/usr/bin/env python3
"""Checks README.md, its neighbours and docs/ against the tree: everything they name must exist.

usage: pages.py SOURCE [PROGRAM]

- every relative link and its anchor exist, and every page is linked from docs/README.md;
- every file, header, test, environment variable and identifier between backticks is in the tree;
- every `touchstone VERB --flag` is in the program's help (with PROGRAM);
- on the pages that map the source, names before "(`file`" or "in `file`" occur in that file, and the
  tables of modules and rooms have the links of CMakeLists.txt and the includes of the sources;
- the rows of laws that are shown stand in the table;
- lists are complete: modules, rooms, files of symbolic, switches, members of a profile, relations,
  tables of mutants, verbs.

Prints each finding as PAGE:LINE: mistake, and then exits with 1.
"""

import glob
import itertools
import os
import re
import subprocess
import sys

# Sources searched for the words of pages: everything except the pages and this folder.
ROOMS = ("symbolic", "shapetracker", "lib", "interp", "fuzz", "cli", "python")  # the folders of rooms
ROOTS = ROOMS + ("cmake", "examples", "tests", ".ci", "dev", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "Dockerfile")
MAP = ("architecture.md", "maintaining.md", "codegen.md")  # pages that map the source
OTHERS = {"NPY_DISABLE_CPU_FEATURES"}  # names of other projects


def pages_of(source):
    found = [os.path.join(source, n) for n in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    for folder, _, names in os.walk(os.path.join(source, "docs")):
        found += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".md")]
    return found


def files_of(source):
    found = []
    for root in ROOTS:
        path = os.path.join(source, root)
        if os.path.isfile(path):
            found.append(path)
        for folder, _, names in os.walk(path):
            if "__pycache__" not in folder:
                found += [os.path.join(folder, n) for n in names]
    return found


class Tree:
    """The files of the tree, and the words in them."""

    def __init__(self, source):
        self.source = source
        files = files_of(source)
        self.paths = {os.path.relpath(f, source) for f in files}
        self.names = {os.path.basename(f) for f in files}
        own = os.path.join(source, "tests", "docs") + os.sep
        text = []
        for f in files:
            if not f.startswith(own) and os.path.getsize(f) < 4 << 20:
                with open(f, encoding="utf-8", errors="replace") as file:
                    text.append(file.read())
        self.text = "\n".join(text)
        self.words = set(re.findall(r"\w+", self.text)) | {n.split(".")[0] for n in self.names}
        # Programs named after a folder or a file.
        self.words |= {p.split("/")[1] + "_test" for p in self.paths if p.startswith("tests/")}
        self.words |= {"fuzz_" + n[:-5] for n in self.names if n.endswith(".dict")}
        self.flags = set(re.findall(r"--[a-z][a-z0-9-]*", self.text))

    def has_header(self, path):
        """For touchstone/ and a file path without lib/, and headers installed besides the modules."""
        file = path.split("/", 1)[-1]
        if "/" not in path or "/" not in file:  # installed besides the modules
            return os.path.basename(file) in self.names
        return file in self.paths or f"lib/{file}" in self.paths


def slug(heading):
    """The anchor of a heading."""
    text = re.sub(r"<[^>]*>", "", heading)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose_of(text):
    """Numbered lines outside and inside of blocks."""
    outside, inside, fenced = [], [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        else:
            (inside if fenced else outside).append((number, line))
    return outside, inside


def anchors_of(text):
    outside, _ = prose_of(text)
    found = set()
    for _, line in outside:
        match = re.match(r"#+ (.*)", line)
        if match:
            name, count = slug(match[1]), 0
            while f"{name}-{count}" if count else name in found:
                count += 1
                if f"{name}-{count}" not in found:
                    break
            found.add(f"{name}-{count}" if count else name)
        found.update(re.findall(r'<a name="([^"]*)">', line))
    return found


def check_links(path, text, read):
    """Findings of one page, and the pages that it links to."""
    wrong, linked = [], set()
    outside, _ = prose_of(text)
    for number, line in outside:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(there):
                wrong.append((number, f"link to {target}: no such file"))
                continue
            linked.add(there)
            if anchor and anchor not in anchors_of(read(there)):
                wrong.append((number, f"link to {target}: no such heading"))
    return wrong, linked


def spans_of(text):
    """The text between backticks outside of blocks, with its first line."""
    outside, _ = prose_of(text)
    # A span may cross a line end but not a paragraph end.
    found, paragraph = [], []
    for number, line in outside + [(0, "")]:
        if line.strip():
            paragraph.append((number, line))
            continue
        whole, starts = "", []
        for n, part in paragraph:
            starts.append((len(whole), n))
            whole += part + "\n"
        for match in re.finditer(r"(`+)(.+?)\1(?!`)", whole, re.DOTALL):
            number = max((s, n) for s, n in starts if s <= match.start())[1]
            found.append((number, match[2].replace("\n", " ")))
        paragraph = []
    return found


def is_path(span):
    return re.fullmatch(r"[\w.{}*+-]+(/[\w.{}*+-]+)*/?", span) is not None


def check_span(span, tree):
    """The finding on a name between backticks; None if it is not a name of ours."""
    if span in OTHERS or "..." in span:
        return None
    top = span.split("/")[0]
    if "/" in span and is_path(span) and "*" not in span:
        if top == "touchstone" and span.endswith(".h"):
            return None if tree.has_header(span) else "no such header"
        if top in ROOTS or top == "docs":
            return None if os.path.exists(os.path.join(tree.source, span)) else "no such file"
        return None
    if re.fullmatch(r"[\w-]+\.(h|cpp|cmake)", span):
        return None if span in tree.names else "no such file"
    if re.fullmatch(r"[A-Za-z]\w*(\.[A-Z]\w*)+", span):  # a test
        return None if all(w in tree.words for w in span.split(".")) else "no such test"
    name = re.fullmatch(r"(?:touchstone::)?((?:\w+::)*\w+)(\(\)|<\w+>)?", span)
    if name and re.search(r"_[A-Za-z]|[a-z][A-Z]|::", span):
        words = name[1].split("::")
        return None if all(w in tree.words for w in words) else "not in the tree"
    if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+(=.*)?", span):
        return None if span.split("=")[0] in tree.words else "not in the tree"
    if re.fullmatch(r"--[a-z][a-z0-9-]*( .*)?", span):
        return None if span.split()[0] in tree.flags else "no such option"
    return None


PLACE = re.compile(r"((?:`[A-Za-z_][\w:]*(?:\(\))?`,?\s+(?:and\s+)?)+)(?:\(|in\s+)`([\w./-]+\.(?:h|cpp|py))`")


def check_places(text, tree):
    """Names that are said to be in a file, and are not."""
    outside, _ = prose_of(text)
    prose = dict(outside)
    whole = "\n".join(prose.get(n, "") for n in range(1, len(text.splitlines()) + 1))
    for match in PLACE.finditer(whole):
        if match[2] not in tree.paths:
            continue  # a finding of check_span
        with open(os.path.join(tree.source, match[2]), encoding="utf-8") as file:
            words = set(re.findall(r"\w+", file.read()))
        for name in re.findall(r"`([\w:]+)", match[1]):
            if not words.issuperset(name.split("::")):
                yield whole.count("\n", 0, match.start()) + 1, f"`{name}`: not in {match[2]}"


def modules_of(cmake):
    """Of CMakeLists.txt: the folder of each module, and those of the modules that it links."""
    folders, links = {}, {}
    for call in re.findall(r"touchstone_module\(([^)]*)\)", cmake):
        name, folder, *words = call.split()
        if words[:1] == ["ROOMS"] and name != folder:  # the first room stands for all
            folder += "/" + words[1]
        folders[name], links[name] = folder, []
        for word in words[words.index("DEPENDS") + 1:] if "DEPENDS" in words else []:
            if word.isupper():
                break
            links[name].append(word)
    return {folders[name]: {folders[other] for other in others} for name, others in links.items()}


def check_modules(text, modules):
    """Findings on the table of modules: its rows, and what they say is linked."""
    rows = {}
    for row in re.finditer(r"^\| `([\w/]+)` \| ([^|]*) ?\| [^|]*\|$", text, re.MULTILINE):
        if row[1] in modules:
            rows[row[1]] = set(re.findall(r"`([\w/]+)`", row[2]))
    for folder, links in modules.items():
        if rows.get(folder) != links:
            yield f"no row of the module `{folder}` that links {', '.join(sorted(links)) or 'nothing'}"


def rooms_of(source, cmake):
    """The includes among rooms of one module: from each room, the rooms whose headers it includes."""
    edges = {}
    for call in re.findall(r"touchstone_module\(([^)]*)\)", cmake):
        _, folder, *words = call.split()
        named = words[1:] if words[:1] == ["ROOMS"] else []
        rooms = [f"{folder}/{room}" for room in itertools.takewhile(lambda word: not word.isupper(), named)]
        for room in rooms:
            seen = set()
            for path in glob.glob(os.path.join(source, room, "*.[hc]*")):
                with open(path, encoding="utf-8") as file:
                    seen |= set(re.findall(r'#include "touchstone/([^"]+)/[^"/]+"', file.read()))
            edges[room] = seen.intersection(rooms) - {room}
    return edges


def check_rooms(text, edges):
    """Findings on the table of rooms: rows that differ from the includes."""
    rows = {row[1]: set(re.findall(r"`([\w/]+)`", row[2]))
            for row in re.finditer(r"^\| `([\w/]+)` \| ([^|]*) ?\|$", text, re.MULTILINE) if row[1] in edges}
    for room, seen in edges.items():
        if rows.get(room, set()) != seen:
            yield f"the room `{room}` includes headers of {', '.join(sorted(seen)) or 'no other room'}"


class Help:
    """The program's verbs and their options, from its help."""

    def __init__(self, program):
        self.program = program
        first = self.run("--help")
        self.verbs = set(re.findall(r"^  ([a-z][a-z-]*) {2,}\S", first, re.MULTILINE))
        self.flags = {}

    def run(self, *words):
        done = subprocess.run([self.program, *words], stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()

    def flags_of(self, verb):
        if verb not in self.flags:
            text = self.run(verb, "--help") + "\n--color --version --help"
            self.flags[verb] = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
        return self.flags[verb]

    def check(self, line):
        """Findings on calls of the program in a line."""
        for call in re.findall(r"(?<![\w./'-])touchstone ([a-z][a-z-]*)((?: [^|;&#`\n]*)?)", line):
            verb, rest = call
            if verb not in self.verbs:
                if "--" in rest:
                    yield f"touchstone {verb}: no such verb"
                continue
            bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", rest)
            for flag in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", bare):
                if flag not in self.flags_of(verb):
                    yield f"touchstone {verb} {flag}: no such option"


def lists_of(tree, known):
    """Pages, the kinds of lists they have, and the required names."""

    def found(path, pattern):
        with open(os.path.join(tree.source, path), encoding="utf-8") as file:
            return re.findall(pattern, file.read(), re.MULTILINE)

    def stems(folder, *ends):
        return {"`" + os.path.basename(p).split(".")[0] + "`" for p in tree.paths
                if p.startswith(folder + "/") and p.endswith(ends)}

    rooms = {"`" + "/".join(parts[:2] if len(parts) > 2 else parts[:1]) + "`"
             for parts in (p.split("/") for p in tree.paths if p.endswith((".cpp", ".h", ".py", ".js")))
             if parts[0] in ROOMS}
    yield "architecture.md", "module", found("CMakeLists.txt", r"touchstone_module\(\w+ ([^\s)]+)")
    yield "architecture.md or maintaining.md", "room", rooms
    yield "maintaining.md", "file of symbolic", stems("symbolic", ".h", ".cpp")
    yield "lazy.md", "switch", found("lib/device/config.h", r'\{Switch::\w+, "(\w+)"')
    yield "oracle.md", "profile", found("interp/oracle/profile.cpp", r'^ +(\w+)\.name = "\1"')
    members = found("interp/oracle/profile.cpp", r"kMembers = [^{]*\{([^}]*)\}")
    yield "oracle.md", "member of a profile", re.findall(r'"(\w+)"', members[0])
    yield "fuzz.md", "relation", found("fuzz/areas/areas.h", r"^///   ([a-z]+(?: [a-z]+)?)  +\S")
    yield "mutants.md", "table", stems("fuzz/mutants", ".txt")
    if known:
        yield "", "verb", {"touchstone " + verb for verb in known.verbs}


def main():
    source = os.path.abspath(sys.argv[1])
    known = Help(sys.argv[2]) if len(sys.argv) > 2 else None
    tree = Tree(source)
    texts = {}

    def read(path):
        if path not in texts:
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
        return texts[path]

    wrong, linked = [], set()
    pages = pages_of(source)
    for path in pages:
        text = read(path)
        findings, targets = check_links(path, text, read)
        if path == os.path.join(source, "docs", "README.md"):
            linked = targets
        spans = spans_of(text)
        for number, span in spans:
            what = check_span(span.strip(), tree)
            if what:
                findings.append((number, f"`{span}`: {what}"))
        if os.path.basename(path) in MAP:
            findings += check_places(text, tree)
        if known:
            _, inside = prose_of(text)
            for number, line in spans + inside:
                findings += [(number, what) for what in known.check(line)]
        wrong += [f"{os.path.relpath(path, source)}:{n}: {what}" for n, what in sorted(findings)]
    for path in pages[1:]:
        if path not in linked and os.path.basename(path) != "README.md" and os.path.dirname(path) != source:
            wrong.append(f"docs/README.md: no link to {os.path.relpath(path, source)}")
    with open(os.path.join(source, "CMakeLists.txt"), encoding="utf-8") as file:
        cmake = file.read()
    architecture = read(os.path.join(source, "docs", "architecture.md"))
    wrong += ["docs/architecture.md: " + what for what in check_modules(architecture, modules_of(cmake))]
    wrong += ["docs/architecture.md: " + what for what in check_rooms(architecture, rooms_of(source, cmake))]
    with open(os.path.join(source, "symbolic", "rules", "rules.cpp"), encoding="utf-8") as file:
        table = "".join(file.read().split())
    rows = re.findall(r'^ *\{"[\w.]+", "[^`]*?\},$', read(os.path.join(source, "docs", "maintaining.md")), re.MULTILINE)
    wrong += [] if rows else ["docs/maintaining.md: shows no row of a law"]
    for row in rows:
        if "".join(row.split()) not in table:
            wrong.append(f"docs/maintaining.md: no row {row.split(',')[0].strip()} as shown")
    for page, kind, names in lists_of(tree, known):
        text = "\n".join(read(p) for p in pages if not page or os.path.basename(p) in page.split(" or "))
        wrong += [f"docs/{page}: no {kind} {name}" for name in sorted(names)
                  if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    print("\n".join(wrong) if wrong else f"{len(pages)} pages, nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
