"""check-index beside all points of small boxes."""
import itertools
import os
import random
import re
import subprocess

import pytest

COMMAND = os.environ.get("TOUCHSTONE_COMMAND", "touchstone")
ALONE = {**os.environ, "LD_PRELOAD": ""}  # the command may have a sanitizer of its own
RANGES = {"t": (0, 63), "r": (0, 5)}


def drawn(rng):
    """An index of t and r, with floor division, and its parts."""
    def number(depth):
        if depth == 0:
            return rng.choice(["t", "t", "r", str(rng.choice([1, 2, 3, 4, 8, 33]))])
        a = number(depth - 1)
        kind = rng.randrange(5)
        if kind < 2:
            return f"({a} + {number(depth - 1)})"
        if kind == 2:
            return f"({a}*{rng.choice([1, 2, 4, 8, 33, 40])})"
        return f"({a}{rng.choice(['//', '%'])}{rng.choice([2, 4, 8, 32])})"
    return number(3)


def parts(text):
    """All parts in parentheses, the whole, and nothing else: names and numbers are small."""
    found, open_at = [text], []
    for i, c in enumerate(text):
        if c == "(":
            open_at.append(i)
        elif c == ")":
            found.append(text[open_at.pop():i + 1])
    return found


def points(guard):
    for t, r in itertools.product(range(64), range(6)):
        if eval(guard, {}, {"t": t, "r": r}):
            yield {"t": t, "r": r}


def run(*words):
    done = subprocess.run([COMMAND, "check-index", *words], capture_output=True, text=True, timeout=60, env=ALONE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("index", range(40))
def test_a_drawn_index(index):
    rng = random.Random(f"check-index {index}")
    text, guard, size = drawn(rng), rng.choice(["t >= 0", "t < 40", "t + r < 50"]), rng.choice([64, 100, 400])
    bytes_of = rng.choice([1, 2, 4, 8])
    code, out = run(text, "--var", "t=0..63", "--var", "r=0..5", "--assume", guard, "--type", "int8", "--size", str(size),
                    "--image", "--same", f"{text} + (t == 60)*r", "--vector", "t", "--lane", "t", "--bytes", str(bytes_of))
    code_of = {part: compile(part, "index", "eval") for part in parts(text)}
    value = {part: [eval(c, {}, p) for p in points(guard)] for part, c in code_of.items()}
    fits = all(-128 <= v <= 127 for values in value.values() for v in values)
    inside = all(0 <= v < size for v in value[text])
    assert re.search(r"^int8 +(yes|no)", out, re.M)[1] == ("yes" if fits else "no"), (text, out)
    assert re.search(r"^bounds +(yes|no)", out, re.M)[1] == ("yes" if inside else "no"), (text, out)
    same = not any(eval(guard, {}, {"t": 60, "r": r}) for r in range(1, 6))
    assert re.search(r"^same +(yes|no)", out, re.M)[1] == ("yes" if same else "no"), (text, out)
    distinct = len(set(value[text])) == len(value[text])
    assert re.search(r"^distinct +(yes|no)", out, re.M)[1] == ("yes" if distinct else "no"), (text, out)
    found = re.search(r"^image +(\d+) points, (\d+) indices from (-?\d+) to (-?\d+)(: a permutation)?$", out, re.M)
    assert [int(n) for n in found.groups()[:4]] == [len(value[text]), len(set(value[text])), min(value[text]),
                                                    max(value[text])]
    assert (found[5] is not None) == (sorted(value[text]) == list(range(len(value[text]))))
    assert code == (0 if fits and inside and same and distinct else 1)
    for part, shown, r, t in re.findall(r"^(?:int8|bounds) +no (.*) is (-?\d+) at r = (\d+), t = (\d+)", out, re.M):
        point = {"t": int(t), "r": int(r)}
        assert eval(part, {}, point) == int(shown) and eval(guard, {}, point), (text, out)

    def at(t, r):
        return eval(code_of[text], {}, {"t": t, "r": r})

    def allowed(t, r):
        return eval(guard, {}, {"t": t, "r": r})

    width = 1
    for w in (2, 4, 8, 16):
        good = all(at(t, r) % w == 0 and all(at(t + k, r) == at(t, r) + k for k in range(w))
                   for t in range(0, 64, w) for r in range(6) if allowed(t, r) and allowed(t + w - 1, r))
        if not good:
            break
        width = w
    assert int(re.search(r"^vector +(\d+)", out, re.M)[1]) == width, (text, guard, out)

    segments, conflicts = [], []
    for first, r in itertools.product((0, 32), range(6)):
        addresses = [at(t, r) * bytes_of for t in range(first, first + 32) if allowed(t, r)]
        if not addresses or not allowed(first, r):
            continue
        touched = {b // 32 for a in addresses for b in range(a, a + bytes_of)}
        words = {b // 4 for a in addresses for b in range(a, a + bytes_of)}
        segments.append(len(touched))
        conflicts.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
    for label, values in (("segments", segments), ("banks", conflicts)):
        most, least = re.search(rf"^{label} +at most (\d+).*at least (\d+)", out, re.M).groups()
        assert (int(most), int(least)) == (max(values), min(values)), (label, text, guard, out)


def test_wants_numbers_and_known_names():
    for words, why in [(["t", "--var", "t=0..3", "--size", "many"], "whole number"), (["t", "--type", "float"], "integer type"),
                       (["t", "--var", "t=0..3", "--lane", "u"], "no variable"), (["t +", "--var", "t=0..3"], "column")]:
        done = subprocess.run([COMMAND, "check-index", *words], capture_output=True, text=True, timeout=60, env=ALONE)
        assert done.returncode == 2 and why in done.stderr, (words, done.stdout, done.stderr)


@pytest.mark.parametrize("words, code, shown", [
    (["--from", "c", "x", "--assume", "(x >> 2) == 3", "--var", "x=0..100", "--same", "12 + (x & 3)"], 0, "same     yes"),
    (["--from", "c", "x | 1", "--var", "x=0..2147483647"], 0, "int32    yes"),
    (["--from", "c", "x < 2 ? x*1000000000 : 0", "--var", "x=0..9"], 0, "int32    yes"),
    (["where(x < 3, x*1000000000, 0)", "--var", "x=0..9"], 0, "int32    yes"),
    (["where(x < 4, x*1000000000, 0)", "--var", "x=0..9"], 1, "x*1000000000 is 3000000000 at x = 3"),
    (["--from", "cute", "(4,8):(1,4)", "--same", "(4,4):(1,4)"], 1, "another range"),
    (["t*2", "--var", "t=0..31", "--assume", "t >= 1", "--lane", "t"], 0, "at most 8 segments"),
    (["t*2", "--var", "t=1..40", "--lane", "t"], 0, "at most 8 segments of 32 bytes (at t = 0), at least 3"),
    (["i", "--var", "i=0..7", "--assume", "i < 6", "--vector", "i"], 0, "vector   4 along i"),
    (["--from", "c", "i", "--assume", "i < 250", "--size", "1000", "--var", "i=0..249"], 0, "not needed"),
    (["x//y", "--var", "x=0..3", "--var", "y=0..3"], 1, "divisor  no y is 0"),
])
def test_what_is_asked_is_answered(words, code, shown):
    got, out = run(*words)
    assert (got, shown in out) == (code, True), out
