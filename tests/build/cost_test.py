"""The table of tests/build/cost.py.

usage: cost_test.py BUILD_FOLDER
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
COST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cost.py")


def cost(*words):
    return subprocess.run([sys.executable, "-B", COST, *words], capture_output=True, text=True)


class Cost(unittest.TestCase):
    def of_log(self, text, *words, costs=None):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, ".ninja_log"), "w") as log:
                log.write(text)
            if costs is not None:
                with open(os.path.join(folder, "costs.log"), "w") as log:
                    log.write(costs)
            return cost(folder, *words)

    def test_modules_and_steps_are_summed_the_dearest_first(self):
        rows = [
            (0, 1000, "CMakeFiles/touchstone_prove.dir/lib/prove/a.cpp.o", "a"),
            (0, 2000, "CMakeFiles/touchstone_prove.dir/Unity/unity_1_cxx.cxx.o", "b"),
            (500, 5000, "cli/CMakeFiles/touchstone.dir/main.cpp.o", "c"),
            (9000, 9250, "cli/touchstone", "d"),
            (100, 350, "libtouchstone_prove.a", "e"),
            (0, 500, "lib/libtouchstone.so.0.1", "f"),
            (0, 100, "reference/made", "g"),
            (0, 100, "reference/made.stamp", "h"),
            (50, 150, "reference/page.1", "i"),  # one step with two outputs
            (50, 150, "reference/page.2", "i"),
            (0, 60, "tests/build/CMakeFiles/layering_a.dir/layering_a.cpp.o", "j"),
            (0, 40, "tests/build/CMakeFiles/layering_b.dir/layering_b.cpp.o", "k"),
            (7000, 10000, "CMakeFiles/touchstone_prove.dir/lib/prove/a.cpp.o", "a2"),  # built again
        ]
        text = "# ninja log v5\n" + "".join(f"{b}\t{e}\t1\t{o}\t{h}\n" for b, e, o, h in rows)
        done = self.of_log(text + "77\t88", "2")  # a line that was cut
        self.assertEqual(done.stdout.splitlines(), [
            "time on the wall",
            " seconds  share  steps  module",
            "     5.0  45.9%      2  prove",
            "     4.5  41.3%      1  touchstone",
            "     1.3  11.9%      6  (links and the rest)",
            "     0.1   0.9%      2  layering",
            "    10.9 100.0%     11  all",
            "",
            " seconds  step",
            "     4.5  cli/CMakeFiles/touchstone.dir/main.cpp.o",
            "     3.0  CMakeFiles/touchstone_prove.dir/lib/prove/a.cpp.o",
        ])

    def test_processor_time_is_taken_where_it_was_noted(self):
        row = "0m0.5s 0m0.0s CMakeFiles/touchstone_prove.dir/a.cpp.o\n"
        costs = row + "1m2.250s 0m0.25s cli/CMakeFiles/touchstone.dir/main.cpp.o\nno row\n" + row.replace("0.5", "1.5")
        done = self.of_log("# ninja log v5\n0\t9\t1\tx\th\n", "1", costs=costs)
        self.assertEqual(done.stdout.splitlines(), [
            "processor time",
            " seconds  share  steps  module",
            "    62.5  97.7%      1  touchstone",
            "     1.5   2.3%      1  prove",
            "    64.0 100.0%      2  all",
            "",
            " seconds  step",
            "    62.5  cli/CMakeFiles/touchstone.dir/main.cpp.o",
        ])

    def test_what_is_no_log_is_named(self):
        self.assertIn("neither of the versions", self.of_log("hello\n").stderr)
        self.assertIn("build with ninja first", cost("/no/such/folder").stderr)
        self.assertEqual(cost().returncode, 1)
        self.assertIn(" 0  all", self.of_log("# ninja log v6\n").stdout)

    def test_the_dearest_of_this_build_are_named(self):
        if not os.path.exists(os.path.join(BUILD, ".ninja_log")):
            self.skipTest("not built by ninja")
        done = cost(BUILD)
        self.assertEqual(done.stderr, "")
        modules = re.findall(r"^ *([\d.]+) +[\d.]+% +\d+  (.+)$", done.stdout, re.M)
        seconds = [float(s) for s, _ in modules]
        self.assertEqual(seconds[:-1], sorted(seconds[:-1], reverse=True))
        self.assertAlmostEqual(sum(seconds[:-1]), seconds[-1], delta=0.06 * len(seconds))
        if "wall" in done.stdout:  # of all steps; the table has only steps compiled here
            self.assertLess({"touchstone", "symbolic", "interp", "all"}, {name for _, name in modules})
        print("\n" + done.stdout)


if __name__ == "__main__":
    unittest.main()
