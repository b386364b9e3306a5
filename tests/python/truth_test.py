"""The reference equals exact arithmetic (truth.py), and numbers beside infinities are refused (special_rows.py): a few cases each."""
import os
import random

import pytest

import special_rows
import truth

COMMAND = os.environ["TOUCHSTONE_COMMAND"]


def test_single_operations_and_sums_are_exact(capsys):
    counts = truth.compare_bits(COMMAND, truth.questions(random.Random(1), 3)) | truth.compare_bits(COMMAND, truth.sums(random.Random(2), 2))
    assert sum(different for _, different in counts.values()) == 0, capsys.readouterr().out
    assert sum(compared for compared, _ in counts.values()) > 1000


def test_exact_results_of_functions_pass(capsys):
    pytest.importorskip("mpmath")
    counts = truth.compare_functions(random.Random(3), 10)
    assert all(row[2] == row[3] == 0 for row in counts.values()), capsys.readouterr().out


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("name", ["std", "var", "mean", "softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm", "group_norm", "linear", "attention", "cross_entropy", "conv1d", "matmul"])
def test_numbers_beside_infinities_are_refused(name, kind):
    number, missed, alarms = special_rows.compare(1, kind, name)
    assert number > 5 and not missed and not alarms
