"""Expressions in other languages: their values by a C compiler and by Python itself, and the way back."""
import os
import random
import shutil
import subprocess

import pytest

from touchstone import Error
from touchstone.symbolic import Variable, bounds, read, where, write

NAMES = "abc"
POINTS = 12
COUNT = int(os.environ.get("TOUCHSTONE_FUZZ_CASES", "150"))


class Drawn:
    """A text and ranges of its variables; the bits of a part are known if it has a range from 0."""

    def __init__(self, rng, language):
        self.rng, self.c = rng, language == "c"
        self.ranges = {n: rng.choice([(0, 63), (0, 7), (-20, 20), (3, 3), (0, 31)]) for n in NAMES}
        self.text = self.number(3)

    def constant(self):
        return str(self.rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31]))

    def natural(self, depth):
        """A text with a value from 0 to below 2^14."""
        names = [n for n in NAMES if self.ranges[n][0] >= 0]
        pick = self.rng.randrange(8 if depth > 0 else 2)
        if pick == 0 or not names:
            return self.constant()
        if pick < 3:
            return self.rng.choice(names)
        part = self.natural(depth - 1)
        if pick < 6:
            return f"({part} {self.rng.choice(['&', '|', '^'])} {self.natural(depth - 1)})"
        return f"({part} {self.rng.choice(['>>', '%'])} {self.rng.choice([1, 2, 3, 5])})"

    def condition(self, depth):
        a, b, op = self.number(depth - 1), self.number(depth - 1), self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        if self.rng.randrange(4) > 0:
            return f"({a} {op} {b})"
        if self.c:
            return f"(!({a} {op} {b}) {self.rng.choice(['&&', '||'])} ({b} < {self.constant()}))"
        return self.rng.choice([f"(not {a} {op} {b} and {b} < {self.constant()})", f"({self.constant()} <= {a} < {b})"])

    def number(self, depth):
        rng = self.rng
        pick = rng.randrange(12) if depth > 0 else rng.randrange(2)
        if pick == 0:
            return self.constant()
        if pick == 1:
            return rng.choice(NAMES)
        a = self.number(depth - 1)
        if pick < 5:
            return f"({a} {rng.choice('+-')} {self.number(depth - 1)})"
        if pick == 5:
            return f"{a} * {self.constant()}"
        if pick == 6:
            return f"({a} {rng.choice(['/', '%'] if self.c else ['//', '%'])} {rng.choice([2, 3, 4, 7, 16, -3])})"
        if pick == 7:
            return f"({a} {rng.choice(['& 12', '& ~7', '| 5', '^ 9', '>> 2', '<< 3', '& 0x1F'])})"
        if pick == 8:
            return rng.choice(["~({})", "-({})", "+({})"]).format(a)
        if pick == 9:
            return self.natural(depth)
        if pick == 10 and self.c:
            return f"({rng.choice(['unsigned char', 'short', 'int8_t', 'uint16_t', 'long'])})({a})"
        if pick == 10:
            return f"{rng.choice(['min', 'max'])}({a}, {self.number(depth - 1)})"
        b = self.number(depth - 1)
        c = self.condition(depth)
        return f"({c} ? {a} : {b})" if self.c else f"({a} if {c} else {b})"

    def points(self):
        return [{n: self.rng.randint(*self.ranges[n]) for n in NAMES} for _ in range(POINTS)]


def by_compiler(cases, folder):
    """The values of C texts at points."""
    lines = ["#include <stdint.h>", "#include <stdio.h>", "#define min(a, b) ((a) < (b) ? (a) : (b))",
             "#define max(a, b) ((a) > (b) ? (a) : (b))"]
    calls = []
    for i, (text, points) in enumerate(cases):
        lines.append(f"static long f{i}(long a, long b, long c) {{ return {text}; }}")
        calls += [f"  printf(\"%ld\\n\", f{i}({p['a']}, {p['b']}, {p['c']}));" for p in points]
    source = folder / "values.c"
    source.write_text("\n".join(lines + ["int main(void) {"] + calls + ["  return 0;", "}"]))
    subprocess.run([shutil.which("cc") or "c++", "-O0", "-w", "-fwrapv", str(source), "-o", str(folder / "values")],
                   check=True)
    values = subprocess.run([str(folder / "values")], check=True, capture_output=True, text=True).stdout.split()
    return [[int(values[i * POINTS + j]) for j in range(POINTS)] for i in range(len(cases))]


def drawn(language):
    cases = []
    for index in range(COUNT):
        d = Drawn(random.Random(f"{language} {index}"), language)
        cases.append((d, d.points()))
    return cases


def node_of(d, language):
    (node,) = read(d.text, language, d.ranges)
    return node


def test_c_has_the_compilers_values_and_is_written_back(tmp_path):
    cases = drawn("c")
    right = by_compiler([(d.text, points) for d, points in cases], tmp_path)
    nodes = [node_of(d, "c") for d, _ in cases]
    for (d, points), values, node in zip(cases, right, nodes):
        assert [node.evaluate(p) for p in points] == values, d.text
    texts = [(write(node, "c"), points) for (_, points), node in zip(cases, nodes)]
    for (d, _), (text, _), got, want in zip(cases, texts, by_compiler(texts, tmp_path), right):
        assert got == want, f"{d.text}: {text}"


def test_python_has_its_own_values_and_every_language_returns():
    for d, points in drawn("python"):
        node = node_of(d, "python")
        values = [int(eval(d.text, {}, p)) for p in points]
        assert [node.evaluate(p) for p in points] == values, d.text
        assert [int(eval(write(node, "python"), {}, p)) for p in points] == values, d.text
        for language in ("sympy", "jax", "tvm", "halide", "mlir", "isl"):
            try:
                text = write(node, language)
            except Error as error:
                assert any(why in str(error) for why in ("no word for", "not affine", "not a positive number")), error
                continue
            (back,) = read(text, language, {n: r for n, r in d.ranges.items()})
            assert [back.evaluate(p) for p in points] == values, f"{language}: {text}"


@pytest.mark.parametrize("text, language, at, want", [
    ("FloorDiv(x, 4) + ModularIndexing(x, 2, 8) + CeilDiv(x, 3)", "sympy", {"x": 29}, 29 // 4 + 29 // 2 % 8 + 10),
    ("floor(x/4 + 1/2) + ceiling((x - 1)/3)*Mod(x, 5)", "sympy", {"x": 10}, 3),
    ("Piecewise((x, x < 3), (Max(x, 9), Eq(x, 7)), (0, True))", "sympy", {"x": 7}, 9),
    ("floordiv(a + 3, 4)*4 + mod(a, 4) - a^2", "jax", {"a": -5}, -4 + 3 - 25),
    ("T.if_then_else(T.floormod(i, 4) < 2, T.truncdiv(i, 4), T.shift_right(i, 1)) + T.int64(3)", "tvm", {"i": 13}, 6),
    ("select(x/4 < -1, x % 4, clamp(x, 0, 3)) + likely(y)", "halide", {"x": -7, "y": 2}, 3),
    ("threadIdx.x / 32 * shape[0] + (blockIdx.x << 3)", "c", {"threadIdx_x": 70, "shape_0": 5, "blockIdx_x": 2}, 26),
    ("int row = t / 32, unused; row * 2", "c", {"t": 70}, None),
    ("int row = t / 32; const int col = t % 32; return row * 64 + col;", "c", {"t": 70}, 134),
    ("row = t // 32\ncol = t % 32\nrow*64 + col", "python", {"t": 70}, 134),
    ("(x < 3).where(x, 7) + np.maximum(y, 2)", "python", {"x": 3, "y": 1}, 9),
    ("numpy.maximum(x, 3) + y.maximum(2)", "numpy", {"x": 1, "y": 5}, 8),
    ("jax.lax.clamp(0, x, 7) + np.where(~(x < 3), 10, 20)", "jax", {"x": 9}, 17),
    ("x + 1 // old: y; z", "c", {"x": 1}, 2),
    ("x = i # (note\nx*4 # old; z", "python", {"i": 3}, 12),
    ("x or 5", "python", {"x": 0}, 5),
    ("int(x*4294967296)", "python", {"x": 1}, 1 << 32),
    ("x > 0 ? (size_t)(x - 1) : 7", "c", {"x": 0}, 7),
    ("_12 + C*(C < 3) + cute::min(x, Int<3>{})", "c", {"_12": 1, "C": 2, "x": 9}, 6),
    ("{ [i] -> [3i mod 4 - i mod 4] }", "isl", {"i": 3}, 6),
    ("i8 + 1", "c", {"i8": 4}, 5),
    ("ModularIndexing(i8, 4, 2) + i8*u32", "sympy", {"i8": 4, "u32": 3}, 13),
    ("x / -3 * 10 + x % -3", "halide", {"x": -7}, 32),
    ("0xFFu + 0b11 + 0o17 + 1'000", "c", {}, 255 + 3 + 15 + 1000),
    ("2**k * (n >> k)", "python", {"k": 2, "n": 15}, 12),
])
def test_texts_people_write(text, language, at, want):
    ranges = {"k": (0, 3)} if "k" in at else {}
    if want is None:
        with pytest.raises(ValueError, match="column"):
            read(text, language, ranges)
        return
    (node,) = read(text, language, ranges)
    assert node.evaluate(at) == want


def test_maps_and_layouts():
    nodes = read("affine_map<(d0, d1)[s0] -> (d0 * 4 + d1 floordiv 2, d1 ceildiv 3 + s0 mod 2)>", "mlir")
    assert [n.evaluate({"d0": 1, "d1": 7, "s0": 3}) for n in nodes] == [7, 4]
    (inside,) = read("affine_set<(d0) : (d0 - 1 >= 0, -d0 + 8 >= 0, d0 mod 2 == 0)>", "mlir")
    assert [i for i in range(-3, 12) if inside.evaluate({"d0": i})] == [2, 4, 6, 8]
    quotient, rest = read("{ [i, j] -> [floor((8i + j)/8), (8i + j) mod 8] : 0 <= i < 10 and 0 <= j < 8 }", "isl")
    assert (quotient.render(), rest.render(), bounds(quotient)) == ("i", "j", (0, 9))
    (strided,) = read("memref<4x?xf32, strided<[?, 1], offset: 2>>", "mlir")
    assert strided.evaluate({"i0": 3, "i1": 5, "s0": 100}) == 307

    def layout(shape, stride):  # by the definition: coordinates column by column
        return [sum(i // below % size * step for size, step, below in
                    zip(shape, stride, [1, shape[0], shape[0] * shape[-2] if len(shape) > 2 else 1]))
                for i in range(shape[0] * shape[1] * (shape[2] if len(shape) > 2 else 1))]

    (address,) = read("(4,(2,8)):(1,(64,4))", "cute")
    assert [address.evaluate({"i": i}) for i in range(64)] == layout([4, 2, 8], [1, 64, 4])
    (composed,) = read("(10,2):(16,4) o (3,4):(1,5)", "cute")
    outer = layout([10, 2], [16, 4])
    assert [composed.evaluate({"i": i}) for i in range(12)] == [outer[x] for x in layout([3, 4], [1, 5])]
    (swizzled,) = read("Swizzle<3,0,3> o (8,8):(8,1)", "cute")
    plain = layout([8, 8], [8, 1])
    assert [swizzled.evaluate({"i": i}) for i in range(64)] == [x ^ (x >> 3) & 7 for x in plain]

    rows, columns = read("register=1 -> (1, 3)\nregister=2 -> (2, 0)\n- lane=1 -> (0, 1)\nlane=2 -> (3, 2)", "triton")
    for r in range(4):
        for l in range(4):
            bases = [b for bit, b in zip((r & 1, r & 2, l & 1, l & 2), ((1, 3), (2, 0), (0, 1), (3, 2))) if bit]
            want = [0, 0]
            for b in bases:
                want = [x ^ y for x, y in zip(want, b)]
            assert [rows.evaluate({"register": r, "lane": l}), columns.evaluate({"register": r, "lane": l})] == want


def test_what_is_taken_for_granted_is_a_warning():
    with pytest.warns(UserWarning, match="is taken to fit int"):
        (x,) = read("(int)x", "c")
    assert str(x) == "x"


def test_what_is_refused_says_why():
    x = Variable("x")
    for text, language, why in [("x / 4", "python", "write //"), ("a[i]", "c", "element of an array"), ("x & y", "c", "2\\^16"),
                                ("foo(x)", "c", "unknown function"), ("x/4", "sympy", "floor"), ("(x", "c", "expected"),
                                ("x < y < 3", "c", "&&"), ("1 << x", "c", "range"), ("x", "basic", "known: touchstone"),
                                ("(2,3):(1)", "cute", "parentheses"), ("lane=3 -> (1)", "triton", "power of two"),
                                ("3.5*x", "c", "integers"), ("(" * 5000 + "x", "c", "nested"), ("x % 0", "c", "zero"),
                                ("010 + x", "c", "octal"), ("1e3", "c", "begin"), ("a.b + a_b", "c", "rename"),
                                ("x / y", "halide", "sign"), ("++i", "c", "change a variable"), ("select(x, y, z)", "c", "order"),
                                ("np.clip(x, a_max=7, a_min=0)", "numpy", "by name"), ("lane=1 -> (-1)", "triton", "basis"),
                                ("memref<4x8xf32, affine_map<(i, j) -> (j, i)>>", "mlir", "strided"),
                                ("lane=1 -> (1), lane=1 -> (2)", "triton", "twice"), ("if (x) y", "c", "assignments"),
                                ("int x = 3; int y", "c", "expression"), ("(((2**4096)**16)**16)**16", "python", "digits"), ("affine_map<(i) -> ()>", "mlir", "results")]:
        with pytest.raises(ValueError, match=why):
            read(text, language)
    for node, language, why in [(where(x < 3, x, 4*x), "mlir", "no word"), (x // Variable("n"), "c", "negative"),
                                (x // (1 << 80), "c", "long long"), (x // Variable("n"), "halide", "negative"),
                                (x, "cute", "read, not written")]:
        with pytest.raises(Error, match=why):
            write(node, language)


def test_texts_keep_their_meaning_in_the_other_language():
    a, b, c, d, e = (Variable(n) for n in "abcde")
    nested = where(where(a < 3, b, c), d, e)
    assert "(a < 3 ? b : c)" in write(nested, "c")
    assert eval(write(nested, "python"), {}, {"a": 1, "b": 0, "c": 1, "d": 2, "e": 3}) == 3
    assert write((a < 3) + b, "sympy") == "b + Piecewise((1, a < 3), (0, True))"
    assert write((-a) % 4, "isl") == "{ [a] -> [((-a) mod 4)] }"
    assert write(a < 3, "isl") == "{ [a] : (a < 3) }"


def test_operators_of_bits_bind_as_in_python():
    rng = random.Random(8)

    def drawn(depth):
        if depth == 0:
            return rng.choice(["x", "y", "1", "2", "3", "5", "6"])
        return f"{drawn(depth - 1)} {rng.choice(['|', '^', '&', '>>', '+', '==', '<'])} {drawn(rng.randrange(depth))}"

    for text in ["5 | 3 ^ x", "x & y >> 1", *(drawn(rng.choice([2, 3])) for _ in range(COUNT))]:
        (node,) = read(text, "python", {"x": (0, 3), "y": (0, 3)})
        for x in range(4):
            for y in range(4):
                assert node.evaluate({"x": x, "y": y}) == int(eval(text, {"x": x, "y": y})), (text, x, y)
