import itertools
import pickle
import threading

import pytest

import touchstone
from touchstone import symbolic as s

A, B = s.Variable("a", 0, 10), s.Variable("b", -3, 7)

# Checked against Python's evaluation of the same text.
TEXTS = ["(a*4 + b)//4", "a%3 + b//2", "-a", "a - b*2", "3 - a", "7*b + a*a", "(a*3)//(b + 20)", "(100 + b)%(a + 1)",
         "a//3*3 + a%3", "5//(a + 1)", "17%(a + 2)"]


@pytest.mark.parametrize("text", TEXTS)
def test_operators_mean_what_they_do_to_ints(text):
    node = eval(text, {"a": A, "b": B})
    for a, b in itertools.product(range(11), range(-3, 8)):
        assert node.evaluate({"a": a, "b": b}) == eval(text, {"a": a, "b": b})
        assert eval(str(node), {"a": a, "b": b}) == eval(text, {"a": a, "b": b})
    low, high = node.bounds
    assert low <= node.evaluate({"a": 10, "b": 7}) <= high


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_are_expressions(name):
    sign = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}[name]
    node = getattr(s, name)(A, B)
    for a, b in itertools.product(range(11), range(-3, 8)):
        assert node.evaluate({"a": a, "b": b}) == int(eval(f"{a} {sign} {b}"))


def test_logic_and_choice():
    for a, b in itertools.product(range(11), range(-3, 8)):
        at = {"a": a, "b": b}
        assert s.and_(A < 5, B > 2, A > 1).evaluate(at) == int(a < 5 and b > 2 and a > 1)
        assert s.or_(A < 5, B > 2).evaluate(at) == int(a < 5 or b > 2)
        assert s.not_(A < 5).evaluate(at) == int(not a < 5)
        assert s.min_(A, B, 3).evaluate(at) == min(a, b, 3)
        assert s.max_(A, B, 3).evaluate(at) == max(a, b, 3)
        assert s.where(A < B, A, 4).evaluate(at) == (a if a < b else 4)


def test_equal_means_same():
    assert A + B == B + A and hash(A + B) == hash(B + A)
    assert A != s.Variable("a", 0, 11)
    assert A - A == 0 and hash(A - A) == hash(0) and {0: "zero"}[A - A] == "zero"
    assert A != "a" and not A == None  # noqa: E711


def test_numbers_of_any_length():
    big = 10**40
    n = A * big + big
    assert n.bounds == (big, 11 * big) and int(n - A * big) == big
    assert s.Variable("x", -big, big).bounds == (-big, big)
    assert s.Variable("x").bounds == (None, None)
    assert pickle.loads(pickle.dumps(n)) == n


def test_pickles():
    for n in (A, A * 3 + B % 4, s.where(A < 3, B, A // 2), s.constant(7)):
        assert pickle.loads(pickle.dumps(n)) == n
    with pytest.raises(touchstone.ParseError, match="several bounds"):
        pickle.loads(pickle.dumps(A + s.Variable("a", 0, 3)))


def test_simplify_and_substitute():
    assert s.simplify(A % 12, assume=[A < 5]) == A and A.simplify([A < 1]) == 0
    assert (A // 2).substitute({"a": B + 4}) == (B + 4) // 2
    assert s.substitute(A, {"a": 3}) == 3
    assert [v.name for v in (A + B).variables] == ["a", "b"]
    assert s.parse("a*2 + 1", {"a": A}) == A * 2 + 1


def test_texts_are_answered_as_the_command_does():
    session = s.Session()
    assert session.simplify("(a*4 + b)//4", {"a": (0, 10), "b": (0, 3)}) == ("a", (0, 10), 1)
    assert session.simplify("x%12", {"x": (0, 99)}, ["x < 12"])[0] == "x"


def test_derivations_are_objects():
    d = s.steps("(a*4 + b)//4", {"a": (0, 10), "b": (0, 3)})
    assert d.checked and d.start == "(a*4 + b)//4" and d.result == "a" and len(d) >= 1
    assert d[0].before == d.start and d[-1].after == d.result and "".join(d[0].before_parts) == d.start
    assert "<table>" in d._repr_html_() and "<mark>" in d._repr_html_() and "align" in d._repr_latex_()
    with pytest.raises(IndexError):
        d[len(d)]
    assert "lfloor" in (A // 3)._repr_latex_() and "&lt;" in (A < 3)._repr_html_()


def test_certificates_are_checked():
    line = s.certify("(a*4 + b)//4", {"a": (0, 10), "b": (0, 3)}, ["a < 9"])
    assert s.verify(line) == (True, "(a*4 + b)//4 = a where a in [0, 10], b in [0, 3], a < 9")
    right, why = s.verify(line.replace('"result":"a"', '"result":"b"'))
    assert not right and "is wrong" in why
    with pytest.raises(ValueError, match="not a certificate"):
        s.verify("[]")


def test_proofs():
    assert s.prove("x//c*c + x%c -> x ; c > 0")
    wrong = s.prove("x + 1 -> x")
    assert not wrong and wrong.verdict == "refuted" and "x" in wrong.counterexample


def test_decisions():
    found = s.decide("x*x*x*x%16 == x%2", {"x": (None, None)})
    assert found and s.verify(found.certificate)[0]
    wrong = s.decide("x < y", {"x": (0, 4), "y": (2, 9)})
    assert wrong.verdict == "refuted" and wrong.counterexample["x"] >= wrong.counterexample["y"]
    open_ = s.decide("x*x != 2*y*y or x == 0", {"x": (None, None), "y": (None, None)}, effort=0)
    assert open_.verdict == "unknown" and "residues: a side has no period" in open_.reason


def test_operators_of_bits():
    x = s.Variable("x")
    for v in range(-20, 20):
        for build in (lambda n: n & 7, lambda n: 3 & n, lambda n: ~n, lambda n: n >> 2, lambda n: n << 3,
                      lambda n: n**3, abs, lambda n: divmod(n, 5)[1]):
            assert build(x).evaluate({"x": v}) == build(v)


@pytest.mark.parametrize("wrong, kind", [
    (lambda: A + 1.5, TypeError), (lambda: A + "a", TypeError), (lambda: A + None, TypeError),
    (lambda: bool(A), TypeError), (lambda: int(A + 1), TypeError), (lambda: 1 <= A <= 5, TypeError),
    (lambda: A // 0, touchstone.Error), (lambda: s.Variable("a", 3, 1), touchstone.Error),
    (lambda: s.Variable("not a name", 0, 1), touchstone.Error), (lambda: s.parse("a +"), touchstone.ParseError),
    (lambda: s.parse("a +"), ValueError), (lambda: s.parse("(" * 100000), touchstone.ParseError),
    (lambda: A.evaluate({}), touchstone.Error), (lambda: A.evaluate({"a": 2**70}), TypeError),
    (lambda: s.prove("x ->"), touchstone.ParseError), (lambda: s.and_(), TypeError),
    (lambda: s.steps("a", {}), touchstone.ParseError), (lambda: (A + 1).name, AttributeError),
    (lambda: s.Variable(3, 0, 1), TypeError), (lambda: A / 2, TypeError), (lambda: A ** A, TypeError), (lambda: A & 6, ValueError)])
def test_what_is_wrong_is_an_exception(wrong, kind):
    with pytest.raises(kind):
        wrong()


def test_threads_build_the_same_nodes():
    results = []

    def work():
        n = A
        for i in range(300):
            n = (n * 3 + i) // 2 % 1000
        results.append(n)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(r == results[0] for r in results)
