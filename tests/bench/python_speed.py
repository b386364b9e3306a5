"""The cost of Python compared with C++: PYTHONPATH=build/release/python /usr/bin/python3 tests/bench/python_speed.py [COMMAND]

COMMAND, build/release/cli/touchstone, is timed beside check() on the same files.
"""
import pathlib
import subprocess
import sys
import tempfile
import time
import timeit

import numpy as np

from touchstone import kernel
from touchstone.symbolic import Session, Variable, simplify


def microseconds(f, number=20000, repeat=7):
    return min(timeit.repeat(f, number=number, repeat=repeat)) / number * 1e6


def milliseconds(f, repeat=9):
    return min(timeit.repeat(f, number=1, repeat=repeat)) * 1e3


def row(what, amount, unit):
    print(f"{what:48} {amount:8.2f} {unit}")


a, b = Variable("a", 0, 10), Variable("b", 0, 3)
e, condition, session = a*8 + b, a < 3, Session()
known = {"a": (0, 10), "b": (0, 3)}
fresh = (f"(a*4 + b + {i})//4" for i in range(10**9))
row("a + b", microseconds(lambda: a + b), "us")
row("a + 1", microseconds(lambda: a + 1), "us")
row("simplify(a*8 + b, assume=[a < 3])", microseconds(lambda: simplify(e, [condition])), "us")
row("Session.simplify, a text from before", microseconds(lambda: session.simplify("(a*4 + b)//4", known)), "us")
row("Session.simplify, a new text", microseconds(lambda: session.simplify(next(fresh), known), 2000), "us")

code = "import time; t = time.perf_counter(); import touchstone.{}; print(time.perf_counter() - t)"
for module in ("symbolic", "testing"):
    took = min(float(subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True).stdout)
               for _ in range(9))
    row(f"import touchstone.{module}", took * 1e3, "ms")

x = np.random.default_rng(0).normal(size=10**6).astype("float32")
y = np.exp2(x)
exp2 = kernel.store(kernel.exp2(kernel.load(1, x.shape)))
row("check of 10^6 float32", milliseconds(lambda: kernel.check(exp2, [x], y)), "ms")
if len(sys.argv) > 1:
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        np.save(at / "x.npy", x)
        np.save(at / "y.npy", y)
        (at / "k.json").write_text(exp2.to_json())
        words = [sys.argv[1], "check", at / "k.json", "--in", at / "x.npy", "--out", at / "y.npy"]
        row("the command on the same files", milliseconds(lambda: subprocess.run(words, capture_output=True)), "ms")
