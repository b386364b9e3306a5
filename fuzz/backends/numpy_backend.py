"""NumPy as a backend of Touchstone, over the line protocol of docs/backends.md.

touchstone judge --backend '/usr/bin/python3 fuzz/backends/numpy_backend.py'

It declares NumPy's known deviations, which NumPy does not specify (docs/measured/league.md);
with --strict only those of C.
"""
import sys

import numpy as np

from line_protocol import Unsupported, constant, flat_indices, serve

# NumPy's out-of-range float to integer casts are undefined, as in C. MAX of zeros gives either
# zero. AVX-512 code errs more than libm: LOG2 by 2 ULP, SIN by 3.
PROFILE = {"name": "numpy", "base": "glibc", "casts_saturate": False, "zeros_alike": True,
           "ulp": {"log2": 2, "sin": 3}}
if "--strict" in sys.argv[1:]:
    PROFILE = {"name": "numpy, strict", "base": "glibc", "casts_saturate": False}


def divide(a, b):
    if a.dtype.kind == "f":
        return np.divide(a, b)
    quotient = a // b  # rounds down
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0))).astype(a.dtype)


OPS = {
    "NOOP": lambda x: x, "EXP2": np.exp2, "LOG2": np.log2, "SIN": np.sin, "SQRT": np.sqrt,
    "RECIP": np.reciprocal,
    "NEG": lambda x: ~x if x.dtype == bool else np.negative(x),
    "ADD": np.add, "MUL": np.multiply, "DIV": divide, "MAX": np.maximum, "MOD": np.fmod,
    "SUB": lambda a, b: a ^ b if a.dtype == bool else np.subtract(a, b),
    "CMPLT": np.less, "CMPEQ": np.equal, "XOR": np.bitwise_xor,
    "MULACC": lambda a, b, c: a * b + c, "WHERE": np.where,
}


RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
           "atanh": "arctanh", "atan2": "arctan2", "pow": "power", "round": "rint"}


def dtype_of(name):
    try:
        return np.dtype(name)
    except TypeError:
        raise Unsupported(f"NumPy has no {name}") from None


def looked_up(flat, views):
    at, valid = flat_indices(views)
    out = np.zeros(at.shape, flat.dtype)  # masked elements may lie outside the buffer
    out[valid] = flat[at[valid]]
    return out


def gathered(flat, views, positions, checked):
    rows = views[-1]["shape"][0]
    if checked is not None:
        number, asked = flat_indices(checked)
        outside = asked & ((positions < 0) | (positions >= rows))
        if outside.any():
            first = np.min(number[outside])
            index = np.min(positions[outside & (number == first)])
            raise IndexError(
                f"index {index} (number {first} of the positions, from 0) is outside an axis of "
                f"{rows} elements; expected 0 to {rows - 1}"
            )
    if rows == 0:
        return np.zeros(positions.shape, flat.dtype)
    at, valid = flat_indices(views)
    inside = (positions >= 0) & (positions < rows)
    row = np.where(inside, positions, 0)[np.newaxis]
    at, valid = (np.take_along_axis(a, row, axis=0)[0] for a in (at, valid))
    valid = valid & inside
    out = np.zeros(positions.shape, flat.dtype)
    out[valid] = flat[at[valid]]
    return out


def lowest(dtype):
    if dtype.kind == "b":
        return False
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def evaluate(node, src, buffers):
    dtype, arg = dtype_of(node["dtype"]), node.get("arg")
    if node["op"] == "LOAD":
        return looked_up(buffers[arg["buffer"]], arg["views"])
    if node["op"] == "GATHER":
        return gathered(buffers[arg["buffer"]], arg["views"], src[0], arg.get("checked"))
    if node["op"] == "CONST":
        valid = flat_indices(arg["views"])[1]
        return np.where(valid, np.array(constant(node), dtype=dtype), dtype.type(0))
    if node["op"] == "CAST":
        return src[0].view(dtype) if arg["bitcast"] else src[0].astype(dtype)
    if node["op"] == "REDUCE_SUM":
        accumulator = dtype_of(arg["accumulator"])
        return np.sum(src[0], axis=tuple(arg["axes"]), keepdims=True, dtype=accumulator)
    if node["op"] == "REDUCE_MAX":
        return np.max(src[0], axis=tuple(arg["axes"]), keepdims=True, initial=lowest(dtype))
    if node["op"] == "FUNCTION" and hasattr(np, RENAMED.get(arg["function"], arg["function"])):
        return getattr(np, RENAMED.get(arg["function"], arg["function"]))(*src)
    if node["op"] not in OPS:
        raise Unsupported(f"no {node['op']} here")
    return OPS[node["op"]](*src)


def run(kernel, dtypes, inputs):
    buffers = [None] + [np.frombuffer(b, dtype_of(d)) for d, b in zip(dtypes, inputs)]
    values = []
    for node in kernel["nodes"][:-1]:
        value = evaluate(node, [values[i] for i in node["src"]], buffers)
        values.append(np.asarray(value, dtype=dtype_of(node["dtype"]), order="C"))
    store = kernel["nodes"][-1]
    at, _ = flat_indices(store["arg"]["views"])
    output = np.empty(values[-1].size, values[-1].dtype)
    output[at] = values[store["src"][0]].reshape(at.shape)
    return output.tobytes()


np.seterr(all="ignore")
serve({"name": "numpy", "version": np.__version__, "profile": PROFILE}, run)
