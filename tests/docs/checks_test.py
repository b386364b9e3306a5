#!/usr/bin/env python3
"""The page checks find their mistakes, in a small tree with one of each kind."""

import os
import sys
import tempfile
import unittest

import commands
import pages


class Commands(unittest.TestCase):
    def test_dots_stand_for_anything_but_what_is_written_must_be_there(self):
        self.assertTrue(commands.matches(["a...c", "...", "z"], ["abc", "x", "y", "z"]))
        self.assertTrue(commands.matches(["..."], []))
        for wanted in (["a...c"], ["abc", "z"], ["abd", "..."], []):
            self.assertFalse(commands.matches(wanted, ["abc", "x"]))

    def test_a_page_that_says_something_else_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            text = "```python one.py\nprint(7)\n```\n```console\n$ python3 one.py\n7\n$ false\n$ echo $?\n%s\n```\n"
            for said, wrong in (("1", 0), ("0", 1)):
                with open(page, "w", encoding="utf-8") as file:
                    file.write(text % said)
                ran, found, mended = commands.run_page(page, sys.executable, folder)
                self.assertEqual((ran, len(found)), (3, wrong))
                self.assertEqual(mended, text % "1")


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for path, text in {
            "docs/README.md": "[a](a.md)",
            "docs/a.md": "# One, two\n\n## Sums <a name=\"sums\"></a>\n",
            "lib/base/file.h": "struct LineLog { int most_lines(); };  // --limit TOUCHSTONE_SEED",
            "tests/base/file_test.cpp": "TEST(File, IsWrittenWhole)",
        }.items():
            whole = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)
        self.tree = pages.Tree(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def test_names_of_the_tree_pass_and_others_do_not(self):
        good = ["lib/base/file.h", "file.h", "touchstone/base/file.h", "most_lines()", "LineLog",
                "File.IsWrittenWhole", "TOUCHSTONE_SEED", "--limit 3", "docs/a.md", "base_test",
                "x//4", "a word"]
        bad = ["lib/base/fil.h", "fil.h", "touchstone/base/fil.h", "least_lines", "LineLogs",
               "File.IsNotWritten", "TOUCHSTONE_NONE", "--no-limit", "docs/b.md", "b_test"]
        self.assertEqual([s for s in good if pages.check_span(s, self.tree)], [])
        self.assertEqual([s for s in bad if not pages.check_span(s, self.tree)], [])

    def test_links_and_anchors(self):
        def read(path):
            with open(path, encoding="utf-8") as file:
                return file.read()

        page = os.path.join(self.folder.name, "docs", "b.md")
        text = ("[1](a.md) [2](a.md#one-two) [3](a.md#sums) [4](https://x.org/y) `[5](no.md)`\n"
                "```\n[6](no.md)\n```\n[7](no.md) [8](a.md#three)\n")
        wrong, _ = pages.check_links(page, text, read)
        self.assertEqual([what for _, what in wrong],
                         ["link to no.md: no such file", "link to a.md#three: no such heading"])

    def test_a_span_may_go_over_the_end_of_a_line(self):
        self.assertEqual(pages.spans_of("a `b\nc` d\n\ne `f` g ``h`i``"),
                         [(1, "b c"), (4, "f"), (4, "h`i")])

    def test_what_is_said_to_be_in_a_file_is_there(self):
        text = ("`most_lines` (`lib/base/file.h`), `LineLog::most_lines()` in\n`lib/base/file.h`\n"
                "```\n`none` (`lib/base/file.h`)\n```\n`LineLog`, `none` (`lib/base/file.h`; more)\n")
        self.assertEqual(list(pages.check_places(text, self.tree)), [(6, "`none`: not in lib/base/file.h")])

    def test_the_table_of_modules_has_the_links_of_the_build(self):
        modules = pages.modules_of("touchstone_module(base lib/base LINK fmt)\n"
                                   "touchstone_module(view view DEPENDS base)\n"
                                   "touchstone_module(view_merge view ROOMS merge more DEPENDS view\n  base LINK z)")
        self.assertEqual(modules, {"lib/base": set(), "view": {"lib/base"}, "view/merge": {"view", "lib/base"}})
        rows = "| `lib/base` | | errors |\n| `view` | `lib/base` | views |\n| `view/merge` | `%s`, `view` | fewer |\n"
        self.assertEqual(list(pages.check_modules(rows % "lib/base", modules)), [])
        self.assertEqual(list(pages.check_modules(rows % "lib/none", modules)),
                         ["no row of the module `view/merge` that links lib/base, view"])


if __name__ == "__main__":
    unittest.main()
