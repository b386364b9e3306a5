"""The start of the command stays cheap, by counts instead of times.

usage: startup_test.py PROGRAM
"""

import os
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)

# Symbol lookups dominate start-up: a thousand take a third of a millisecond.
MOST_LOOKUPS = 9000
MOST_RELATIVE = 55000
MOST_LIBRARIES = 23


def told(**variables):
    return subprocess.run([PROGRAM, "--version"], env={**os.environ, **variables}, capture_output=True, text=True)


class Startup(unittest.TestCase):
    def test_the_linker_has_little_to_do(self):
        text = told(LD_DEBUG="statistics").stderr
        if "number of relocations" not in text:
            self.skipTest("the dynamic linker tells nothing")
        lookups = int(re.search(r"final number of relocations: (\d+)", text)[1])
        relative = int(re.search(r"number of relative relocations: (\d+)", text)[1])
        self.assertLess(lookups, MOST_LOOKUPS)
        self.assertLess(relative, MOST_RELATIVE)
        self.assertGreater(lookups, 100)

    def test_libraries_are_few_and_fit_for_every_verb(self):
        text = told(LD_TRACE_LOADED_OBJECTS="1").stdout
        names = re.findall(r"^\s*(?:\S*/)?(lib[\w+-]+?)(?:[-\d.]*)\.so", text, re.M)
        if not names:
            self.skipTest("the dynamic linker tells nothing")
        self.assertIn("libstdc++", names)
        self.assertLess(len(names), MOST_LIBRARIES, names)
        for heavy in "libLLVM", "libclang", "libssl", "libbrotli", "libpython", "libcurl", "libcpp-httplib", "libOpenCL":
            self.assertFalse([name for name in names if name.startswith(heavy)], names)


if __name__ == "__main__":
    unittest.main()
