"""Definitions beside NumPy, and PyTorch where it is installed (beside.py)."""
import os
import pathlib
import re
import sys

import pytest

from touchstone import testing
from touchstone.kernel import definitions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import beside

DRAWS = max(2, int(os.environ.get("TOUCHSTONE_FUZZ_CASES", "0")) // 100)


def test_every_definition_is_compared_or_named():
    assert {*beside.NUMPY} | beside.WITHOUT == {*definitions} and not {*beside.NUMPY} & beside.WITHOUT


def test_the_page_and_help_list_every_definition():
    page = (pathlib.Path(__file__).parents[2] / "docs/define.md").read_text()
    listed = re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", page.split("## All names")[1].split("##")[0])))
    assert sorted(listed) == sorted(definitions)
    assert {*definitions} <= {*testing.__doc__.split()}


def test_results_of_numpy_are_legal():
    assert beside.compare(beside.NUMPY, DRAWS) == {}


def test_results_of_pytorch_are_legal():
    pytest.importorskip("torch")
    from beside_torch import KNOWN, TORCH
    found = beside.compare(TORCH, DRAWS)
    assert {name: why for name, why in found.items() if name not in KNOWN} == {}
