#!/usr/bin/env python3
"""The networks of training_bench, alternating with PyTorch, on one thread and on two; prints a table.

usage: peer.py BUILD [SECONDS of each]
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

TURNS = 2


def best_ms(run, seconds):
    for _ in range(3):
        run()
    best, begin = float("inf"), time.perf_counter()
    while (start := time.perf_counter()) - begin < seconds:
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        return self.out(F.max_pool2d(F.relu(self.second(x)), 2).flatten(1))


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outer) for _ in range(3 if inner != outer else 2))
        self.shortcut = nn.Conv2d(inner, outer, 1, stride, bias=False) if inner != outer else None

    def forward(self, x):
        y = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(y + (self.norms[2](self.shortcut(x)) if self.shortcut else x))


class ResNet18(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        blocks, inner = [], width
        for stage in range(4):
            for i in range(2):
                blocks.append(Block(inner, width << stage, 2 if stage and not i else 1))
                inner = width << stage
        self.blocks, self.out = nn.Sequential(*blocks), nn.Linear(inner, 10)

    def forward(self, x):
        return self.out(self.blocks(F.relu(self.norm(self.stem(x)))).mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.query, self.key, self.value, self.merge = (nn.Linear(width, width) for _ in range(4))
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, width = x.shape
        y = self.norms[0](x)
        q, k, v = (f(y).view(n, t, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(2, 3) * (width // self.heads) ** -0.5
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        x = x + self.merge((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, width))
        return x + self.narrow(F.gelu(self.widen(self.norms[1](x))))


class Gpt(nn.Module):
    def __init__(self, width=128, heads=4, layers=4, vocabulary=64, context=64):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.layers, self.last = nn.Sequential(*(Layer(width, heads) for _ in range(layers))), nn.LayerNorm(width)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        return F.linear(self.last(self.layers(x)), self.tokens.weight).flatten(0, 1)


def times(net, x, labels, seconds):
    sgd = torch.optim.SGD(net.parameters(), 1e-3)

    def step():
        sgd.zero_grad(set_to_none=True)
        F.cross_entropy(net(x), labels).backward()
        sgd.step()

    def answer():
        with torch.inference_mode():
            net(x)

    net.train()
    first = best_ms(step, seconds)
    net.eval()
    return {"step": first, "answer": best_ms(answer, seconds)}


def of_torch(threads, seconds):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    return [times(Digits(), torch.rand(32, 1, 8, 8), torch.randint(10, (32,)), seconds),
            times(ResNet18(16), torch.rand(16, 3, 32, 32), torch.randint(10, (16,)), seconds),
            times(Gpt(), torch.randint(64, (8, 64)), torch.randint(64, (512,)), seconds)]


def main():
    program = pathlib.Path(sys.argv[1]) / "tests" / "bench" / "training_bench"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    print(f"PyTorch {torch.__version__}\n")
    print("| network | | ms by 1 thread | by 2 |\n|---|---|---:|---:|")
    cells = {}
    for threads in (1, 2):
        for _ in range(TURNS):
            said = subprocess.run([program, str(seconds)], check=True, capture_output=True, text=True,
                                  env=dict(os.environ, TOUCHSTONE_THREADS=str(threads))).stdout
            for ours, theirs in zip(map(json.loads, said.splitlines()), of_torch(threads, seconds)):
                for what in ("step", "answer"):
                    row = cells.setdefault((ours["name"], what), {}).setdefault(threads, [float("inf")] * 2)
                    row[:] = min(row[0], ours[what]), min(row[1], theirs[what])
    for (name, what), by in cells.items():
        print(f"| {name} | {what} |", " | ".join(f"{by[t][0]:.3g} ({by[t][1] / by[t][0]:.2f})" for t in (1, 2)), "|")


main()
