"""Shared by backends in Python: the line protocol of docs/backends.md, and views as index arrays."""
import base64
import json
import sys

import numpy as np


class Unsupported(Exception):
    """A kernel that the backend does not support."""


def flat_indices(views):
    """The buffer index of each element of a stack of views, and which elements are valid.

    views[-1] is the outermost; both arrays have its shape."""
    shape = views[-1]["shape"]
    at = np.arange(int(np.prod(shape, dtype=np.int64)))
    valid = np.ones(at.shape, dtype=bool)
    for view in reversed(views):
        index = np.unravel_index(at, view["shape"]) if view["shape"] else ()
        at = np.full(at.shape, view["offset"])
        for i, stride in zip(index, view["strides"]):
            at = at + i * stride
        for i, (begin, end) in zip(index, view["mask"] or []):
            valid = valid & (i >= begin) & (i < end)
        at = np.where(valid, at, 0)
    return at.reshape(shape), valid.reshape(shape)


def constant(node):
    """The value of a CONST as a Python number."""
    text = node["arg"]["value"]
    if node["dtype"] == "bool":
        return text in ("true", "1")
    return float(text) if "float" in node["dtype"] else int(text)


def answer(question, hello, run):
    if "touchstone_backend" in question:
        return {"touchstone_backend": 1, **hello}
    try:
        inputs = [base64.b64decode(a["base64"]) for a in question["inputs"]]
        more = [question["program"]] if "program" in question else []  # where the greeting has "programs"
        output = run(question["kernel"], [a["dtype"] for a in question["inputs"]], inputs, *more)
        return {"id": question["id"], "output": base64.b64encode(output).decode()}
    except (Unsupported, IndexError) as why:  # IndexError: of a checked position
        return {"id": question["id"], "unsupported": str(why)}


# .npy names of types that NumPy lacks.
RAW = {"bfloat16": "<V2", "float8_e4m3": [("float8_e4m3", "u1")],
       "float8_e5m2": [("float8_e5m2", "u1")]}


def inputs_of(folder, kernel):
    """The inputs written by `touchstone emit`, in order: bytes, type, shape."""
    arrays = []
    for buffer in sorted(kernel["buffers"], key=lambda b: b["idx"]):
        if buffer["idx"] == 0:
            continue
        array = np.load(folder / f"in{buffer['idx']}.npy")
        arrays.append((np.ascontiguousarray(array).tobytes(), buffer["dtype"], array.shape))
    return arrays


def write_output(path, kernel, output):
    """Writes the bytes of a kernel's output as .npy, in the kernel's shape."""
    store = kernel["nodes"][-1]
    dtype = np.dtype(RAW.get(store["dtype"], store["dtype"]))
    shape = store["arg"]["views"][-1]["shape"]
    np.save(path, np.frombuffer(output, dtype).reshape(shape))


def serve(hello, run):
    """Answers until the input ends. run(kernel, dtypes, inputs as bytes[, program]) returns the output's bytes."""
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), hello, run)), flush=True)
