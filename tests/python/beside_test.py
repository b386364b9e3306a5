"""Definitions beside NumPy, and PyTorch where it is installed (beside.py)."""
import os
import pathlib
import re
import sys

import pytest

from touchstone import testing
from touchstone.kernel import Kernel, definitions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import beside

DRAWS = max(2, int(os.environ.get("TOUCHSTONE_FUZZ_CASES", "0")) // 100)


def test_every_definition_is_compared_or_named():
    assert {*beside.NUMPY} | {*beside.WITHOUT} == {*definitions} and not {*beside.NUMPY} & {*beside.WITHOUT}


def test_the_page_and_help_list_every_definition():
    page = (pathlib.Path(__file__).parents[2] / "docs/define.md").read_text()
    listed = re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", page.split("## All names")[1].split("##")[0])))
    assert sorted(listed) == sorted(definitions)
    assert {*definitions} <= {*testing.__doc__.split()}


def test_results_of_numpy_are_legal():
    assert beside.compare(beside.NUMPY, DRAWS) == {}


def test_functions_of_numpy_in_their_own_type_are_legal():
    other = {name for name, row in beside.named("numpy", str(DRAWS), "float16").items() if row[2]}
    assert not other


def test_results_of_pytorch_are_legal():
    pytest.importorskip("torch")
    from beside_torch import KNOWN, TORCH
    found = beside.compare(TORCH, DRAWS)
    assert {name: why for name, why in found.items() if name not in KNOWN} == {}


@pytest.mark.parametrize("name", definitions)
def test_a_right_result_passes_and_one_wrong_element_does_not(name):
    assert beside.power_of(name)


SPELLED = """
topk(x[4,6], k=3); top_k(x[4,6], 2, largest=False); top_k_index(x[4,6], 3); max(x[4,6], dim=1, keepdim=True); argmax(x[4,6], dim=1)
cummax(x[4,6], dim=1); cummax_index(x[4,6], dim=1); sort(x[4,6], descending=True); argsort(x[4,6]:bool); prod(x[4,6], dim=1); cumprod(x[4,6], dim=1)
index_add(x[4,6], dim=0, index=i[4]:i64, source=u[4,6]); scatter(x[4,6], i[5,6]:i64, u[5,6], dim=0, reduce='max')
select_and_scatter(x[4,6], g[2,3], size=[2,2], stride=2); max_pool2d_index(x[1,2,7,7], 2, stride=2, ceil_mode=True)
avg_pool2d(x[1,2,7,7], 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False); interpolate(x[1,2,7,7], size=(5, 9), mode='bicubic', align_corners=True)
interpolate(x[1,2,7,7], size=(5, 9), mode='nearest-exact'); attention(q[2,3,4], k[2,5,4], v[2,5,3], m[3,5]:bool, dropout=d[2,3,5], empty=zero)
scaled_dot_product_attention(q[2,3,4], k[2,5,4], v[2,5,3], attn_mask=m[3,5], is_causal=True)
cross_entropy(x[2,5,3,2], t[2,3,2]:i64, label_smoothing=0.1, ignore_index=2, reduction='mean'); cross_entropy(x[5], t[]:i64); cross_entropy(x[4,6], t[4,6], w[6], label_smoothing=0.1)
rnn_cell(x[2,3], h[2,4], w[4,3], u[4,4]); lstm_cell(x[2,3], h[2,4], c[2,4], w[16,3], u[16,4]); gru_cell(x[7,2,3], h[7,2,4], w[12,3], u[12,4], linear_before_reset=0)
embedding_bag(t[7,3], i[4,2]:i64, mode='max'); quantize(x[4,6], s[], to=float8_e4m3); quantize(x[4,6], s[4], z[4]:i8, axis=0); dequantize(x[4,6]:i8, s[4,2], axis=1, block=3)
quantize(x[4,6], s[], z[]:e5m2); dequantize(x[4,6]:FLOAT8E4M3FN, s[4,2], block=3); dequantize_q4_0(q[1,18]:u8); dequantize_q8_0(q[1,34]:u8); fake_quantize(x[4,6], s[], z[]:int8); rope(x[2,3,6], c[3,3], s[3,3], interleaved=True)
complex_mul(x[3,2], y[3,2]); complex_abs(x[3,2]); complex_exp(x[3,2]); complex_matmul(x[4,3,2], y[3,4,2]); fft(x[8,2]); x[4]:bool + y[4]:bool; any(x[4]:bool)
"""
HINTS = {"complex_add(x[3,2], y[3,2])": "x + y", "RNN(x[2,3])": "rnn_cell", "LSTM(x[2,3])": "lstm_cell", "GRU(x[2,3])": "gru_cell", "scatter_add(x[3])": "scatter",
         "logical_and(x[3]:bool, y[3]:bool)": "bit_and"}


@pytest.mark.parametrize("formula", [f.strip() for f in SPELLED.replace("\n", ";").split(";") if f.strip()])
def test_names_and_arguments_of_libraries_are_understood(formula):
    assert Kernel.from_formula(formula).shape is not None


@pytest.mark.parametrize("formula", HINTS)
def test_other_names_are_errors_that_say_what_to_write(formula):
    with pytest.raises(Exception, match=f"write .*{re.escape(HINTS[formula])}"):
        Kernel.from_formula(formula)
