"""Maps and checks of an index in Python, and the command's page."""
import itertools
import json
import os
import re
import subprocess

import pytest

import touchstone
from touchstone import maps
from touchstone.view import ShapeTracker

COMMAND = os.environ.get("TOUCHSTONE_COMMAND", "")
ALONE = {**os.environ, "LD_PRELOAD": ""}  # the command may have a sanitizer of its own


def test_a_map_has_the_values_of_the_layout():
    layout = maps.Map("((2,3),4):((1,8),2)")
    assert layout.inputs == ["i0", "i1"]
    for i, j in itertools.product(range(6), range(4)):
        assert layout([i, j]) == [i % 2 + i // 2 * 8 + j * 2]
    assert layout([6, 0]) is None
    with pytest.raises(ValueError):
        layout([1])


def test_composition_inverse_and_counts():
    a = maps.Map("(10,2):(16,4)") @ maps.Map("(3,4):(1,5)")
    assert a.to("cute") == "(3,(2,2)):(16,(80,4))"
    back = maps.inverse(a)
    for i, j in itertools.product(range(3), range(4)):
        assert back(a([i, j])) == [i, j]
    assert dict(maps.ask("image", [a]).lines)["distinct"] == "12"
    assert maps.ask("overlap", [maps.Map("2*i", variables={"i": (0, 9)}), maps.Map("2*i + 1", variables={"i": (0, 9)})]).verdict is False
    row_major = maps.Map("i*n + j", variables={"i": (0, None), "j": (0, None), "n": (1, None)}, assume=["j < n"], symbols=["n"])
    assert maps.ask("injective", [row_major]).verdict is True


def test_views_and_arrays_are_maps():
    tracker = ShapeTracker.from_shape((4, 8)).permute((1, 0))
    assert maps.equal(maps.Map.of_view(tracker), maps.Map("shape=(8, 4), strides=(1, 8)"))
    assert maps.Map.of_view(tracker).to("cute") == "(8,4):(1,8)"


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="no operation 'inject'"):
        maps.ask("inject", [maps.Map("4:1")])
    with pytest.raises(ValueError, match="2 maps"):
        maps.ask("equal", [maps.Map("4:1")])
    with pytest.raises(ValueError, match="different inputs"):
        maps.ask("equal", [maps.Map("4:1"), maps.Map("5:1")])


def test_check_index_is_that_of_the_command():
    found = maps.check_index("blockIdx.x*4096 + t", {"blockIdx.x": (0, 999999), "t": (0, 9)}, language="c", vector="t")
    assert found["answer"] == "no"
    assert found["findings"][0]["at"]["blockIdx_x"] == "999999"
    with pytest.raises(ValueError, match="no variable"):
        maps.check_index("i", {"i": (0, 9)}, lane="j")


@pytest.mark.skipif(not COMMAND, reason="needs the command")
@pytest.mark.parametrize("by", ["address", "bank", "lane"])
def test_pages_show_each_value(by, tmp_path):
    page = tmp_path / "map.html"
    subprocess.run([COMMAND, "map", "equal", "(4,8):(8,1)", "(4,8):(1,4)", "--html", page, "--by", by, "--json"], env=ALONE, capture_output=True)
    text = page.read_text()
    assert text.count('<td class="at') == 64
    cells = re.findall(r'<td class="(at[a-z ]*)"[^>]*>([0-9 ]+)</td>', text)
    first, second = cells[:32], cells[32:]
    assert [c == "at other" for c, _ in second] == [a != b for (_, a), (_, b) in zip(first, second)]
    assert sum("other" in c for c, _ in cells) == (24 if by == "lane" else 30)  # lane a//8 beside a%4
    assert text.count("map-scale>") == 1


def test_equality_compares_meaning_and_says_why():
    a = maps.Map("(4,8):(8,1)")
    assert a == maps.Map("(4,(2,4)):(8,(1,2))") and a != maps.Map("(4,8):(8,2)") and a != maps.Map("3:1") and a != 3
    with pytest.raises(TypeError):
        hash(a)
    lines = maps.equal(a, maps.Map("i%4*8 + i//4", variables={"i": (0, 31)}), steps=True).steps
    assert lines[0] == "i of the second map is i0 + i1*4"
    assert maps.equal(a, maps.Map("32:1"), steps=True).steps == []


@pytest.mark.parametrize("layout", ["(4,8):(8,1)", "((4,2),8):((1,32),4)", "(2,3,5):(15,1,3)", "6:1", "(1,4):(0,1)"])
def test_patterns_come_back_as_the_same_map(layout):
    a = maps.Map(layout)
    back = maps.Map(a.to("einops"), "einops")
    points = list(itertools.product(*(range(n) for n in {"((4,2),8):((1,32),4)": (8, 8), "(4,8):(8,1)": (4, 8), "(2,3,5):(15,1,3)": (2, 3, 5),
                                                        "6:1": (6,), "(1,4):(0,1)": (1, 4)}[layout])))
    assert [a(list(p)) for p in points] == [back(list(p)) for p in points]


def test_an_inverse_as_a_layout_is_the_flat_index():
    back = maps.ask("inverse", [maps.Map("(4,8):(8,1)")], to="cute").map
    assert back.to("cute") == "(8,4):(4,1)" and [back([y])[0] for y in range(32)] == [y // 8 + y % 8 * 4 for y in range(32)]
    with pytest.raises(touchstone.Error):
        maps.Map("(4,8):(8,2)").to("einops")


@pytest.mark.parametrize("text", ["[n] -> { [i, j] -> [n*i + j] : 0 <= i < 8 and 0 <= j < n }", "{ S[i, j] -> A[i*8 + j] : 0 <= i < 4 and 0 <= j < 8 }",
                                  "ceildiv(x, 4) + floordiv(y, 2)", "ceiling(x/4) + floor(y/2)", "cdiv(x, 4)", "(x < 4).where(x, y)"])
def test_languages_are_recognised(text):
    variables = {n: (0, 7) for n in "xy" if n in text}
    assert maps.Map(text, variables=variables).inputs


@pytest.mark.skipif(not COMMAND, reason="needs the command")
def test_json_of_the_command():
    run = subprocess.run([COMMAND, "map", "injective", "(4,3):(1,3)", "--json"], env=ALONE, capture_output=True, text=True)
    answer = json.loads(run.stdout)
    assert run.returncode == 1 and answer["answer"] == "no" and len(answer["at"]) == 2


def test_an_inverse_keeps_the_domain():
    back = maps.inverse(maps.Map("2*x", variables={"x": (0, None)}))
    assert back([6]) == [3] and back([-2]) is None


@pytest.mark.skipif(not COMMAND, reason="needs the command")
@pytest.mark.parametrize("words, complaint", [
    (["show", "4:4", "--var", "i=2..10"], "no map has a variable i"),
    (["compose", "memref<8xf32, strided<[?]>>", "s0*2", "--var", "s0=0..3"], "rename"),
    (["show", "a b -> b a, a=-4, b=3"], "is no size"),
    (["show", "a b -> b a, a=4, c=3"], "has no axis c"),
    (["show", "(h w) h_w -> (h w) h_w, h=2, w=3, h_w=5"], "rename")])
def test_names_that_clash_or_are_unknown_are_refused(words, complaint):
    run = subprocess.run([COMMAND, "map", *words], env=ALONE, capture_output=True, text=True)
    assert run.returncode == 2 and complaint in run.stderr, run.stderr


@pytest.mark.skipif(not COMMAND, reason="needs the command")
@pytest.mark.parametrize("text, value", [("unsigned n; n + 4294967296", "n + 4294967296"), ("unsigned n; n * 1073741824LL", "n*1073741824"), ("unsigned n; n - 1 + 1u", "n")])
def test_long_literals_do_not_wrap(text, value):
    run = subprocess.run([COMMAND, "simplify", "--from", "c", text, "--var", "n=1..9"], env=ALONE, capture_output=True, text=True)
    assert run.stdout.splitlines()[0] == value
