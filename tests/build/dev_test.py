"""Runs ./dev in a folder with commands that only record their arguments.

usage: dev_test.py SOURCE
"""

import json
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
# The programs the script needs on every system.
PLAIN = ("sh", "dirname", "id", "cat", "cksum", "xargs", "sort", "uniq", "cut", "nproc", "head", "grep", "env", "mkdir",
         "sed", "printf", "awk", "tr", "seq", "rm", "wc")
TOOLS = ("c++", "cmake", "ninja", "git", "python3", "clang-format", "clang-tidy-19")


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.bin = os.path.join(self.root, "bin")
        self.log = os.path.join(self.root, "log")
        os.mkdir(self.bin)
        open(self.log, "w").close()
        shutil.copy(os.path.join(SOURCE, "dev"), self.root)
        for name in PLAIN:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))

    def fake(self, name, body=""):
        path = os.path.join(self.bin, name)
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\necho "{name} $*" >>"{self.log}"\n{body}\n')
        os.chmod(path, 0o755)

    def fakes(self, names):
        for name in names:
            self.fake(name)

    def dev(self, *words):
        run = subprocess.run(["./dev", *words], cwd=self.root, env={"PATH": self.bin}, text=True, capture_output=True)
        with open(self.log) as file:
            return run.returncode, run.stdout + run.stderr, file.read()

    def debian(self, state):
        self.fake("dpkg-query", f"echo {state}")
        self.fakes(("apt-get",) + TOOLS)

    def test_knows_the_presets_of_cmake(self):
        with open(os.path.join(SOURCE, "CMakePresets.json")) as file:
            presets = [p for p in json.load(file)["configurePresets"] if not p.get("hidden")]
        code, said, _ = self.dev("help")
        self.assertEqual(code, 0)
        listed = said.split("Presets: ")[1].split(".")[0].split()
        self.assertEqual(sorted(listed), sorted(p["name"] for p in presets))
        for p in presets:
            self.assertNotIn("no preset", self.dev("build", p["name"])[1])

    def test_refuses_an_unknown_preset_before_anything_is_installed(self):
        self.debian("not-installed")
        for words in (("build", "nosuch"), ("test", "nosuch"), ("test", "dev", "release"), ("nosuch",), ("package", "nosuch")):
            code, said, log = self.dev(*words)
            self.assertEqual((code, log), (2, ""), said)
            self.assertIn(f"'{words[-1]}'", said)

    def test_installs_what_is_missing_on_debian(self):
        self.debian("not-installed")
        if os.getuid() == 0:
            code, said, log = self.dev("format")
            self.assertIn("apt-get install", log, said)
            self.assertIn("clang-format", log)

    def test_goes_on_without_dpkg_where_the_tools_are_there(self):
        self.fakes(TOOLS)
        self.fake("cmake", "mkdir -p build/release")
        code, said, log = self.dev("build", "release")
        self.assertEqual(code, 0, said)
        self.assertIn("cmake --preset release", log)
        self.assertIn("cmake --build build/release", log)

    def test_builds_the_python_module_and_says_where_it_is(self):
        self.debian("installed")
        self.fake("cmake", "mkdir -p build/release")
        code, said, log = self.dev("build", "python")
        self.assertEqual(code, 0, said)
        self.assertIn("cmake --preset release -DTOUCHSTONE_PYTHON=ON", log)
        self.assertIn("cmake --build build/release --target touchstone_python\n", log)
        self.assertIn(f"PYTHONPATH={self.root}/build/release/python", said)

    def test_names_the_missing_tools_without_dpkg(self):
        self.fakes(t for t in TOOLS if t not in ("ninja", "cmake"))
        code, said, log = self.dev("build", "release")
        self.assertEqual((code, log), (2, ""))
        self.assertIn("please provide: cmake ninja\n", said)
        code, said, log = self.dev("doctor")
        self.assertEqual(code, 1)
        self.assertIn("  missing  ninja", said)
        self.assertIn("  ok       c++", said)

    def test_takes_turns_from_commit_to_commit(self):
        self.debian("installed")
        self.fakes(("ctest", "gcovr", "doxygen", "chromium"))
        self.fake("cmake", "mkdir -p build/clang build/lint build/tsan build/fuzz build/coverage build/dev build/playground\n"
                           "echo page > build/playground/touchstone.html")
        demo = os.path.join(self.root, "build/demo/cli")
        os.makedirs(demo)
        self.fake(os.path.join(demo, "touchstone-demo"))
        turns = []
        for commit in range(256, 263):
            self.fake("git", f'case $1 in rev-parse) echo {commit:07x}deadbeef ;; *) seq -f %g.cpp 64 ;; esac')
            open(self.log, "w").close()
            code, said, log = self.dev("turn")
            self.assertEqual(code, 0, said)
            turns.append(said.split("in turn: ")[1].split()[0])
            if turns[-1] == "lint":
                self.assertIn(f"cmake/lint.py build/lint --part {commit}/16", log)
            else:
                self.assertIn(f"--build build/{turns[-1]}", log)
        self.assertEqual(sorted(turns), ["clang", "coverage", "demo", "fuzz", "lint", "playground", "tsan"])

    def test_takes_a_turn_by_name(self):
        self.debian("installed")
        self.fake("cmake", "mkdir -p build/tsan")
        self.fake("ctest", "exit 3")
        self.assertEqual(self.dev("turn", "tsan")[0], 3)
        code, said, log = self.dev("turn", "nosuch")
        self.assertEqual(code, 2)
        self.assertIn("'nosuch' is not checked in turn; choose from: tsan", said)

    def test_format_fails_where_it_changed_a_file(self):
        self.debian("installed")
        for name in ("a b.h", "c.cpp", "d.cpp"):
            with open(os.path.join(self.root, name), "w") as file:
                file.write("int x;\n" if name == "c.cpp" else "int  x;\n")
        self.fake("git", "echo c.cpp; echo d.cpp")
        self.fake("clang-format", 'shift; for f; do sed -i "s/  / /" "$f"; done')
        code, said, _ = self.dev("format")
        self.assertEqual((code, said), (1, "dev: formatted: d.cpp\n"))
        self.assertEqual(self.dev("format")[:2], (0, ""))

    def test_lint_fails_where_the_linter_does(self):
        self.debian("installed")
        self.fake("python3", "exit 1")
        self.assertEqual(self.dev("lint", "a.cpp")[0], 1)
        self.fake("python3")
        self.assertEqual(self.dev("lint", "a.cpp")[0], 0)

    # cmake/lint.py merges a unity source's files, and reports places in the original files.
    def lint(self, *words):
        path = f"{self.bin}:{os.environ['PATH']}"
        run = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "cmake/lint.py"), "build/lint", *words],
                             cwd=self.root, env={**os.environ, "PATH": path}, text=True, capture_output=True)
        return run.returncode, run.stdout, run.stderr

    def unity(self):
        unity = os.path.join(self.root, "build/lint/CMakeFiles/m.dir/Unity/unity_0_cxx.cxx")
        os.makedirs(os.path.dirname(unity))
        for name, lines in (("a.cpp", 3), ("b.cpp", 5), ("c.cpp", 1)):
            with open(os.path.join(self.root, name), "w") as file:
                file.write("int x;\n" * lines)
        root = os.path.realpath(self.root)
        with open(unity, "w") as file:
            file.write("".join(f'#include "{root}/{name}.cpp"\n' for name in "ab"))
        entries = [{"directory": root, "file": file, "command": f"cache clang++-19 -DX -o o -c {file}"}
                   for file in (os.path.realpath(unity), f"{root}/c.cpp")]
        with open(os.path.join(self.root, "build/lint/compile_commands.json"), "w") as file:
            json.dump(entries, file)
        return root

    def test_lint_names_places_in_the_files_themselves(self):
        root = self.unity()
        self.fake("clang-tidy-19", 'for f; do case $f in */build/lint/lint/*.cpp) echo "$f:3:1: error: one"\n'
                                   'echo "$f:4:2: error: two"; echo "$f:8:1: error: three"; exit 1 ;; esac; done')
        code, out, _ = self.lint()
        self.assertEqual((code, out.splitlines()), (1, [f"{root}/a.cpp:3:1: error: one", f"{root}/b.cpp:1:2: error: two",
                                                        f"{root}/b.cpp:5:1: error: three"]))
        self.assertEqual(self.lint("--part", "1/2")[0], 0)  # c.cpp alone
        self.assertEqual(self.lint("--part", "2/2")[0], 1)

    def test_lint_takes_files_alone_where_asked_or_where_they_do_not_compile_together(self):
        root = self.unity()
        self.fake("clang-tidy-19", 'for f; do case $f in */build/lint/lint/*.cpp) echo "[clang-diagnostic-error]"; exit 1 ;;\n'
                                   '*/b.cpp) echo "$f:2:1: error: it"; exit 1 ;; esac; done')
        self.assertEqual(self.lint()[:2], (1, f"{root}/b.cpp:2:1: error: it\n"))
        self.assertEqual(self.lint("a.cpp")[:2], (0, ""))
        self.assertEqual(self.lint("b.cpp")[:2], (1, f"{root}/b.cpp:2:1: error: it\n"))
        with open(os.path.join(self.root, "d.cpp"), "w"):
            pass
        code, _, said = self.lint("d.cpp")
        self.assertEqual(code, 0)
        self.assertIn("compiled by no target here, left out: ", said)
        self.assertIn("there is no ", self.lint("e.cpp")[2])


if __name__ == "__main__":
    unittest.main()
