"""The reference beside exact arithmetic: fractions of whole numbers, and mpmath at 300 bits where a result is no fraction.

    PYTHONPATH=build/dev/python python3 tests/python/truth.py --touchstone build/dev/cli/touchstone [--count N] [--seed S]

Compares `touchstone bits` for single operations of every type and for sums, and kernels of named functions, whose exact
results are then judged under the usual profile. Without mpmath (Debian's python3-mpmath) the functions are left out.
"""
import argparse
import collections
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

try:
    import mpmath
    mpmath.mp.prec = 300
except ImportError:
    mpmath = None

FLOATS = {  # digits, least and largest exponent of normal numbers, bits of the exponent
    "float64": (53, -1022, 1023, 11), "float32": (24, -126, 127, 8), "float16": (11, -14, 15, 5), "bfloat16": (8, -126, 127, 8),
    "float8_e5m2": (3, -14, 15, 5), "float8_e4m3": (4, -6, 8, 4),
}
INTEGERS = {f"{sign}int{n}": (n, not sign) for n in (8, 16, 32, 64) for sign in ("", "u")}
NANS = {"float64": 0x7ff8 << 48, "float32": 0x7fc00000, "float16": 0x7e00, "bfloat16": 0x7fc0, "float8_e5m2": 0x7e, "float8_e4m3": 0x7f}
INF, NAN = math.inf, math.nan


class Zero(Fraction):
    """A zero with a sign."""
    def __new__(cls, negative):
        self = super().__new__(cls, 0)
        self.negative = negative
        return self


def is_negative(x): return x.negative if isinstance(x, Zero) else x < 0
def finite(x): return isinstance(x, Fraction)
def zero(negative=False): return Zero(bool(negative))


def bits_of(kind, x):
    """The bits of an exact number, an infinity or NaN, rounded once to a type; "nan"."""
    digits, least, most, field = FLOATS[kind]
    sign = 1 << (digits - 1 + field)
    top = (((1 << field) - 1) << (digits - 1)) if kind != "float8_e4m3" else 0x7e  # infinity, or the largest number
    if not finite(x):
        return "nan" if x != x else top | (sign if x < 0 else 0)
    if x == 0:
        return sign if is_negative(x) else 0
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent, least) - digits + 1
    scaled = size / Fraction(2) ** unit
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2)
    # Whole numbers of this unit follow each other as bits do, past the largest ones, too.
    return min(whole + (unit - (least - digits + 1)) * (1 << (digits - 1)), top) | (sign if x < 0 else 0)


def number_of(kind, bits):
    digits, least, most, field = FLOATS[kind]
    low, up = bits & ((1 << (digits - 1)) - 1), bits >> (digits - 1) & ((1 << field) - 1)
    negative = bits >> (digits - 1 + field)
    if kind == "float8_e4m3" and bits & 0x7f == 0x7f:
        return NAN
    if kind != "float8_e4m3" and up == (1 << field) - 1:
        return NAN if low else -INF if negative else INF
    if not low and not up:
        return zero(negative)
    size = Fraction(low | (1 << (digits - 1) if up else 0)) * Fraction(2) ** (max(up, 1) - 1 + least - digits + 1)
    return -size if negative else size


# ---- operations on exact numbers
def specials(f):
    """f where all operands are finite; else IEEE 754 by doubles, which have the same infinities and NaN."""
    def result(*x):
        if all(finite(v) for v in x):
            return f(*x)
        plain = [(-0.0 if isinstance(v, Zero) and v.negative else 0.0 if v == 0 else -1.5 if v < 0 else 1.5) if finite(v) else v for v in x]
        y = DOUBLES[f.__name__](*plain)
        return zero(math.copysign(1, y) < 0) if y == 0 else y
    return result


def quotient(a, b): return (NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1, b)) if b == 0 else a / b


@specials
def add(a, b): return a + b if a + b != 0 else zero(a == 0 and is_negative(a) and is_negative(b))
@specials
def mul(a, b): return a * b if a * b != 0 else zero(is_negative(a) != is_negative(b))
@specials
def div(a, b):
    if b == 0:
        return NAN if a == 0 else -INF if is_negative(a) != is_negative(b) else INF
    return a / b if a != 0 else zero(is_negative(a) != is_negative(b))
@specials
def sqrt(a):
    if a == 0:
        return a
    if a < 0:
        return NAN
    shift = 2 * max(0, 300 - (a.numerator.bit_length() - a.denominator.bit_length()) // 2)
    scaled = a * 2 ** shift
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    return Fraction(2 * root + (root * root != scaled), 2 ** (shift // 2 + 1))  # a last bit for all that follow
@specials
def fmod(a, b):
    if b == 0:
        return NAN
    rest = abs(a) - abs(b) * (abs(a) // abs(b))
    return zero(is_negative(a)) if rest == 0 else -rest if a < 0 else rest


DOUBLES = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": quotient, "sqrt": lambda a: a if a > 0 else NAN,
           "fmod": lambda a, b: NAN if a != a or b != b or math.isinf(a) or b == 0 else "first"}


def neg(a): return zero(not a.negative) if isinstance(a, Zero) else -a
def sub(a, b): return add(a, neg(b))
def order(a): return (float("-inf") if a == -INF else float("inf") if a == INF else a, not is_negative(a))
def maximum(a, b): return NAN if a != a or b != b else max(a, b, key=order)
def maxnum(a, b): return b if a != a else a if b != b else maximum(a, b)
def truncated_mod(a, b):
    rest = fmod(a, b)
    return a if rest == "first" else rest
def floor_mod(a, b):
    rest = truncated_mod(a, b)
    if rest != rest:
        return rest
    if rest == 0:
        return zero(is_negative(b))
    return add(rest, b) if is_negative(rest) != is_negative(b) else rest
def total(x):
    if any(v != v for v in x) or (INF in x and -INF in x):
        return NAN
    if INF in x or -INF in x:
        return INF if INF in x else -INF
    return sum(x, Fraction(0)) or zero(x and all(v == 0 and is_negative(v) for v in x))


def exactly(kind, f, rounds=True):
    return lambda *x: (lambda r: int(r) if isinstance(r, bool) else bits_of(kind, r))(f(*x))


def by_mpmath(f):
    """A result of mpmath as a fraction. One that is a number of 120 bits up to the error is that number: no result is so near to
    one by chance."""
    def result(*x):
        y = f(*[mpmath.mpf(v.numerator) / mpmath.mpf(v.denominator) if finite(v) else mpmath.mpf(v) for v in x])
        if isinstance(y, mpmath.mpc):
            return NAN
        if not mpmath.isfinite(y):
            return NAN if mpmath.isnan(y) else INF if y > 0 else -INF
        sign, size, exponent, length = y._mpf_
        if length > 120:
            near = (size + (1 << (length - 121))) >> (length - 120)
            if abs(size - (near << (length - 120))) < size >> 250:
                size, exponent = near, exponent + length - 120
        far = 5000  # beyond every type
        exponent = min(max(exponent, -far - size.bit_length()), far)
        return (-1) ** sign * Fraction(int(size)) * Fraction(2) ** exponent if size else zero()
    return result


FLOAT_OPS = {
    "recip": (1, lambda a: div(Fraction(1), a)), "neg": (1, neg), "noop": (1, lambda a: a), "sqrt": (1, sqrt), "add": (2, add), "sub": (2, sub), "mul": (2, mul), "div": (2, div),
    "fma": (3, lambda a, b, c: add(mul(a, b), c)), "max.maximum": (2, maximum), "max.maxnum": (2, maxnum), "mod.trunc": (2, truncated_mod), "mod.floor": (2, floor_mod),
    "cmplt": (2, lambda a, b: bool(a < b)), "cmpeq": (2, lambda a, b: bool(a == b)), "sum": (5, lambda *x: total(x)), "dot": (6, lambda *x: total([mul(a, b) for a, b in zip(x[::2], x[1::2])])),
}
ROUNDED_BY_MPMATH = {"exp2": lambda x: mpmath.power(2, x), "log2": lambda x: -mpmath.inf if x == 0 else mpmath.nan if x < 0 else mpmath.log(x, 2), "sin": mpmath.sin} if mpmath else {}


def pow_of(x, y):
    if y == int(y) and abs(y) <= 64:
        return mpmath.mpf(x) ** int(y)
    return mpmath.nan if x < 0 and y != mpmath.floor(y) else mpmath.power(x, y)


# The values at -inf, -0, 0 and inf, and the function of all other numbers.
def curves():
    m = mpmath
    pi, half, log2 = m.pi, m.mpf(1) / 2, m.log(2)
    n, i = m.nan, m.inf
    odd = ("-0", "0")
    def clipped(f, most=10000): return lambda x: f(max(min(x, most), -most))  # beyond, mpmath or the memory overflows
    erfc, exp = clipped(m.erfc), clipped(m.exp)
    def gated(f): return lambda x: x / 2 * (1 + m.sign(x) * m.mpf(2)**-200) if abs(x) < m.mpf(2)**-200 else f(x)  # x/2 + c x^2
    return {
        "exp": (0, 1, 1, i, exp), "expm1": (-1, *odd, i, clipped(m.expm1)), "log": (n, -i, -i, i, lambda x: n if x < 0 else m.log(x)), "log10": (n, -i, -i, i, lambda x: n if x < 0 else m.log10(x)),
        "log1p": (n, *odd, i, lambda x: n if x < -1 else -i if x == -1 else m.log1p(x)), "rsqrt": (n, -i, i, 0, lambda x: n if x < 0 else 1 / m.sqrt(x)),
        "sigmoid": (0, half, half, 1, lambda x: 1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x))), "silu": ("-0", *odd, i, gated(lambda x: x / (1 + exp(-x)) if x > 0 else x * exp(x) / (1 + exp(x)))),
        "tanh": (-1, *odd, 1, clipped(m.tanh)), "erf": (-1, *odd, 1, clipped(m.erf)), "erfc": (2, 1, 1, 0, erfc), "gelu": ("-0", *odd, i, gated(lambda x: x * erfc(-x / m.sqrt(2)) / 2)),
        "gelu_tanh": ("-0", *odd, i, gated(lambda x: x / (1 + exp(-2 * m.sqrt(2 / pi) * (x + m.mpf("0.044715") * x**3))))), "softplus": (0, log2, log2, i, lambda x: m.log1p(exp(x)) if x < 0 else x + m.log1p(exp(-x))),
        "cos": (n, 1, 1, n, m.cos), "tan": (n, *odd, n, m.tan), "asin": (n, *odd, n, lambda x: n if abs(x) > 1 else m.asin(x)), "acos": (n, pi / 2, pi / 2, n, lambda x: n if abs(x) > 1 else m.acos(x)),
        "atan": (-pi / 2, *odd, pi / 2, m.atan), "sinh": (-i, *odd, i, clipped(m.sinh)), "cosh": (i, 1, 1, i, clipped(m.cosh)), "asinh": (-i, *odd, i, m.asinh), "acosh": (n, n, n, i, lambda x: n if x < 1 else m.acosh(x)),
        "atanh": (n, *odd, n, lambda x: n if abs(x) > 1 else x * i if abs(x) == 1 else m.atanh(x)), "cbrt": (-i, *odd, i, lambda x: m.sign(x) * m.cbrt(abs(x))),
        "lgamma": (i, i, i, i, lambda x: i if x <= 0 and x == m.floor(x) else m.re(m.loggamma(x))), "digamma": (n, i, -i, i, lambda x: n if x < 0 and x == m.floor(x) else m.digamma(x)),
        "erfinv": (n, *odd, n, lambda x: n if abs(x) > 1 else x * i if abs(x) == 1 else m.erfinv(x)), "floor": (-i, *odd, i, m.floor), "ceil": (-i, *odd, i, m.ceil), "round": (-i, *odd, i, m.nint), "trunc": (-i, *odd, i, lambda x: m.sign(x) * m.floor(abs(x))),
    }


PAIRS = {"atan2": lambda x, y: mpmath.atan2(x, y), "pow": pow_of, "hypot": lambda x, y: mpmath.sqrt(x * x + y * y)}


def curve_of(name, row):
    *ends, f = row
    def value(v): return (zero(v == "-0") if isinstance(v, str) else NAN if mpmath.isnan(v) else v if v == INF or v == -INF else by_mpmath(lambda: mpmath.mpf(v))())
    def result(x):
        if x != x:
            return x
        if finite(x) and x != 0:
            y = by_mpmath(f)(x)
            return zero(x < 0) if y == 0 and not isinstance(y, float) else y  # floor(0.5), ceil(-0.5)
        return value(ends[0 if x == -INF else 3 if x == INF else 1 if is_negative(x) else 2])
    return result


def functions(rng, count):
    """(name, type, operands as lists of bits, exact results as bits)"""
    for kind in FLOATS:
        size = FLOATS[kind][0] + FLOATS[kind][3]
        for name, row in curves().items():
            f = curve_of(name, row)
            middle = ((1 << (FLOATS[kind][3] - 1)) - 1) << (FLOATS[kind][0] - 1)  # 1
            bits = range(1 << size) if size == 8 else [drawn(rng, kind, middle) for _ in range(count)]
            yield name, kind, [list(bits)], [bits_of(kind, f(number_of(kind, b))) for b in bits]
        for name, f in PAIRS.items():
            pairs = []
            while len(pairs) < count:
                pair = [drawn(rng, kind, middle) for _ in range(2)]
                x = [number_of(kind, b) for b in pair]
                if all(finite(v) and v != 0 for v in x):  # Annex F lists 40 other cases
                    pairs.append(pair)
            yield name, kind, [list(p) for p in zip(*pairs)], [bits_of(kind, by_mpmath(f)(*[number_of(kind, b) for b in p])) for p in pairs]


def compare_functions(rng, count):
    """{type: [functions, results, that differ from the reference's, verdicts other than PASS]}"""
    import numpy as np
    from touchstone import kernel
    counts = {kind: [0, 0, 0, 0] for kind in FLOATS}
    for name, kind, operands, exact in functions(rng, count):
        width = (FLOATS[kind][0] + FLOATS[kind][3]) // 8
        def array(bits):
            bits = np.array([NANS[kind] if b == "nan" else b for b in bits], f"u{width}")
            return bits.view(kind) if kind in ("float64", "float32", "float16") else kernel.as_dtype(bits, kind)
        made = kernel.Kernel.from_formula(f"{name}({', '.join(f'x{i}[{len(exact)}]:{kind}' for i in range(len(operands)))})")
        inputs = [array(b) for b in operands]
        given = np.asarray(kernel.eval(made, *inputs)).view(f"u{width}")
        verdict = kernel.check(made, inputs, array(exact))
        differ = [j for j, (a, b) in enumerate(zip(given.tolist(), exact)) if b != (a if number_of(kind, a) == number_of(kind, a) else "nan")]
        row = counts[kind]
        row[0], row[1], row[2], row[3] = row[0] + 1, row[1] + len(exact), row[2] + len(differ), row[3] + (verdict.status != "PASS")
        for j in differ[:3]:
            print(f"differs: {name} {kind} of {[hex(b[j]) for b in operands]}: {hex(given[j])}, exact is {exact[j] if exact[j] == 'nan' else hex(exact[j])}")
        if verdict.status != "PASS":
            print(f"{name} {kind}: {verdict}")
    return counts


def cast(kind, to, x):
    if to == "bool":
        return int(x != 0)
    if to in FLOATS:
        return bits_of(to, Fraction(x) if isinstance(x, (int, bool)) else x)
    size, signed = INTEGERS[to]
    least, most = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
    if kind in FLOATS:
        return 0 if x != x else min(max(x if not finite(x) else math.trunc(x), least), most)
    return wrapped(to, int(x))


def wrapped(kind, x):
    size, signed = INTEGERS[kind]
    x &= (1 << size) - 1
    return x - (1 << size) if signed and x >> (size - 1) else x


def of_integers(kind):
    size, signed = INTEGERS[kind]
    least = -(1 << (size - 1)) if signed else 0
    def divided(f): return lambda a, b: "undef" if b == 0 or (signed and a == least and b == -1) else wrapped(kind, f(a, b))
    def towards_0(a, b): return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    wrap = {"neg": (1, lambda a: -a), "noop": (1, lambda a: a), "add": (2, lambda a, b: a + b), "sub": (2, lambda a, b: a - b), "mul": (2, lambda a, b: a * b), "max": (2, max),
            "xor": (2, lambda a, b: a ^ b), "mulacc": (3, lambda a, b, c: a * b + c), "sum": (6, lambda *x: sum(x)), "dot": (6, lambda *x: sum(a * b for a, b in zip(x[::2], x[1::2])))}
    return {**{n: (k, lambda *x, f=f: wrapped(kind, f(*x))) for n, (k, f) in wrap.items()}, "div": (2, divided(towards_0)), "div.floor": (2, divided(lambda a, b: a // b)),
            "mod": (2, divided(lambda a, b: a - b * towards_0(a, b))), "mod.floor": (2, divided(lambda a, b: a % b)),
            "cmplt": (2, lambda a, b: int(a < b)), "cmpeq": (2, lambda a, b: int(a == b))}


def drawn(rng, kind, near=None):
    """Bits of a number: any, a special one, or one whose exponent is near another's."""
    digits, least, most, field = FLOATS[kind]
    size = digits + field
    how = rng.random()
    if how < 0.1:
        return rng.choice([0, 1, 2, (1 << (digits - 1)) - 1, 1 << (digits - 1), ((1 << field) - 1) << (digits - 1), (((1 << field) - 1) << (digits - 1)) - 1, (1 << (size - 1)) - 1]) | rng.getrandbits(1) << (size - 1)
    if how < 0.5 or near is None:
        return rng.getrandbits(size)
    exponent = (near >> (digits - 1) & ((1 << field) - 1)) + rng.randint(-digits - 2, digits + 2)
    return min(max(exponent, 0), (1 << field) - 2) << (digits - 1) | rng.getrandbits(digits - 1) | rng.getrandbits(1) << (size - 1)


def drawn_integer(rng, kind):
    size, signed = INTEGERS[kind]
    return wrapped(kind, rng.choice([rng.getrandbits(size), rng.randint(-9, 9), 1 << (size - 1), -1, rng.getrandbits(size // 2)]))


def written(kind, value):
    return str(value) if kind in INTEGERS or kind == "bool" or isinstance(value, str) else f"{value:0{(FLOATS[kind][0] + FLOATS[kind][3] + 3) // 4}x}"


def questions(rng, count):
    """(line, the answer, group) of single operations."""
    for kind in FLOATS:
        ops = {n: (k, exactly(kind, f)) for n, (k, f) in FLOAT_OPS.items()}
        ops["mulacc"] = (3, lambda a, b, c, k=kind: bits_of(k, add(number_of(k, b) if isinstance(b := bits_of(k, mul(a, b)), int) else NAN, c)))
        if mpmath:
            ops |= {n: (1, exactly(kind, lambda x, n=n, f=by_mpmath(f): x if n == "sin" and x == 0 else f(x))) for n, f in ROUNDED_BY_MPMATH.items()}
        for to in (*FLOATS, *INTEGERS, "bool"):
            ops[f"cast:{to}"] = (1, lambda x, k=kind, to=to: cast(k, to, x))
        for name, (arity, f) in ops.items():
            for _ in range(count):
                bits = [drawn(rng, kind)]
                bits += [drawn(rng, kind, bits[0]) for _ in range(arity - 1)]
                if name == "cast:bool" and kind == "float8_e4m3" and bits[0] & 0x7f == 0x7f:
                    continue
                to = name[5:] if name.startswith("cast:") else kind
                answer = f(*[number_of(kind, b) for b in bits])
                yield f"{name}\t{kind}\t{','.join(written(kind, b) for b in bits)}", written("bool" if name in ("cmplt", "cmpeq") else to, answer), kind
    for kind in INTEGERS:
        ops = of_integers(kind)
        for to in (*FLOATS, *INTEGERS, "bool"):
            ops[f"cast:{to}"] = (1, lambda x, k=kind, to=to: cast(k, to, x))
        for name, (arity, f) in ops.items():
            for _ in range(count):
                x = [drawn_integer(rng, kind) for _ in range(arity)]
                answer = f(*x)
                to = name[5:] if name.startswith("cast:") and name[5:] in FLOATS else kind
                yield f"{name}\t{kind}\t{','.join(map(str, x))}", written(to, answer), kind


def sums(rng, count):
    """Sums and dot products whose terms cancel, of up to 100,000 terms."""
    for kind in FLOATS:
        digits, least, most, field = FLOATS[kind]
        for i in range(count):
            n = rng.choice([rng.randint(2, 40), rng.randint(41, 3000), 100_000 if i < 2 else 5000])
            middle, spread = rng.randrange(1, (1 << field) - 2), rng.randint(0, (1 << field) // 3)
            def term():
                exponent = min(max(middle + rng.randint(-spread, spread), 0), (1 << field) - 2)
                return exponent << (digits - 1) | rng.getrandbits(digits - 1) | rng.getrandbits(1) << (digits - 1 + field)
            bits = [term() for _ in range(n)]
            for _ in range(rng.randint(0, n // 2)):  # pairs that cancel
                bits[rng.randrange(n)] = bits[rng.randrange(n)] ^ 1 << (digits - 1 + field)
            name = rng.choice(["sum", "dot", "reduce_sum"])
            bits = bits[:n // 2 * 2]
            x = [number_of(kind, b) for b in bits]
            exact = total([mul(a, b) for a, b in zip(x[::2], x[1::2])] if name == "dot" else x)
            if name == "reduce_sum" and digits < 24:
                once = bits_of("float32", exact)
                exact = number_of("float32", once) if once != "nan" else NAN
            yield f"{name}\t{kind}\t{','.join(written(kind, b) for b in bits)}", written(kind, bits_of(kind, exact)), f"sums, {kind}"


def compare_bits(tool, asked):
    """{group: [compared, different]}"""
    counts, batch = collections.defaultdict(lambda: [0, 0]), []
    def flush():
        given = subprocess.run([tool, "bits"], input="".join(line + "\n" for line, _, _ in batch), capture_output=True, text=True, check=True,
                               env={**os.environ, "LD_PRELOAD": ""}).stdout.splitlines()
        assert len(given) == len(batch), (len(given), len(batch))
        for (line, answer, group), got in zip(batch, given):
            counts[group][0] += 1
            if got != answer:
                counts[group][1] += 1
                if counts[group][1] <= 3:
                    print(f"differs: {line[:200]}: {got}, exact is {answer}")
        batch.clear()
    for question in asked:
        batch.append(question)
        if sum(len(line) for line, _, _ in batch[-1:]) > 100_000 or len(batch) == 20_000:
            flush()
    flush()
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--touchstone", default="build/dev/cli/touchstone")
    parser.add_argument("--count", type=int, default=1000, help="operands of each operation and type")
    parser.add_argument("--sums", type=int, default=50, help="of each type")
    parser.add_argument("--functions", type=int, default=1000, help="operands of each named function and type; all of 8-bit types")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    rng = random.Random(o.seed)
    counts = compare_bits(o.touchstone, questions(rng, o.count)) | compare_bits(o.touchstone, sums(rng, o.sums))
    for group, (compared, different) in counts.items():
        print(f"{group}: {compared} compared, {different} different")
    print(f"all: {sum(c for c, _ in counts.values())} compared, {sum(d for _, d in counts.values())} different")
    wrong = any(d for _, d in counts.values())
    for kind, (number, results, different, verdicts) in (compare_functions(rng, o.functions) if mpmath and o.functions else {}).items():
        print(f"{kind}: {number} functions, {results} results, {different} different, {verdicts} functions whose exact results are not PASS")
        wrong = wrong or different or verdicts
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
