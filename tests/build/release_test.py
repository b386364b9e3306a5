"""All places that state the version of the project agree.

usage: release_test.py SOURCE VERSION
"""

import json
import os
import re
import sys
import unittest

VERSION = sys.argv.pop()
SOURCE = sys.argv.pop()


def text(path):
    with open(os.path.join(SOURCE, path)) as file:
        return file.read()


class Release(unittest.TestCase):
    def test_the_citation_is_of_this_version(self):
        self.assertEqual(re.findall(r"^version: (.*)$", text("CITATION.cff"), re.M), [VERSION])

    def test_changes_begin_with_what_is_not_released_and_then_this_version(self):
        titles = re.findall(r"^## (.*)$", text("CHANGELOG.md"), re.M)
        released = [t for t in titles if t != "Unreleased"]
        self.assertIn(titles.index(released[0]), (0, 1))
        self.assertRegex(released[0], rf"^{re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$")
        self.assertEqual(re.findall(r"^date-released: (.*)$", text("CITATION.cff"), re.M)[0], released[0][-11:-1])

    def test_packages_promise_no_later_version_and_the_soname_of_the_library(self):
        soversion = re.search(r"SOVERSION (\d+)", text("cmake/TouchstoneModule.cmake"))[1]
        self.assertIn(f"TOUCHSTONE_{soversion} {{", text("cmake/libtouchstone.map"))
        symbols = text("cmake/debian/symbols")
        self.assertTrue(symbols.startswith(f"libtouchstone.so.{soversion} libtouchstone{soversion} "))
        number = tuple(map(int, VERSION.split(".")))
        since = re.findall(r" ([\d.]+)$", symbols, re.M)
        self.assertTrue(since)
        for version in since:
            self.assertLessEqual(tuple(map(int, version.split("."))), number)
        self.assertEqual(text("cmake/debian/shlibs").split()[:3], ["libtouchstone", soversion, f"libtouchstone{soversion}"])
        self.assertEqual(text("cmake/debian/shlibs").split()[-1], f"{max(since)})")

    def test_what_is_installed_is_hardened(self):
        presets = {preset["name"]: preset for preset in json.loads(text("CMakePresets.json"))["configurePresets"]}
        release = presets["release"]["cacheVariables"]
        for flag in ["-D_FORTIFY_SOURCE=2", "-fstack-protector-strong"]:
            self.assertIn(flag, release["CMAKE_CXX_FLAGS_RELEASE"].split())
        for kind in ["EXE", "SHARED", "MODULE"]:
            self.assertEqual(release[f"CMAKE_{kind}_LINKER_FLAGS"], "-Wl,-z,relro,-z,now")


if __name__ == "__main__":
    unittest.main()
