#!/usr/bin/env python3
"""Plots the results of `peers_bench --json FILE`: a roofline of every row on one and two threads, and the rate over the
size of square matrix products.

usage: roofline.py FILE ROOFLINE.svg SIZES.svg
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 520, 70, 40, 20, 50
STYLE = """<style>
text { font: 12px sans-serif; fill: #222 } .axis { stroke: #222 } .grid { stroke: #ddd }
.one { stroke: #0072b2; fill: #0072b2 } .two { stroke: #d55e00; fill: #d55e00 } .peer { fill: none }
.roof { fill: none; stroke-width: 2 } .back { fill: #fff } .small { font-size: 10px }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .axis { stroke: #ddd } .grid { stroke: #444 } .back { fill: #111 }
  .one { stroke: #56b4e9; fill: #56b4e9 } .two { stroke: #e69f00; fill: #e69f00 } text.one, text.two { stroke: none }
}
text.one, text.two { stroke: none }
</style>"""


class Plot:
    """A plane of two logarithmic axes."""

    def __init__(self, title, x, y, x_label, y_label):
        self.x, self.y, self.parts, self.labels = x, y, [], []
        self.parts.append(f'<text x="{WIDTH / 2}" y="20" text-anchor="middle">{title}</text>')
        for low, high, draw in ((*x, self.upright), (*y, self.level)):
            for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1):
                draw(2.0 ** power)
        self.parts.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{x_label}</text>')
        self.parts.append(f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{y_label}</text>')

    def at_x(self, value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / self.x[0]) / math.log(self.x[1] / self.x[0])

    def at_y(self, value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / self.y[0]) / math.log(self.y[1] / self.y[0])

    def upright(self, value):
        at = self.at_x(value)
        self.parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                          f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:g}</text>')

    def level(self, value):
        at = self.at_y(value)
        self.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
                          f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:g}</text>')

    def line(self, kind, points):
        text = " ".join(f"{self.at_x(x):.1f},{self.at_y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind} roof" points="{text}"/>')

    def dot(self, kind, x, y, name, hollow=False):
        self.parts.append(f'<circle class="{kind}{" peer" if hollow else ""}" cx="{self.at_x(x):.1f}" '
                          f'cy="{self.at_y(y):.1f}" r="4"><title>{name}</title></circle>')

    def label(self, x, y, text, kind=""):
        """Omitted if it would overlap another one: each dot shows its name when pointed at."""
        left, base = self.at_x(x) + 6, self.at_y(y) - 5
        right = left + 6 * len(text)
        if any(abs(base - b) < 11 and left < r and l < right for l, r, b in self.labels):
            return
        self.labels.append((left, right, base))
        self.parts.append(f'<text class="small {kind}" x="{self.at_x(x) + 6:.1f}" y="{self.at_y(y) - 5:.1f}">{text}</text>')

    def write(self, path):
        with open(path, "w") as out:
            out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n{STYLE}\n'
                      f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def roofline(said):
    roofs, rows = said["roofs"], [r for r in said["rows"] if r["flops"] > 0]
    intensity = [r["flops"] / r["bytes"] for r in rows]
    x = 2.0 ** math.floor(math.log2(min(intensity)) - 1), 2.0 ** math.ceil(math.log2(max(intensity)) + 1)
    top = max(r["gflops"] for r in roofs) * 2
    y = 2.0 ** math.floor(math.log2(min(r["flops"] / r["ms"] * 1e-6 for r in rows))), top
    plot = Plot("CLANG beside what this machine can do as CLANG computes; hollow: the libraries, which fuse products", x, y,
                "floating-point operations for each byte that has to move", "GFLOP/s")
    for kind, roof in zip(("one", "two"), roofs):
        peak, rate = roof["gflops"], roof["gbytes"]
        ridge = peak / rate
        points = [(x[0], rate * x[0]), (ridge, peak), (x[1], peak)] if rate * x[0] >= y[0] else [
            (y[0] / rate, y[0]), (ridge, peak), (x[1], peak)]
        plot.line(kind, points)
        plot.label(ridge * 1.2, peak, f"{roof['threads']} thread{'s' * (roof['threads'] > 1)}: {peak:.0f} GFLOP/s, "
                   f"{rate:.0f} GB/s", kind)
    for row in rows:
        kind = "one" if row["threads"] == 1 else "two"
        at = row["flops"] / row["bytes"]
        if row["peer"] != "copy":
            plot.dot(kind, at, row["flops"] / row["peer_ms"] * 1e-6, f"{row['peer']}: {row['name']}", hollow=True)
        rate = row["flops"] / row["ms"] * 1e-6
        plot.dot(kind, at, rate, f"{row['name']}, {row['threads']} threads: {rate:.1f} GFLOP/s")
        if row["threads"] == 2:
            plot.label(at, rate, row["name"])
    return plot


def sizes(said):
    rows = [r for r in said["rows"] if r["name"].startswith("matmul ") and "x" not in r["name"][7:]]
    at = [float(r["name"][7:]) for r in rows]
    rates = [r["flops"] / r[key] * 1e-6 for r in rows for key in ("ms", "peer_ms")]
    plot = Plot("Square products of matrices of float32; hollow: OpenBLAS", (min(at) / 1.5, max(at) * 1.5),
                (min(rates) / 1.5, max(rates) * 1.5), "rows and columns", "GFLOP/s")
    for threads, kind in ((1, "one"), (2, "two")):
        mine = [(n, r) for n, r in zip(at, rows) if r["threads"] == threads]
        plot.line(kind, [(n, r["flops"] / r["ms"] * 1e-6) for n, r in mine])
        for n, r in mine:
            plot.dot(kind, n, r["flops"] / r["ms"] * 1e-6, f"{r['ms']:.3g} ms")
            plot.dot(kind, n, r["flops"] / r["peer_ms"] * 1e-6, f"OpenBLAS {r['peer_ms']:.3g} ms", hollow=True)
        plot.label(mine[-1][0] / 1.4, mine[-1][1]["flops"] / mine[-1][1]["ms"] * 1e-6 * 1.08,
                   f"{threads} thread{'s' * (threads > 1)}", kind)
    return plot


said = json.load(open(sys.argv[1]))
roofline(said).write(sys.argv[2])
sizes(said).write(sys.argv[3])
