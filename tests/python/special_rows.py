"""Rows with infinities, NaN, zeros, tiny and huge numbers: a number that no sound computation gives is refused.

    PYTHONPATH=build/dev/python python3 tests/python/special_rows.py [draws] [type] [a name]

For each definition that beside.py has, NumPy's result on such inputs must be legal, unless an input is huge: float64 does not
overflow where float32 does. With one element replaced by 42, -1e30 or 1e30 it must FAIL, or be WEAK: where NumPy gives NaN or
an infinity, and where it gives another number. Beside huge numbers only NaN counts, as a sum that cancels may err by as much as
its largest term.
"""
import collections
import sys

import numpy as np

from beside import F, NUMPY, OF_BITS, called, drawn, in_type, is_drawn, judged

ROWS = {
    "an infinity": [np.inf], "a negative one": [-np.inf], "both": [np.inf, -np.inf], "NaN": [np.nan], "infinity and NaN": [np.inf, np.nan], "a huge number": [3e38],
    "huge numbers": [3e38, -3e38, 2e38, 1.5e38], "zeros": 0.0, "subnormal": 1e-41,
}
WRONG = {"float16": (42.0, -3e4, 3e4)}
ANY = (42.0, -1e30, 1e30)
# Definitions that leave an element open, or replace what is not finite, and why.
OPEN = {}


def special(arguments, how, seed, kind):
    """The arguments with such numbers in each array of floats."""
    rng = np.random.default_rng(seed)
    numbers = np.asarray(ROWS[how])
    largest = {"float16": 6e4, "float64": 1.7e308}.get(kind, 3e38)
    def changed(v):
        if numbers.ndim == 0:
            return in_type(v * F(numbers if numbers == 0 or kind != "float16" else 1e-7), kind).astype(F)
        v = np.array(v, F if kind != "float64" else float)
        flat = v.reshape(-1)
        at = rng.choice(flat.size, min(flat.size, len(numbers)), replace=False)
        flat[at] = np.where(np.isfinite(numbers), numbers / 3e38 * largest, numbers)[:len(at)]
        return v
    return {n: changed(v) if is_drawn(v) and v.size else v for n, v in arguments.items()}


def wrong_elements(right, how, kind):
    """(place, number) of results that no sound computation gives."""
    flat = right.reshape(-1)
    places = [[i for i in range(flat.size) if chosen(flat[i])] for chosen in (np.isnan, np.isinf, np.isfinite)]
    for i in places[0][:2] + ([] if "huge" in how else places[1][:1] + places[2][:2]):
        for wrong in WRONG.get(kind, ANY):
            if not np.isfinite(flat[i]) or abs(wrong - flat[i]) > 2 * abs(flat[i]) + 1:
                yield i, wrong


def compare(draws, kind="float32", only=None):
    """(number of wrong results, {name: [that are not FAIL]}, {name: [right ones that FAIL]})"""
    number, missed, alarms = 0, collections.defaultdict(list), collections.defaultdict(list)
    with np.errstate(all="ignore"):
        for name, (draw, function) in NUMPY.items():
            if kind != "float32" and name in OF_BITS:
                continue
            for i, how in ((i, how) for i in range(draws if only in (None, name) else 0) for how in ROWS):
                arguments = special(drawn(draw, name, i, kind), how, [i, len(name)], kind)
                right = np.asarray(called(function, arguments))
                if right.dtype.kind != "f" or not right.size:
                    continue
                formula, verdict = judged(name, arguments, right, kind)
                if verdict.status == "FAIL":
                    if "huge" not in how:
                        alarms[name].append(f"{how}: {formula}: {verdict}")
                    continue
                right = in_type(right, kind)
                for at, other in wrong_elements(right, how, kind):
                    wrong = np.array(right, order="C")
                    wrong.reshape(-1)[at] = other
                    number += 1
                    verdict = judged(name, arguments, wrong, kind)[1]
                    if verdict.status not in ("FAIL", "WEAK"):
                        missed[name].append(f"{how}: {formula}: {other} for {right.reshape(-1)[at]}: {verdict}")
    return number, missed, alarms


def main(draws="3", kind="float32", only=None):
    number, missed, alarms = compare(int(draws), kind, only)
    for what, found in (("not refused", missed), ("refused", alarms)):
        for name, why in found.items():
            print(f"{name}: {len(why)} {what}; {why[0]}")
    print(f"{kind}: {number} wrong results, {sum(map(len, missed.values()))} not refused; {sum(map(len, alarms.values()))} right ones refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
