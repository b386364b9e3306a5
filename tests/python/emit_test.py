"""Kernels in other languages: what is emitted runs in NumPy, PyTorch and our reader of ONNX, and judges the same."""
import os
import pathlib
import re
import subprocess
import sys
import types

import numpy as np
import pytest

import touchstone.onnx
from touchstone import ParseError
from touchstone.kernel import Kernel, check

BACKEND = pathlib.Path(os.environ["TOUCHSTONE_SOURCE"], "fuzz", "backends", "emitted_backend.py")
X = np.random.default_rng(2).standard_normal((4, 6)).astype(np.float32)


def function(kernel, language):
    space = {}
    exec(kernel.emit(language), space)
    return space["kernel"]


@pytest.mark.parametrize("formula", [
    "softmax(x[4,6])", "layer_norm(x[4,6])", "transpose(x[4,6]) @ x", "flip(pad(x[4,6], before=[1,0], after=[0,2]), axis=[1])",
    "sum(where(x[4,6] > 0, x, 0.5), axis=0)", "sigmoid(x[4,6])", "cast(x[4,6] * 3, i8)", "max_pool2d(reshape(x[4,6], shape=[1,1,4,6]), size=2)"])
def test_every_language_gives_a_legal_result(formula):
    kernel = Kernel.from_formula(formula)
    assert check(kernel, [X], function(kernel, "numpy")(X), "library").ok
    assert check(kernel, [X], touchstone.onnx.run(kernel.emit("onnx"), {"in1": X})["out"]).ok
    torch = pytest.importorskip("torch")
    made = function(kernel, "torch")(torch.from_numpy(X))
    assert check(kernel, [X], made, "library").ok
    assert not check(kernel, [X], np.asarray(made) + 1, "library").ok


def test_models_are_valid_by_onnx_s_own_checker():
    onnx = pytest.importorskip("onnx")
    for formula in ("softmax(x[4,6])", "conv2d(x[1,2,6,6], w[3,2,3,3])", "index_select(x[5,3], i[2]:i64)", "log2(x[3])"):
        model = onnx.load_model_from_string(Kernel.from_formula(formula).emit("onnx"))
        onnx.checker.check_model(model, full_check=True)


def test_what_a_language_cannot_say_is_named():
    assert "stablehlo.exponential" in Kernel.from_formula("softmax(x[2,3])").emit("stablehlo")
    with pytest.raises(ParseError, match="NumPy cannot say 'erf' of float32"):
        Kernel.from_formula("erf(x[3])").emit("numpy")
    with pytest.raises(ParseError, match="unknown language 'onxx'; did you mean 'onnx'"):
        Kernel.from_formula("exp(x[3])").emit("onxx")


def fuzz(tmp_path, engine, cases, seed=0, known=()):
    """How many drawn kernels PASS; finding none but `known` deviations of the engine is asserted."""
    run = subprocess.run(
        [os.environ["TOUCHSTONE_COMMAND"], "fuzz", "--area", "kernel", "--backend", f"{sys.executable} -W ignore {BACKEND} {engine}", "--memory", "0",
         "--cases", str(cases), "--seed", str(seed), "--jobs", "1", "--timeout", "240", "--findings", str(tmp_path / "found")],
        capture_output=True, text=True, timeout=900)
    found = re.findall(r"^FAIL kernel.*\n.*", run.stdout, re.M)
    assert run.returncode == bool(found) and all(any(k in f for k in known) for f in found), run.stdout + run.stderr
    return int(re.search(r"(\d+) PASS", run.stdout)[1])


@pytest.mark.parametrize("engine, cases", [("numpy", 600), ("touchstone", 600)])
def test_drawn_kernels_read_back_judge_the_same(tmp_path, engine, cases):
    assert fuzz(tmp_path, engine, cases) >= 300


def test_drawn_kernels_run_in_pytorch(tmp_path):
    """PyTorch 1.13 casts float64 to 16 bits by way of float32, and its fmod of the least integer by -1 traps."""
    pytest.importorskip("torch")
    assert fuzz(tmp_path, "torch", 830, 2, ("CAST bfloat16 gave", "CAST float16 gave", "signal 8")) >= 300


def test_a_suite_is_answered_from_its_programs(tmp_path):
    command = os.environ["TOUCHSTONE_COMMAND"]
    subprocess.run([command, "emit", tmp_path / "s", "--op", "rms_norm(x[3,8])", "--as", "onnx,numpy"], check=True, capture_output=True)
    for engine in ("touchstone", "numpy"):
        ran = subprocess.run([sys.executable, "-W", "ignore", BACKEND, engine, "--suite", tmp_path / "s"], check=True, capture_output=True, text=True).stdout
        assert re.match(r"(\d+) of \1 outputs", ran), ran
        assert " 0 FAIL, 0 UNUSABLE" in subprocess.run([command, "judge", tmp_path / "s"], check=True, capture_output=True, text=True).stdout


def test_a_finding_is_reported_in_the_engine_s_language(tmp_path):
    """A fault of the engine: kernel.onnx, its inputs and the wrong answer are in the folder."""
    faulty = tmp_path / "faulty.py"
    faulty.write_text(f"import sys; sys.path.insert(0, {str(BACKEND.parent)!r})\nimport touchstone.onnx\nright = touchstone.onnx.run\n"
                      "def wrong(model, inputs):\n    made = right(model, inputs)\n"
                      "    return {n: a + (a > 1).astype(a.dtype) if a.dtype.kind == 'f' else a for n, a in made.items()}\n"
                      "touchstone.onnx.run = wrong\nsys.argv[1:] = ['touchstone']\nimport emitted_backend\nemitted_backend.main()\n")
    run = subprocess.run([os.environ["TOUCHSTONE_COMMAND"], "fuzz", "--area", "kernel", "--backend", f"{sys.executable} {faulty}", "--memory", "0", "--cases",
                          "60", "--jobs", "1", "--timeout", "240", "--findings", str(tmp_path / "found")], capture_output=True, text=True, timeout=900)
    assert run.returncode == 1, run.stdout + run.stderr
    folder = next((tmp_path / "found").glob("kernel-*/kernel.onnx")).parent
    inputs = {f"in{i + 1}": np.load(p).reshape(-1) for i, p in enumerate(sorted(folder.glob("input-*.npy")))}
    kernel = Kernel.from_json((folder / "kernel.json").read_text())
    right = touchstone.onnx.run((folder / "kernel.onnx").read_bytes(), inputs)["out"]
    assert check(kernel, list(inputs.values()), right).ok and not check(kernel, list(inputs.values()), np.load(folder / "answer.npy").reshape(right.shape)).ok


def test_a_backend_gets_programs_and_is_not_asked_for_what_its_language_lacks(tmp_path):
    backend = tmp_path / "mine.py"
    backend.write_text("import base64, json, sys\nimport numpy as np\nprint(json.dumps({'touchstone_backend': 1, 'name': 'mine', 'programs': sys.argv[1]}), flush=True)\n"
                       "input()\nfor line in sys.stdin:\n    ask = json.loads(line)\n    space = {}\n    exec(ask['program'], space)\n"
                       "    given = [np.frombuffer(base64.b64decode(i['base64']), i['dtype']) for i in ask['inputs']]\n"
                       "    print(json.dumps({'id': ask['id'], 'output': base64.b64encode(space['kernel'](*given).tobytes()).decode()}), flush=True)\n")

    def judged(language):
        return subprocess.run([os.environ["TOUCHSTONE_COMMAND"], "judge", "--backend", f"{sys.executable} -W ignore {backend} {language}", "--ops", "neg",
                               "--dtypes", "f32,bf16,i8", "-n", "20"], capture_output=True, text=True)
    ran = judged("numpy")
    assert ran.returncode == 0 and re.search(r"10 PASS, 0 WEAK, 0 FAIL, 0 UNUSABLE, 5 unsupported", ran.stdout), ran.stdout + ran.stderr
    assert "unknown language 'cobol'; choose from: numpy" in judged("cobol").stderr


def test_jax_s_functions_run_on_a_stand_in(monkeypatch):
    """NumPy under JAX's names; the functions themselves are tried where JAX is."""
    jax = types.ModuleType("jax")
    jax.config, jax.lax, jax.numpy = types.SimpleNamespace(update=lambda *a: None), types.SimpleNamespace(rem=np.fmod), np
    jax.nn = types.SimpleNamespace(sigmoid=lambda x: 1 / (1 + np.exp(-x)))
    for name, module in (("jax", jax), ("jax.numpy", np)):
        monkeypatch.setitem(sys.modules, name, module)
    for formula in ("softmax(x[4,6])", "flip(pad(x[4,6], before=[1,0], after=[0,2]), axis=[1])", "sigmoid(x[4,6])", "x[4,6] % 0.75"):
        kernel = Kernel.from_formula(formula)
        assert check(kernel, [X], function(kernel, "jax")(X), "library").ok
