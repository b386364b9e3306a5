"""The workloads of spine_bench.cpp in NumPy: one JSON object, name to milliseconds."""
import json
import time

import numpy as np

rng = np.random.default_rng(1)


def uniform(*shape):
    return rng.random(shape, dtype=np.float32)


def best_ms(run, seconds=1.0):
    run()
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        run()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best * 1e3


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def conv2d(x, w):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, w[0].size)
    return columns @ w.reshape(w.shape[0], -1).T


n = 1 << 20
a, b, c = uniform(n), uniform(n), uniform(n)
big, square, p, q = uniform(1 << 22), uniform(1024, 1024), uniform(512, 512), uniform(512, 512)
image, weight = uniform(1, 64, 56, 56), uniform(64, 64, 3, 3)
workloads = {
    "add 2^20": lambda: a + b,
    "fused chain 2^20": lambda: np.square(np.maximum(a * b + c, 0) - a) * np.float32(0.5),
    "sum 2^22": lambda: big.sum(),
    "softmax 1024x1024": lambda: softmax(square),
    "matmul 512": lambda: p @ q,
    "conv2d 3x3 64x56x56": lambda: conv2d(image, weight),
}
print(json.dumps({name: best_ms(run) for name, run in workloads.items()}))
