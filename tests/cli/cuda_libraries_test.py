"""The adapter for GPU libraries and the league, here with NumPy instead of CuPy.

usage: cuda_libraries_test.py PROGRAM BACKENDS   (a folder); skipped without NumPy
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, BACKENDS = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:3]
PYTHON = next((p for p in (sys.executable, "/usr/bin/python3") if not subprocess.run(
    [p, "-c", "import numpy"], capture_output=True).returncode), None)


def run(*words, **more):
    return subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)


@unittest.skipIf(PYTHON is None, "NumPy is not there")
class Libraries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def adapter(self, *words, library="cupy"):
        return run(PYTHON, BACKENDS / "cuda_libraries.py", "--library", library, "--device", "cpu",
                   *words)

    def emit(self, *words):
        run(PROGRAM, "emit", self.folder / "suite", *words, check=True)
        return self.folder / "suite"

    def test_answers_a_suite_in_one_start(self):
        suite = self.emit("--ops", "sqrt,mod,reduce_sum", "--dtypes", "f32,i32,bf16", "-n", "100")
        said = self.adapter("--suite", suite, "--out", "theirs.npy")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("numpy has no bfloat16", said.stdout)
        done = len(list(suite.glob("*/theirs.npy")))
        self.assertIn(f"{done} of {len(list(suite.iterdir()))} outputs by numpy", said.stdout)
        for case in suite.iterdir():
            if not (case / "theirs.npy").exists():
                self.assertIn("bfloat16", case.name)
        judged = run(PROGRAM, "judge", suite, "--out", "theirs.npy", "--json")
        verdicts = {}
        for line in judged.stdout.splitlines():
            line = json.loads(line)
            if "bfloat16" not in line["case"]:
                verdicts[line["case"]] = line["verdict"]
        self.assertLessEqual(set(verdicts.values()), {"PASS", "WEAK"}, verdicts)
        self.assertIn("sqrt-float32-edges", verdicts)

    def test_a_call_in_the_words_of_the_library(self):
        suite = self.emit("--op", "matmul(a[5,7], b[7,3])")
        words = ("--suite", suite, "--shapes", "[[5,7],[7,3]]", "--call")
        self.adapter(*words, "x1 @ x2", "--out", "right.npy")
        self.adapter(*words, "x1 @ x2 * 1.001", "--out", "wrong.npy")
        self.assertEqual(run(PROGRAM, "judge", suite, "--out", "right.npy").returncode, 0)
        self.assertEqual(run(PROGRAM, "judge", suite, "--out", "wrong.npy").returncode, 1)

    def test_speaks_the_line_protocol(self):
        command = (f"{PYTHON} {BACKENDS}/cuda_libraries.py --library cupy --device cpu "
                   "--profile '{\"base\": \"cuda\", \"zeros_alike\": true, \"ulp\": {\"sin\": 3}}'")
        judged = run(PROGRAM, "judge", "--backend", command, "--ops", "sqrt,max,cmplt", "--dtypes",
                     "f64,i16")
        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
        self.assertIn(" on numpy under profile its own: exp2 within 2 ULP, ", judged.stdout)

    def test_the_league_is_one_command(self):
        said = run(PYTHON, BACKENDS / "cuda_league.py", "--touchstone", PROGRAM, "--device", "cpu",
                   "--libraries", "cupy", "--work", self.folder / "league", "--only",
                   "matmul,ops,10^3", "--elements", "60")
        self.assertEqual(said.returncode, 0, said.stderr)
        for row in ("matmul", "sqrt", "sum of 10^3"):
            self.assertRegex(said.stdout, rf"(?m)^\| {row.replace('^', '.')} \|.*\| legal \|$")
        self.assertIn("left out: cupy matmul: 9 times numpy has no bfloat16", said.stdout)

    def test_profiles_and_limits_are_well_formed(self):
        suite = self.emit("--ops", "exp2", "--dtypes", "f32", "-n", "50")
        self.adapter("--suite", suite)
        for profile in sorted((BACKENDS / "profiles").glob("*.json")):
            judged = run(PROGRAM, "judge", suite, "--profile", profile)
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
            self.assertTrue(json.loads(profile.read_text())["source"])
        limits = json.loads((BACKENDS / "cuda_limits.json").read_text())
        outputs = bytes(4)  # 0 is right for sin(0) and its like; what counts is that words are read
        for row in limits["functions"]:
            self.assertIn(row["source"], limits["sources"])
            words = [word for limit in row["limits"] for word in ("--limit", limit)]
            said = subprocess.run([PROGRAM, "certify", row["op"], "f32", "--outputs", "-", "--from",
                                   "0", "--to", "1", *words], input=outputs, capture_output=True)
            self.assertIn(said.returncode, (0, 1), said.stderr)


if __name__ == "__main__":
    unittest.main()
