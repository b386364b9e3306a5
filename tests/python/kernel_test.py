import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import touchstone
from touchstone import kernel as k

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def copy_of(dtype, shape):
    return k.store(k.load(1, shape, dtype) * 1 if dtype == "bool" else k.load(1, shape, dtype).reshape(list(shape)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_goes_in_and_comes_out(dtype, rng):
    x = rng.integers(0, 2 if dtype == "bool" else 100, (3, 4)).astype(dtype)
    out = k.eval(k.store(k.load(1, (3, 4), dtype).permute([1, 0])), x)
    assert out.dtype == x.dtype and (out == x.T).all()


def layouts(x):
    wide = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    wide[::2, 1::3] = x
    yield "row-major", x, False
    yield "column-major", np.asfortranarray(x), True
    yield "strided", wide[::2, 1::3], True
    yield "backwards", x[::-1, ::-1].copy()[::-1, ::-1], True
    yield "read-only", np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape), False
    yield "memoryview", memoryview(x), False
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:]
    yield "unaligned", shifted.view(x.dtype).reshape(x.shape), True


def test_layouts_are_copied_only_where_they_must(rng):
    x = rng.normal(size=(3, 4)).astype("f4")
    doubled = k.store(k.load(1, (3, 4)) * 2.0)
    for name, array, copied in layouts(x):
        assert (k.eval(doubled, array) == 2 * x).all(), name
        assert k._kernel._layout(array) == ("float32", (3, 4), copied), name


class Interface:
    """An array with __array_interface__ only."""

    def __init__(self, array, **changed):
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, **changed}


class DLPack:
    """An array with DLPack only."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_other_protocols(rng):
    x = rng.normal(size=(3, 4)).astype("f4")
    doubled = k.store(k.load(1, (3, 4)) * 2.0)
    for given in (Interface(x), DLPack(x), Interface(x.T.copy().T), DLPack(np.asfortranarray(x)), x.__dlpack__()):
        assert (k.eval(doubled, given) == 2 * x).all()
    used = x.__dlpack__()
    k.eval(doubled, used)
    with pytest.raises(TypeError):  # a capsule can be consumed once
        k.eval(doubled, used)
    with pytest.raises(touchstone.BufferError, match="copy it to the host"):
        k.eval(doubled, DLPack(x, (2, 0)))


def test_bfloat16_and_float8_as_bits(rng):
    x = rng.normal(size=5).astype("f4")
    bits = (x.view("u4") >> 16).astype("u2")  # truncated to bfloat16
    kernel = k.store(k.load(1, (5,), "bfloat16").cast("float32"))
    assert (k.eval(kernel, bits).view("u4") == bits.astype("u4") << 16).all()
    assert (k.eval(kernel, k.as_dtype(bits, "bfloat16")).view("u4") == bits.astype("u4") << 16).all()
    out = k.eval(k.store(k.load(1, (5,), "bfloat16").reshape([5])), bits)
    assert out.itemsize == 2 and (np.asarray(out).view("u2") == bits).all()
    assert k.eval(k.store(k.load(1, (1,), "float8_e5m2").cast("float32")), np.array([0x3c], "u1")).tolist() == [1.0]
    with pytest.raises(touchstone.DTypeError):
        k.eval(k.store(k.load(1, (5,), "float32") + 1.0), bits)


def test_bfloat16_of_ml_dtypes(rng, monkeypatch):
    """By ml_dtypes' type names and NumPy's array interface for them."""
    import sys
    import types
    bits = rng.integers(0, 1 << 15, 6).astype("u2")

    class Array:
        dtype = types.SimpleNamespace(name="bfloat16")

        def __init__(self, **changed):
            self.__array_interface__ = {**bits.__array_interface__, "typestr": "<V2", **changed}
    kernel = k.store(k.load(1, (6,), "bfloat16").reshape([6]))
    assert (k.eval(kernel, Array()).view("u2") == bits).all() and k._kernel._layout(Array()) == ("bfloat16", (6,), False)
    with pytest.raises(touchstone.DTypeError):
        k.eval(kernel, Array(typestr="<V4"))
    monkeypatch.setitem(sys.modules, "ml_dtypes", types.SimpleNamespace(bfloat16="i2"))
    assert k.eval(kernel, bits).dtype == "int16"


class BadIndex:
    def __index__(self):
        raise KeyError("no number")


def test_sums_are_exact(rng):
    x = (rng.normal(size=1000) * 10.0 ** rng.integers(-20, 20, 1000)).astype("f4")
    import fractions
    exact = float(sum(map(fractions.Fraction, x.tolist())))
    assert k.eval(k.store(k.reduce_sum(k.load(1, (1000,)))), x) == np.float32(exact)


def test_verdicts(rng):
    x = rng.normal(size=(8, 33)).astype("f4")
    kernel = k.store(k.softmax(k.load(1, x.shape), axis=1))
    right = k.eval(kernel, x)
    v = k.check(kernel, [x], right)
    assert v and v.ok and v.status == "PASS" and v.checked == 264 and v.index is None and v.interval is None and 0 < v.power < 1e-4
    wrong = right.reshape(8, 33).copy()
    wrong[3, 7] *= np.float32(1.001)
    v = k.check(kernel, [x], wrong)
    assert not v and v.status == "FAIL" and v.index[:2] == (3, 7) and v.wrong == 1
    low, high = v.interval
    assert low <= right.reshape(8, 33)[3, 7] <= high and not low <= wrong[3, 7] <= high and v.candidate == wrong[3, 7]
    assert "first at (3, 7" in v.explanation and "FAIL" in repr(v)
    nan = right.copy()
    nan.reshape(-1)[0] = np.nan
    assert k.check(kernel, [x], nan).index == (0, 0, 0, 0)
    assert k.combine([k.check(kernel, [x], right), v]).status == "FAIL"


def test_profiles(rng):
    x = np.array([1e-40], "f4")
    kernel = k.store(k.load(1, (1,)) * 1.0)
    assert not k.check(kernel, [x], np.zeros(1, "f4")) and k.check(kernel, [x], np.zeros(1, "f4"), profile="opencl").legal
    with pytest.raises(touchstone.ParseError):
        k.check(kernel, [x], x, profile="nonesuch")


def test_explain_and_blame(rng):
    x = rng.normal(size=(4, 5)).astype("f4")
    kernel = k.store(k.exp2(k.load(1, (4, 5))) * 3.0)
    nodes = k.explain(kernel, [x], (2, 3))
    assert any("EXP2" in n.text for n in nodes)
    assert nodes[-1].interval[0] <= np.exp2(x[2, 3]) * np.float32(3) <= nodes[-1].interval[1]

    def run(prefix, *inputs):  # exp2 errs
        out = k.eval(prefix, *inputs)
        return out * np.float32(1.01) if "EXP2" in str(prefix) else out
    found = k.blame(kernel, [x], run)
    assert found.node.startswith("EXP2") and found.runs >= 1 and found.verdict.status == "FAIL"
    assert k.blame(kernel, [x], lambda prefix, *inputs: k.eval(prefix, *inputs)).node is None


def test_exceptions_of_callbacks_come_back(rng):
    kernel = k.store(k.exp2(k.load(1, (4,))))

    class Own(Exception):
        pass

    def run(*_):
        raise Own("here")
    with pytest.raises(Own, match="here"):
        k.blame(kernel, [np.ones(4, "f4")], run)
    with pytest.raises(TypeError, match="not an array"):
        k.blame(kernel, [np.ones(4, "f4")], lambda *_: object())
    with pytest.raises(touchstone.BufferError):
        k.blame(kernel, [np.ones(4, "f4")], lambda *_: np.ones(3, "f4"))
    assert k.eval(kernel, np.ones(4, "f4"))[0] == 2  # and no lock is held


def test_kernels_travel():
    kernel = k.Kernel.from_formula("softmax(x[4,8], axis=1) * 2")
    assert k.Kernel.from_json(kernel.to_json()) == kernel == pickle.loads(pickle.dumps(kernel))
    assert kernel.shape[:2] == (4, 8) and kernel.dtype == "float32" and len(kernel.hash) == 32 and "REDUCE_SUM" in str(kernel)
    assert kernel.cost[0] > 0


def test_definitions_are_functions():
    x = k.load(1, (2, 3))
    for name, (signature, summary, group) in k.definitions.items():
        assert signature in getattr(k, name).__doc__ and summary in getattr(k, name).__doc__ and group
    assert k.store(k.softmax(x, axis=1)) == k.store(k.call("softmax", x, 1))
    with pytest.raises(TypeError, match="did you mean 'axis'"):
        k.softmax(x, axs=1)
    for wrong in (lambda: k.softmax(), lambda: k.softmax(x, 1, 2), lambda: k.softmax("x"), lambda: k.softmax(x, axis=[1.5])):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(touchstone.ShapeError):
        k.softmax(x, axis=7)
    with pytest.raises(touchstone.ParseError):
        k.call("sofmax", x)


@pytest.mark.parametrize("given, kind", [
    (object(), TypeError), (None, TypeError), ([1.0, 2.0], TypeError), ("ab", TypeError), (3, TypeError),
    (np.ones(2, "f8"), touchstone.DTypeError), (np.ones(2, ">f4"), touchstone.DTypeError),
    (np.ones(2, "c8"), touchstone.DTypeError), (np.array([None, None]), Exception),
    (np.zeros(2, [("a", "f4")]), touchstone.DTypeError), (np.ones(1, "f4"), touchstone.BufferError),
    (b"12345678", touchstone.DTypeError), (Interface(np.ones(2, "f4"), typestr="<f3"), touchstone.DTypeError),
    (Interface(np.ones(2, "f4"), typestr=">f4"), touchstone.DTypeError), (Interface(np.ones(2, "f4"), shape=(-2,)), touchstone.BufferError),
    (Interface(np.ones(2, "f4"), shape=(2**62, 2**62), strides=None), touchstone.BufferError),
    (Interface(np.ones(2, "f4"), data=(0, True)), touchstone.BufferError), (Interface(np.ones(2, "f4"), data=()), touchstone.BufferError),
    (Interface(np.ones(2, "f4"), strides=(4, 4)), touchstone.BufferError),
    (Interface(np.ones(2, "f4"), shape="ab"), TypeError), (Interface(np.ones(2, "f4"), typestr=3), TypeError), (Interface(np.ones(2, "f4"), data="ab"), Exception), (BadIndex(), TypeError),
    (type("Wrong", (), {"__dlpack__": lambda self: 3})(), Exception), (type("Wrong", (), {"__array_interface__": 3})(), TypeError)])
def test_what_is_no_such_array_is_an_exception(given, kind):
    with pytest.raises(kind):
        k.eval(k.store(k.load(1, (2,)) + 1.0), given)


def test_buffers_in_array_interfaces():
    x = np.arange(8, dtype="f4")
    doubled = k.store(k.load(1, (2,)) * 2.0)
    assert k.eval(doubled, Interface(x, data=x)).tolist() == [0, 2]
    assert k.eval(doubled, Interface(x, data=x, shape=(2,), offset=4, strides=(8,))).tolist() == [2, 6]
    assert k.eval(doubled, Interface(x, data=bytearray(x.tobytes()), shape=(2,), offset=28, strides=(-4,))).tolist() == [14, 12]
    for changed in ({"shape": (9,)}, {"offset": 4}, {"offset": -4, "shape": (1,)}, {"strides": (8,)}, {"strides": (-4,)},
                    {"strides": (2**62,)}, {"shape": (2**62,)}):
        with pytest.raises((touchstone.BufferError, touchstone.OverflowError)):
            k.eval(doubled, Interface(x, data=x, **changed))
    for data in (None, 3.5, (1.0, False), ("ab", False), object()):
        with pytest.raises(touchstone.BufferError):
            k.eval(doubled, Interface(x, data=data))
    with pytest.raises(touchstone.BufferError, match="mask"):
        k.eval(doubled, Interface(x, mask=x))
    for wrong in ("x", (), None):
        with pytest.raises(TypeError):
            k.eval(doubled, DLPack(x, wrong))


@pytest.mark.parametrize("name", ["__array_interface__", "__dlpack__", "__dlpack_device__"])
def test_what_an_array_raises_comes_back(name):
    class Own(Exception):
        pass

    def raises(self, *args, **kwargs):
        raise Own(name)
    members = {"__dlpack__": lambda self, stream=None: np.ones(2, "f4").__dlpack__(), name: raises}
    asked = type("Raises", (), {name: property(raises)} if name != "__dlpack_device__" else members)()
    with pytest.raises(Own, match=name):
        k.eval(k.store(k.load(1, (2,)) + 1.0), asked)


def test_formulas_compare_but_do_not_decide():
    x = k.load(1, (4,))
    values = np.array([1, 2, 3, np.nan], "f4")
    for made, wanted in ((x <= 2.0, values <= 2), (x >= 2.0, values >= 2), (x < 2.0, values < 2), (2.0 >= x, values <= 2)):
        assert (k.eval(k.store(made), values) == wanted).all()
    for decides in (lambda: bool(x < 2.0), lambda: 0.0 < x < 2.0, lambda: not x):
        with pytest.raises(TypeError, match="where"):
            decides()


def test_wrong_outputs():
    kernel = k.store(k.load(1, (2, 3)) + 1.0)
    x = np.ones((2, 3), "f4")
    for wrong, kind in ((np.ones((3, 2), "f4"), touchstone.BufferError), (np.ones(6, "f4"), touchstone.BufferError),
                        (np.ones((2, 3)), touchstone.DTypeError), (None, TypeError)):
        with pytest.raises(kind):
            k.check(kernel, [x], wrong)
    with pytest.raises(touchstone.BufferError, match="2 inputs given, but the kernel has 1"):
        k.eval(kernel, x, x)
    with pytest.raises(touchstone.BufferError, match="neither 0 nor 1"):
        k.eval(k.store(k.load(1, (2,), "bool") * 1), np.array([0, 2], "u1").view(bool))


def test_shapes_beyond_memory_are_refused():
    for make in (lambda: k.load(1, (2**40, 2**40)), lambda: k.load(1, (-1,)), lambda: k.load(0, (1,)), lambda: k.load(1, (2,), "nonesuch")):
        with pytest.raises(touchstone.Error):
            make()
    kernel = k.store(k.load(1, (1,)).expand([2**45]) * 1.0)
    with pytest.raises((touchstone.Error, MemoryError)):
        k.eval(kernel, np.ones(1, "f4"))


def test_arrays_stay_while_they_are_used():
    array = bytearray(b"\1" * 64)
    kernel = k.store(k.exp2(k.load(1, (64,), "uint8").cast("float32")))

    def run(prefix, *inputs):
        with pytest.raises(BufferError):  # it is in use
            array.clear()
        return k.eval(prefix, *inputs) + np.float32(1)
    assert k.blame(kernel, [array], run).node
    array.clear()  # no reference is left
    elements = k._kernel._eval(k.store(k.load(1, (2,)) + 1.0), np.ones(2, "f4"))
    view = memoryview(elements)
    del elements
    assert view.tolist() == [2.0, 2.0]


def test_threads_and_forks(rng):
    x = rng.normal(size=(64, 512)).astype("f4")
    kernel = k.store(k.softmax(k.load(1, x.shape)))
    wanted = k.eval(kernel, x)
    stop, results = threading.Event(), []

    def work():
        while not stop.is_set():
            results.append((k.eval(kernel, x) == wanted).all())
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            ok = False
            try:
                from touchstone.symbolic import Variable
                ok = bool((k.eval(kernel, x) == wanted).all()) and str(Variable("a", 0, 9) // 10) == "0"
            finally:
                os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stop.set()
    for t in threads:
        t.join()
    assert results and all(results)


def test_other_threads_run_meanwhile():
    x = np.ones((1500, 2000), "f4")
    kernel = k.store(k.log_softmax(k.load(1, x.shape)))
    done, count = threading.Event(), 0

    def work():
        k.eval(kernel, x)
        done.set()
    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
    thread.join()
    assert count > 100


@pytest.mark.parametrize("work", ["k.eval(asked, x)", "k.check(asked, [x], y)", "symbolic.steps('(a*4 + b)//4', {'a': (0, 10), 'b': (0, 3)})",
                                  "(Tensor(x) + 1).numpy()"])
def test_python_ends_while_threads_work(work):
    """Daemon threads are inside the library when the interpreter ends."""
    code = f"""
import threading, time
import numpy as np
from touchstone import Tensor, kernel as k, symbolic
x = np.ones((64, 257), "f4")
asked = k.store(k.softmax(k.load(1, x.shape)))
y = k.eval(asked, x)
def forever():
    while True:
        {work}
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 and not run.stderr, run


def test_the_keyboard_interrupts(rng):
    x = rng.normal(size=(3000, 3000)).astype("f4")
    kernel = k.store(k.log_softmax(k.load(1, x.shape)))
    started = time.perf_counter()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            k.eval(kernel, x)
    assert time.perf_counter() - started < 60
    assert k.eval(k.store(k.load(1, (2,)) + 1.0), np.ones(2, "f4")).tolist() == [2.0, 2.0]


def test_what_is_read_is_not_written():
    x = np.ones(4, "f4")
    x.flags.writeable = False
    assert k.eval(k.store(k.load(1, (4,)) + 1.0), x).tolist() == [2.0] * 4 and x.tolist() == [1.0] * 4
    address = ctypes.addressof(ctypes.c_float.from_buffer(bytearray(4)))
    assert address


def test_a_formula_is_judged_alike_however_it_is_given():
    x = np.array([[1, 1, 1], [1, 1, 0]], "f4")
    sixth = np.float32(x.sum()) * np.float32(1 / 6)
    zeros = [np.array(v, "f4") for v in ([0.0, -0.0], [-0.0, 0.0])]
    for op, formula, inputs, right in (("mean", "mean(x[2,3])", [x], np.array(sixth)),
                                       ("maximum", "maximum(x[2], y[2])", zeros, zeros[1])):
        kernel = k.Kernel.from_formula(formula)
        assert (kernel.profile, kernel.definition) == ("library", formula)
        assert k.Kernel.from_json(kernel.to_json()).profile == "glibc"
        for verdict in (k.check(kernel, inputs, right), touchstone.testing.assert_legal(right, op, *inputs),
                        touchstone.judge(lambda *_: right, formula, inputs), touchstone.judge(lambda *_: right, op, inputs),
                        k.check(pickle.loads(pickle.dumps(kernel)), inputs, right)):
            assert (verdict.status, verdict.profile) == ("PASS", "library")
        strict = k.check(kernel, inputs, right, "ieee")
        assert (strict.status, strict.profile_from) == ("FAIL", "named by the caller")
        assert " under library (the formula names library functions); " in str(k.check(kernel, inputs, (right + 1).astype("f4")))


def test_a_formulas_output_has_the_users_shape():
    for text, given, shape in (("softmax(x[2,3])", (2, 3), (2, 3)), ("mean(x[6])", 6, ()), ("x[6,6] @ x", (6, 6), (6, 6))):
        kernel = k.Kernel.from_formula(text)
        assert kernel.shape == k.eval(kernel, np.ones(given, "f4")).shape == shape
    with pytest.raises(touchstone.BufferError, match=r"the output has shape \(3, 2\), expected \(2, 3\)"):
        k.check(k.Kernel.from_formula("softmax(x[2,3])"), [np.ones((2, 3), "f4")], np.ones((3, 2), "f4"))


@pytest.mark.parametrize("columns", [15, 16, 40])
def test_elements_read_by_position_and_repeated_along_a_row_are_those(columns):
    x = np.random.default_rng(0).normal(size=(4, columns)).astype("f4")
    i = np.int64([[3], [7], [1], [9]])
    made = k.Kernel.from_formula(f"x[4,{columns}] - take_along(x, i[4,1]:i64, axis=1)")
    right = x - np.take_along_axis(x, i, 1)
    assert k.check(made, [x, i], right, "ieee").status == "PASS"
    assert k.check(made, [x, i], x - x[[3, 3, 3, 3], :1], "ieee").status == "FAIL"
    table, y = np.arange(10, dtype="f4").reshape(10, 1), np.ones((4, columns), "f4")
    made = k.Kernel.from_formula(f"take_along(t[10,1], i[4,1]:i64, axis=0) + y[4,{columns}]")
    assert k.check(made, [table, i, y], table[[3, 7, 1, 9]] + y, "ieee").status == "PASS"
    assert k.check(made, [table, i, y], table[[3, 3, 3, 3]] + y, "ieee").status == "FAIL"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape, axes", [
    ((3, 7), 1), ((3, 128), 1), ((3, 1000), 1), ((3, 8193), 1), ((3, 30000), 1), ((300, 3), 0), ((300, 1), 0), ((40, 2, 130), (0, 2)),
    ((40, 2, 130), (1, 2)), ((3, 2, 9000), (0, 2)), ((20, 30, 2), (0, 1)), ((2, 9000, 3), 1), ((30, 2, 5, 1, 9), (0, 2, 4))])
def test_numpys_order_of_sums_is_replayed(dtype, shape, axes):
    x = np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)
    made = k.Kernel.from_formula(f"sum(x[{','.join(map(str, shape))}]:{dtype}, axis={str(axes).replace('(', '[').replace(')', ']')})")
    profile = '{"name": "numpy sums", "base": "glibc", "sum": "numpy"}'
    sums = x.sum(axes)
    assert k.check(made, [x], sums, profile).status == "PASS"
    assert k.check(made, [x], np.nextafter(sums, np.asarray(np.inf, dtype)), profile).status == "FAIL"


@pytest.mark.parametrize("formula, shape, axes", [
    ("sum(transpose(x[40,130]), axis=[0,1])", (40, 130), (0, 1)), ("sum(permute(x[5,40,130], dims=[2,1,0]), axis=[0,1])", (5, 40, 130), (1, 2)),
    ("sum(permute(x[40,5,130], dims=[2,1,0]), axis=[0,2])", (40, 5, 130), (0, 2)), ("sum(transpose(x[40,130]), axis=0)", (40, 130), 1)])
def test_numpys_sums_of_permuted_arrays_are_legal(formula, shape, axes):
    x = np.random.default_rng(5).normal(size=shape).astype("float32")
    profile = '{"name": "numpy sums", "base": "glibc", "sum": "numpy"}'
    found = k.check(k.Kernel.from_formula(formula), [x], np.asarray(x.sum(axes)), profile)
    assert found.status in ("PASS", "WEAK")


def test_numpys_sums_of_float16_under_library():
    x = np.random.default_rng(6).normal(size=(3, 1000)).astype("float16")
    made = k.Kernel.from_formula("sum(x[3,1000]:f16, axis=1)")
    profile = '{"name": "numpy sums", "base": "library", "sum": "numpy"}'
    assert k.check(made, [x], x.sum(1), profile).status == "PASS"
    assert k.check(made, [x], np.nextafter(x.sum(1), np.float16(np.inf)), profile).status == "FAIL"


def test_exp_next_to_the_middle_of_two_numbers():
    x = np.array([float.fromhex("0x1.46ad1bb23025ap+9")])
    right = np.array([0x7ad80e236b24fcf5], "u8").view("f8")
    assert k.check(k.Kernel.from_formula("exp(x[1]:f64)"), [x], right, "ieee").status == "PASS"
