"""Of the faults in composite_faults.py, some kernels' are seen."""
import os

import composite_faults
import numpy as np

from touchstone import kernel


def test_faults_in_named_kernels_are_seen(capsys):
    pairs, on_normal, on_any, explained, false_alarms = composite_faults.measure(
        os.environ["TOUCHSTONE_COMMAND"], 1, ["softmax", "layer_norm", "matmul"])
    printed = capsys.readouterr().out
    assert false_alarms == 0, printed
    assert pairs > 80
    assert on_any >= 0.95 * pairs, printed
    assert explained >= 0.6 * on_any


def test_narrow_steps_inside_attention_of_many_keys_are_suspicious():
    """Weights, scores and exponentials in float16, or sums of weights times v that are added in float16 by 256."""
    rng, keys = np.random.default_rng(1), 1024
    q, k, v = (rng.normal(0, 1, (rows, 64)).astype(np.float32) for rows in (8, keys, keys))
    def narrow(x): return x.astype(np.float16).astype(float)
    def shares(scores, exps=lambda e: e):
        e = exps(np.exp(scores - scores.max(-1, keepdims=True)))
        return e / e.sum(-1, keepdims=True)
    scores = q.astype(float) @ k.T / 8
    partial = 0
    for i in range(0, keys, 256):
        partial = narrow(partial + shares(scores)[:, i:i + 256] @ v[i:i + 256])
    made = kernel.Kernel.from_formula(f"attention(q[8,64], k[{keys},64], v[{keys},64])")
    def status(out): return kernel.check(made, [q, k, v], out.astype(np.float32)).status
    assert status(shares(scores) @ v) in ("PASS", "WEAK")
    for out in (narrow(shares(scores)) @ v, shares(narrow(scores)) @ v, shares(scores, narrow) @ v, partial):
        assert status(out) == "SUSPECT"
