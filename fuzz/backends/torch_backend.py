"""PyTorch on the CPU as a backend of Touchstone, over the line protocol of docs/backends.md.

touchstone judge --backend '/usr/bin/python3 fuzz/backends/torch_backend.py'
"""
import torch
import torch.nn.functional as F

from line_protocol import Unsupported, constant, flat_indices, serve

# PyTorch's out-of-range float to integer casts are undefined, as in C; its maximum of zeros may be
# either.
PROFILE = {"name": "torch", "base": "glibc", "casts_saturate": False, "zeros_alike": True}

OPS = {
    "NOOP": lambda x: x, "EXP2": torch.exp2, "LOG2": torch.log2, "SIN": torch.sin,
    "SQRT": torch.sqrt, "RECIP": torch.reciprocal,
    "NEG": lambda x: ~x if x.dtype == torch.bool else torch.neg(x),
    "ADD": torch.add, "MUL": torch.mul, "MAX": torch.maximum, "MOD": torch.fmod,
    "DIV": lambda a, b: torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc"),
    "SUB": lambda a, b: a ^ b if a.dtype == torch.bool else torch.sub(a, b),
    "CMPLT": torch.lt, "CMPEQ": torch.eq, "XOR": torch.bitwise_xor,
    "MULACC": lambda a, b, c: torch.addcmul(c, a, b), "WHERE": torch.where,
}


def dtype_of(name):
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Unsupported(f"PyTorch has no {name}")
    return dtype


def looked_up(flat, views):
    at, valid = flat_indices(views)
    if at.size == 0:
        return flat[:0].reshape(at.shape)
    shown = flat[torch.from_numpy(at.reshape(-1))].reshape(at.shape)
    return shown.masked_fill(torch.from_numpy(~valid), 0)


def evaluate(node, src, buffers):
    dtype, arg = dtype_of(node["dtype"]), node.get("arg")
    if node["op"] == "LOAD":
        return looked_up(buffers[arg["buffer"]], arg["views"])
    if node["op"] == "CONST":
        return looked_up(torch.tensor([constant(node)], dtype=dtype), arg["views"])
    if node["op"] == "CAST":
        return src[0].view(dtype) if arg["bitcast"] else src[0].to(dtype)
    if node["op"] in ("REDUCE_SUM", "REDUCE_MAX") and not arg["axes"]:  # PyTorch: no axes, all axes
        return src[0]
    if node["op"] == "REDUCE_SUM":
        return torch.sum(src[0], dim=arg["axes"], keepdim=True, dtype=dtype_of(arg["accumulator"]))
    if node["op"] == "REDUCE_MAX":
        return torch.amax(src[0], dim=arg["axes"], keepdim=True)
    if node["op"] == "FUNCTION":
        name = arg["function"]
        if name in ("gelu", "gelu_tanh"):
            return F.gelu(*src, approximate="tanh" if name == "gelu_tanh" else "none")
        function = getattr(torch, name, None) or getattr(F, name, None)
        if function is not None:
            return function(*src)
    if node["op"] not in OPS:
        raise Unsupported(f"no {node['op']} here")
    return OPS[node["op"]](*src)


def run(kernel, dtypes, inputs):
    buffers = [None]
    for name, data in zip(dtypes, inputs):
        dtype = dtype_of(name)
        empty = torch.empty(0, dtype=dtype)
        buffers.append(torch.frombuffer(bytearray(data), dtype=dtype) if data else empty)
    values = []
    try:
        for node in kernel["nodes"][:-1]:
            value = evaluate(node, [values[i] for i in node["src"]], buffers)
            values.append(value.to(dtype_of(node["dtype"])))
    except (RuntimeError, TypeError) as why:  # no such operation of this type, or an int divided by 0
        raise Unsupported(f"PyTorch refuses: {str(why).splitlines()[0]}") from None
    store = kernel["nodes"][-1]
    at, _ = flat_indices(store["arg"]["views"])
    output = torch.empty(at.size, dtype=values[-1].dtype)
    output[torch.from_numpy(at.reshape(-1))] = values[store["src"][0]].reshape(-1)
    return output.view(torch.uint8).numpy().tobytes()


torch.set_num_threads(1)
serve({"name": "torch", "version": torch.__version__, "profile": PROFILE}, run)
