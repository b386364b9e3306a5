"""In a sanitizer build, a read past the end of an array is caught in the library and in the bindings."""
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif("asan" not in os.environ.get("LD_PRELOAD", ""), reason="no sanitizer is loaded")

LIE = """
import numpy as np
from touchstone import kernel as k
class Lie:
    array = np.ones(1000, "f4")
    __array_interface__ = {**array.__array_interface__, "shape": (2000,), "strides": STRIDES}
print(k.eval(k.store(k.load(1, (2000,)) * 3.0), Lie()))
"""


@pytest.mark.parametrize("strides, place", [("None", "library"), ("(-4,)", "bindings")])
def test_what_is_read_past_the_end_is_caught(strides, place):
    run = subprocess.run([sys.executable, "-B", "-c", LIE.replace("STRIDES", strides)], capture_output=True, text=True)
    assert run.returncode != 0 and "AddressSanitizer: heap-buffer-overflow" in run.stderr and "_core" in run.stderr, place
