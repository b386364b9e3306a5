import os
import pydoc
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import touchstone
from touchstone import testing


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def test_a_softmax_is_legal_and_a_wrong_one_is_not(rng):
    x = rng.normal(size=(8, 33)).astype("f4")
    assert testing.assert_legal(softmax(x, 1), "softmax", x, axis=1).ok
    wrong = softmax(x, 1)
    wrong[3, 7] += np.float32(1e-4)
    with pytest.raises(AssertionError, match=r"softmax\(x, axis=1\): FAIL: 1 of 264 elements; first at \(3, 7.*legal is \["):
        testing.assert_legal(wrong, "softmax", x, axis=1)
    with pytest.raises(AssertionError):
        testing.assert_legal(softmax(x, 0), "softmax", x, axis=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


PLAIN = {
    "exp": np.exp, "log": lambda x: np.log(abs(x)), "exp2": np.exp2, "sqrt": lambda x: np.sqrt(abs(x)), "neg": np.negative,
    "abs": np.abs, "relu": lambda x: np.maximum(x, np.float32(0)), "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x),
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "max": lambda x: x.max(1), "min": lambda x: x.min(1),
    "var": lambda x: x.var(1), "cumsum": lambda x: x.cumsum(1), "softmax": lambda x: softmax(x, 1),
    "log_softmax": lambda x: np.log(softmax(x, 1)) if False else (x - x.max(1, keepdims=True)) - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)),
}
WITH_AXIS = {"sum", "mean", "max", "min", "var", "cumsum", "softmax", "log_softmax"}


@pytest.mark.parametrize("scale", [0.1, 1, 10])
@pytest.mark.parametrize("op", PLAIN)
def test_numpy_is_legal_and_numpy_with_a_fault_is_not(op, scale, rng):
    x = (rng.normal(size=(20, 37)) * scale).astype("f4")
    given = abs(x) if op in ("log", "sqrt") else x
    attributes = {"axis": 1} if op in WITH_AXIS else {}
    actual = PLAIN[op](given)
    assert testing.assert_legal(actual, op, given, **attributes).legal
    wrong = actual.copy()
    wrong.reshape(-1)[11] = wrong.reshape(-1)[11] * np.float32(1.01) + np.float32(0.01)
    with pytest.raises(AssertionError, match="FAIL"):
        testing.assert_legal(wrong, op, given, **attributes)


def test_operations_with_several_inputs(rng):
    f = lambda *shape: rng.normal(size=shape).astype("f4")  # noqa: E731
    a, b = f(17, 40), f(40, 9)
    testing.assert_legal(a @ b, "matmul", a, b)
    testing.assert_legal((a @ b) + f(9) * 0, "matmul", a, b)
    with pytest.raises(AssertionError):
        testing.assert_legal((a.astype("f2") @ b.astype("f2")).astype("f4"), "matmul", a, b)
    x, w, c = f(6, 33), f(33), f(33)
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5)) * w + c
    testing.assert_legal(normal, "layer_norm", x, w, c)
    testing.assert_legal(x / np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-6)) * w, "rms_norm", x, w)
    x, m, v, w, c = f(4, 3, 5), f(3), abs(f(3)), f(3), f(3)
    each = lambda a: a[:, None]  # noqa: E731
    testing.assert_legal((x - each(m)) / np.sqrt(each(v) + np.float32(1e-5)) * each(w) + each(c), "batch_norm", x, m, v, w, c)
    q, k, v = f(7, 8), f(9, 8), f(9, 8)
    scores = q @ k.T / np.sqrt(np.float32(8))
    testing.assert_legal(softmax(scores, 1) @ v, "attention", q, k, v)
    image, kernel = f(1, 2, 6, 6), f(3, 2, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(image[0], (3, 3), axis=(1, 2))
    testing.assert_legal(np.einsum("cijkl,ockl->oij", windows, kernel)[None], "conv2d", image, kernel)
    testing.assert_legal(image.reshape(1, 2, 3, 2, 3, 2).max((3, 5)), "max_pool2d", image, size=2, stride=2)
    testing.assert_legal(image.reshape(1, 2, 3, 2, 3, 2).mean((3, 5), dtype="f4"), "avg_pool2d", image, size=2, stride=2)
    logits, target = f(5, 11), np.array([0, 3, 10, 2, 2])
    shifted = logits - logits.max(1, keepdims=True)
    loss = -(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)))[np.arange(5), target]
    testing.assert_legal(loss, "cross_entropy", logits, target)
    testing.assert_legal(logits[[2, 0, 2]], "gather", logits, np.array([2, 0, 2]))
    testing.assert_legal(logits.astype("f2"), "cast", logits, to="f16")
    testing.assert_legal(logits + 2, "add", logits, 2)


def test_inputs_of_any_protocol_and_wrong_questions(rng):
    x = rng.normal(size=(4, 5)).astype("f4")
    testing.assert_legal(memoryview(np.sqrt(abs(x))), "sqrt", memoryview(abs(x)))
    testing.assert_legal((x.T * 2).copy(), "mul", x.T, 2.0)
    for wrong, kind in ((lambda: testing.assert_legal(x, "nonesuch", x), touchstone.ParseError),
                        (lambda: testing.assert_legal(x, "softmax", x, axs=1), TypeError),
                        (lambda: testing.assert_legal(x[0], "neg", x), touchstone.BufferError),
                        (lambda: testing.assert_legal(x.astype("f8"), "neg", x), touchstone.DTypeError),
                        (lambda: testing.assert_legal(None, "neg", x), TypeError),
                        (lambda: testing.assert_legal(-x, "neg", x, profile="{"), touchstone.ParseError)):
        with pytest.raises(kind):
            wrong()


def test_arguments_may_be_numbers_of_numpy():
    x = np.ones((3, 4), "f4")
    assert testing.assert_legal(x.sum(axis=0), "sum", x, axis=np.int64(0)).ok
    assert testing.assert_legal(x.sum(), "sum", x, axis=[np.int32(0), 1]).ok
    assert testing.assert_legal(x + np.float32(2), "add", x, np.float32(2)).ok


def test_a_scope_is_one_of_its_thread():
    zero, minus = np.array([0.0], "f4"), np.array([-0.0], "f4")
    inside, done = threading.Event(), threading.Event()
    heard = {}

    def lenient():
        inside.wait()
        with testing.judging(profile="vulkan") as records:
            testing.assert_legal(minus, "maximum", zero, minus)
            heard["lenient"] = len(records)
            done.set()
            finished.wait()

    def strict():
        with testing.judging(profile="ieee") as records:
            inside.set()
            done.wait()
            with pytest.raises(AssertionError):
                testing.assert_legal(minus, "maximum", zero, minus)
            heard["strict"] = len(records)
            finished.set()

    finished = threading.Event()
    threads = [threading.Thread(target=f) for f in (lenient, strict)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    assert heard == {"lenient": 1, "strict": 1}


def test_decorator_and_scope(rng):
    x = np.array([1e-40, 1], "f4")

    @testing.judged("mul", profile="ieee")
    def flushing(a, b):
        out = a * b
        return np.where(abs(out) < 1e-38, np.float32(0), out)
    with pytest.raises(AssertionError):
        flushing(x, np.ones(2, "f4"))
    assert flushing.__name__ == "flushing" and flushing(x[1:], x[1:])[0] == 1
    with testing.judging(profile="opencl") as records:
        testing.assert_legal(np.array([0, 1], "f4"), "mul", x, np.ones(2, "f4"))
    assert [r.verdict.status for r in records] == ["PASS"] and records[0].op == "mul" and not testing._listeners


def test_judge(rng):
    x = rng.normal(size=(4, 16)).astype("f4")
    assert touchstone.judge(np.exp2, reference="exp2", inputs=[x])
    assert touchstone.judge(lambda a, b: a @ b, reference="matmul", inputs=[(5, 7), (7, 3)]).status == "PASS"
    assert touchstone.judge(lambda a: softmax(a, 1), reference="softmax(x[4,16], axis=1)").status == "PASS"
    cut = touchstone.judge(lambda a, b: (a.astype("f2") @ b.astype("f2")).astype("f4"), reference="matmul", inputs=[(5, 7), (7, 3)])
    assert cut.status == "FAIL" and len(cut.index) >= 2 and cut.interval

    class Own(Exception):
        pass

    def breaks(*_):
        raise Own
    with pytest.raises(Own):
        touchstone.judge(breaks, reference="exp2", inputs=[x])
    with pytest.raises(TypeError):
        touchstone.judge(np.exp2, reference="exp2")


def test_what_a_function_writes_over_is_judged_as_it_was(rng):
    x = rng.normal(size=(4, 16)).astype("f4")
    kept = x.copy()

    def in_place(a):
        return np.exp2(a, out=a)
    assert touchstone.judge(in_place, reference="exp2", inputs=[x]) and not (x == kept).all()
    assert touchstone.judge(in_place, reference="exp2", inputs=[(4, 16)]) and touchstone.judge(in_place, reference="exp2(x[40])")
    with pytest.raises(TypeError, match="not both"):
        touchstone.judge(np.add, reference="add", inputs=[x, (4, 16)])


def test_infinite_rows_are_what_numpy_gives():
    inf, nan = np.inf, np.nan
    x = np.array([[1, inf, 2], [-inf] * 3, [-inf, 0, 0], [inf, -inf, inf], [nan, inf, 1], [3e38] * 3, [1, 2, 3]], "f4")
    with np.errstate(all="ignore"):
        testing.assert_legal(np.logaddexp.reduce(x.astype("f8"), axis=1).astype("f4"), "logsumexp", x, axis=1)
        testing.assert_legal(softmax(x, 1), "softmax", x, axis=1)
        testing.assert_legal(np.minimum(x, x[::-1]), "minimum", x, x[::-1].copy())
        with pytest.raises(AssertionError, match=r"first at \(0"):  # the earlier profile
            testing.assert_legal(np.full(7, nan, "f4"), "logsumexp", x, axis=1)
    least = np.array([[5, -2**31], [3, 4]], "i4")
    testing.assert_legal(least.min(1), "min", least, axis=1)
    testing.assert_legal(np.minimum(least, 7), "minimum", least, 7)
    testing.assert_legal((least > 3).min(1), "min", least > 3, axis=1)
    testing.assert_legal(least.astype("u8").min(1), "min", least.astype("u8"), axis=1)


def test_one_long_row(rng):
    n = 2**17
    x = rng.normal(size=(1, n)).astype("f4")
    verdict = testing.assert_legal(softmax(x, 1), "softmax", x, axis=1, weak_ok=True)
    assert verdict.checked == n and verdict.legal
    wrong = softmax(x, 1)
    wrong[0, n // 2] *= np.float32(1.5)
    with pytest.raises(AssertionError, match=r"1 of 131072 elements; first at \(0, 65536"):
        testing.assert_legal(wrong, "softmax", x, axis=1)


@pytest.mark.parametrize("op, formula", [("softmax", "softmax(x[8,33])"), ("exp", "exp(x[8,33])"), ("sum", "sum(x[8,33])"),
                                         ("mean", "mean(x[8,33])"), ("exp2", "exp2(x[8,33])"), ("relu", "relu(x[8,33])")])
def test_the_command_allows_what_python_does(op, formula, tmp_path, rng):
    from touchstone import kernel as k
    command = os.environ["TOUCHSTONE_COMMAND"]
    if not os.path.exists(command):
        pytest.skip("the command is not built")
    kernel = k.Kernel.from_formula(formula)
    x = (rng.normal(size=(8, 33)) * 20).astype("f4")
    right = k.eval(kernel, x)
    np.save(tmp_path / "x.npy", x)
    for factor in (1, 1 + 2e-6, 1 + 2e-5, 1.001):
        y = right * np.float32(factor)
        np.save(tmp_path / "y.npy", y)
        run = subprocess.run([command, "check", "--op", formula, "--in", tmp_path / "x.npy", "--out", tmp_path / "y.npy"],
                             capture_output=True, text=True,
                             env={**os.environ, "LD_PRELOAD": ""})  # it has its own sanitizer
        try:
            testing.assert_legal(y, op, x, weak_ok=True)
            assert run.returncode in (0, 3), run
        except AssertionError as refused:
            assert run.returncode in (1, 5) and run.stdout.splitlines()[0].replace("[8,33]", "") in str(refused), (run, refused)


def test_the_plugin_makes_a_table_and_a_page(tmp_path):
    (tmp_path / "test_it.py").write_text("""
import numpy as np
from touchstone.testing import assert_legal
x = np.linspace(-1, 1, 64, dtype="f4").reshape(4, 16)
def test_right():
    assert_legal(-x, "neg", x)
def test_wrong():
    assert_legal(x.sum(1) * np.float32(1.001), "sum", x, axis=1)
""")
    page = tmp_path / "report.html"
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                          f"--touchstone-report={page}", "test_it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1 and "2 verdicts: 1 FAIL, 1 PASS" in run.stdout and "exact" in run.stdout
    html = page.read_text()
    assert html.count("<tr class=") == 2 and "sum(x, axis=1)" in html and "test_it.py::test_wrong" in html


@pytest.mark.parametrize("words, code, shown", [
    (["--touchstone-report", "test_it.py"], 0, "1 verdicts: 1 PASS"), (["test_it.py", "--touchstone-report"], 0, "1 verdicts: 1 PASS"),
    (["--touchstone-report", "page.html", "test_it.py"], 0, "1 verdicts: 1 PASS"),
    (["--touchstone-report=test_it.py", "test_it.py"], 4, "ends in .html"), (["--touchstone-report=no/p.html", "test_it.py"], 4, "no such folder"),
    (["--touchstone-report=folder.html", "test_it.py"], 4, "that is a folder")])
def test_the_plugin_writes_over_no_test(tmp_path, words, code, shown):
    text = """
import os
import numpy as np
from touchstone.testing import assert_legal
def test_right():
    os.chdir("/")
    assert_legal(-np.ones(2), "neg", np.ones(2))
"""
    (tmp_path / "test_it.py").write_text(text)
    (tmp_path / "folder.html").mkdir()
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == code and shown in run.stdout + run.stderr and "INTERNAL" not in run.stdout + run.stderr, run
    assert (tmp_path / "test_it.py").read_text() == text and (tmp_path / "page.html").exists() == ("page.html" in words)


@pytest.mark.parametrize("arguments, code, shown", [
    (["numpy", "--ops", "exp2,matmul"], None, "matmul-float32 PASS"), (["numpy", "--ops", "add"], 0, "add-float32 PASS"),
    (["numpy", "--ops", "conv2d"], 4, "unsupported"), (["numpy", "--ops", "nonesuch"], 2, ""), (["nonesuch"], 2, "")])
def test_packages_are_judged_by_a_command(arguments, code, shown):
    run = subprocess.run([sys.executable, "-B", "-m", "touchstone.judge", *arguments], capture_output=True, text=True)
    assert shown in run.stdout and "Traceback" not in run.stderr and (code is None or run.returncode == code), run


def test_the_same_operations_are_listed_everywhere():
    listed = subprocess.run([os.environ["TOUCHSTONE_COMMAND"], "kernel", "--list"], env={**os.environ, "LD_PRELOAD": ""}, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^\s*([a-z_0-9]+)\(", listed, re.M))
    assert len(names) > 200
    with open(os.path.join(os.environ["TOUCHSTONE_SOURCE"], "docs", "define.md")) as page:
        for where, text in (("docs/define.md", page.read()), ("help(touchstone.testing)", pydoc.render_doc(testing, renderer=pydoc.plaintext))):
            assert not names - set(re.findall(r"[a-z_0-9]+", text)), where
