"""A few Triton kernels as its users write them, for cuda_league.py."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _pointwise(x, y, out, n, WHAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside)
    if WHAT == "add":
        c = a + b
    elif WHAT == "div":
        c = a / b
    elif WHAT == "max":
        c = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif WHAT == "exp2":
        c = tl.exp2(a.to(tl.float32)).to(a.dtype)
    elif WHAT == "sqrt":
        c = tl.sqrt(a.to(tl.float32)).to(a.dtype)
    else:
        c = libdevice.tanh(a.to(tl.float32)).to(a.dtype)
    tl.store(out + at, c, mask=inside)


def pointwise(what, x, y=None):
    out = torch.empty_like(x)
    n = x.numel()
    _pointwise[(triton.cdiv(n, 256),)](x, x if y is None else y, out, n, what, 256)
    return out


@triton.jit
def _softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    a = tl.load(x + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
    up = tl.exp(a - tl.max(a, axis=0))
    tl.store(out + row * columns + at, (up / tl.sum(up, axis=0)).to(x.dtype.element_ty),
             mask=inside)


def softmax(x):
    out = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
    return out


@triton.jit
def _matmul(a, b, out, m, n, k, PRECISION: tl.constexpr, SIDE: tl.constexpr, DEEP: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    deep = tl.arange(0, DEEP)
    total = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for begin in range(0, k, DEEP):
        at = begin + deep
        left = tl.load(a + rows[:, None] * k + at[None, :],
                       mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + columns[None, :],
                        mask=(at[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(a.dtype.element_ty),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


def matmul(a, b, precision):
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(a.shape[0], 32), triton.cdiv(b.shape[1], 32))
    _matmul[grid](a, b, out, a.shape[0], b.shape[1], a.shape[1], precision, 32, 32)
    return out
