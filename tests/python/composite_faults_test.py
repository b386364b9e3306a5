"""Of the faults in composite_faults.py, some kernels' are seen."""
import os

import composite_faults


def test_faults_in_named_kernels_are_seen(capsys):
    pairs, on_normal, on_any, explained, false_alarms = composite_faults.measure(
        os.environ["TOUCHSTONE_COMMAND"], 1, ["softmax", "layer_norm", "matmul"])
    printed = capsys.readouterr().out
    assert false_alarms == 0, printed
    assert pairs > 80
    assert on_any >= 0.95 * pairs, printed
    assert explained >= 0.6 * on_any
