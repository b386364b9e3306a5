#!/usr/bin/env python3
"""Weaving mutants into sources: the results, and refused tables.

usage: weave_test.py SOURCE_FOLDER COMPILER
"""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT, COMPILER = sys.argv[1:3]
WEAVE = os.path.join(ROOT, "fuzz", "mutants", "weave.py")

SOURCE = """#pragma once
namespace sample {
constexpr int half(int x) { return x / 2; }
inline int area(int width,
                int height) {
  int sum = 0;
  for (int i = 0; i < height; ++i)
    sum += width;
  return sum;
}
}
"""
TABLE = """# a comment
[half-rounds-up] symbolic/sample.h
half of an odd
number is rounded up
- return `x / 2`;
+ (x + 1) / 2

[area-one-row-less] symbolic/sample.h
the last row is left out
- `i < height`
+ i + 1 < height

[area-nothing-added] symbolic/sample.h
no row counts
- `sum
-   += width;`
+

[area-width-as-height] symbolic/sample.h
a row is as long as the column
- sum += `width`;
+ height
"""


class Weave(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for part in ("symbolic", "lib/base"):
            os.makedirs(os.path.join(self.folder.name, part))
        self.write("symbolic/sample.h", SOURCE)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def weave(self, table, *options):
        return subprocess.run(
            [sys.executable, WEAVE, "--root", self.folder.name, *options,
             self.write("rows.txt", table)], capture_output=True, text=True, check=False)

    def refuses(self, table, why):
        run = self.weave(table, "--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn(why, run.stderr)

    def test_a_table_that_fits(self):
        run = self.weave(TABLE, "--names")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.split(), ["half-rounds-up", "area-one-row-less",
                                              "area-nothing-added", "area-width-as-height"])

    def test_lines_keep_their_numbers(self):
        self.assertEqual(self.weave(TABLE, "--out", self.path("out")).returncode, 0)
        with open(self.path("out/symbolic/sample.h"), encoding="utf-8") as file:
            woven = file.read().splitlines()
        first = next(i for i, line in enumerate(woven) if line.startswith("#line 1 "))
        self.assertEqual(len(woven) - first - 1, len(SOURCE.splitlines()))

    def test_what_is_refused(self):
        row = "[one-two] symbolic/sample.h\nwrong\n- "
        self.refuses(row + "`y / 2`\n+ x\n", "does not hold its text")
        self.refuses(row + "`int`\n+ x\n", "more than once")
        self.refuses(row + "`x / 2`\n", "needs a line with - and one with +")
        self.refuses(row + "`x` / `2`\n+ x\n", "one pair of backticks")
        self.refuses(row + "`x / 2`\n+ x // 2\n", "no comments")
        self.refuses(row + "i `< height`\n+ <= height\n", "without both its sides")
        self.refuses(row + "`return x /` 2\n+ return x *\n", "without both its sides")
        self.refuses("[one-two] symbolic/sample.h\n- `x / 2`\n+ x\n", "says nowhere")
        self.refuses("[One] symbolic/sample.h\n", "expected [some-name]")
        self.refuses("[one-two] symbolic/none.h\nwrong\n- x\n+ y\n", "No such file")
        self.refuses("[one-two] cli/program/main.cpp\nwrong\n- x\n+ y\n", "cli/program/main.cpp")
        self.refuses(TABLE + TABLE, "two mutants half-rounds-up")
        self.refuses(TABLE + "[one-two] symbolic/sample.h\nwrong\n- `width; return sum`\n+ x\n",
                     "overlap")

    def test_a_raw_string_is_changed_whole_or_not_at_all(self):
        self.write("symbolic/raw.h", 'inline const char* kText = R"x(int half = "(1)";)x";\n')
        row = "[one-two] symbolic/raw.h\nwrong\n- "
        self.refuses(row + '`"(1)"`\n+ 2\n', "in a raw string")
        whole = self.weave(row + 'kText = `R"x(int half = "(1)";)x"`;\n+ "none"\n', "--check")
        self.assertEqual(whole.returncode, 0, whole.stderr)

    def test_some_may_be_stale(self):
        stale = TABLE + "[one-two] symbolic/sample.h\nwrong\n- `y / 2`\n+ x\n"
        run = self.weave(stale, "--check", "--most-stale", "1")
        self.assertEqual(run.returncode, 0)
        self.assertIn("one-two", run.stderr)

    def test_one_at_a_time(self):
        self.assertEqual(self.weave(TABLE, "--out", self.path("out")).returncode, 0)
        os.makedirs(self.path("include/touchstone"))
        for module, folder in (("base", os.path.join(ROOT, "lib", "base")),
                               ("sample", self.path("out/symbolic"))):
            os.symlink(folder, self.path(f"include/touchstone/{module}"))
        table = self.path("out/lib/base/mutant_table.inc")
        main = self.write("main.cpp", """
#include <cstdio>
#include <cstring>
#include <exception>
#include "touchstone/base/mutant.h"
#ifdef TOUCHSTONE_MUTANTS
#include "touchstone/sample/sample.h"
static_assert(sample::half(3) == 1);
int main() {
  int half = sample::half(3), area = sample::area(5, 3);
  std::printf("%d %d %d %zu", half, area, touchstone::mutant_reached(), touchstone::mutants().size());
}
#else
int main() {
  try { touchstone::select_mutant("half-rounds-up"); } catch (const std::exception& e) {
    std::printf("%zu %d", touchstone::mutants().size(), std::strstr(e.what(), "contains none") != nullptr);
  }
}
#endif
""")
        with open(os.path.join(ROOT, "lib/base/mutant.cpp"), encoding="utf-8") as file:
            source = self.write("mutant.cpp", file.read().replace(
                '"mutant_table.inc"', f'"{table}"'))
        suggest = os.path.join(ROOT, "lib/base/suggest.cpp")
        for flags, name in (["-DTOUCHSTONE_MUTANTS"], "with"), ([], "without"):
            built = subprocess.run(
                [COMPILER, "-std=c++20", "-O0", *flags, "-I", self.path("include"), main, source,
                 suggest, "-lfmt", "-o", self.path(name)], capture_output=True, text=True, check=False)
            self.assertEqual(built.returncode, 0, built.stderr)
        run = lambda name, mutant="": subprocess.run(
            [self.path(name)], env={**os.environ, "TOUCHSTONE_MUTANT": mutant},
            capture_output=True, text=True, check=False)
        for mutant, said in (("", "1 15 0 4"), ("half-rounds-up", "2 15 1 4"),
                             ("area-one-row-less", "1 10 1 4"), ("area-nothing-added", "1 0 1 4"),
                             ("area-width-as-height", "1 9 1 4")):
            self.assertEqual(run("with", mutant).stdout, said, mutant)
        wrong = run("with", "half-rounds-down")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("half-rounds-up", wrong.stderr)
        self.assertEqual(run("without").stdout, "0 1")
        with open(self.path("without"), "rb") as file:
            self.assertNotIn(b"area-one-row-less", file.read())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
