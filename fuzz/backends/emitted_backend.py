"""Kernels as programs of an engine: Touchstone writes each one as an ONNX model or a Python function.

touchstone fuzz --area kernel --backend onnxruntime
touchstone emit suite --as torch && python3 emitted_backend.py torch-inductor --suite suite && touchstone judge suite
"""
import argparse
import base64
import contextlib
import json
import pathlib
import sys

import numpy as np

import cuda_libraries
import line_protocol
from line_protocol import Unsupported

PROFILE = {"base": "glibc", "casts_saturate": False, "zeros_alike": True}
GPU = {**PROFILE, "base": "cuda"}
PYTORCH = {**PROFILE, "ulp": {"sqrt": 1}, "float8_overflow": "infinity"}
# XLA computes exp2 by exp, and on a CPU flushes subnormal numbers.
JAX = {**PROFILE, "flush": "both", "ulp": {"exp2": [2, 1]}, "float8_overflow": "infinity"}
# Fused kernels keep narrower floats in float32.
FUSED = {"excess": {"to": "float32", "rounds": "stores"}}
JAX_ON_GPU = {**JAX, **FUSED, "base": "cuda", "float8_overflow": "either",
              "ulp": {"exp2": [2, 1], "sqrt": 2.5, "recip": 2.5, "div": 2.5}}
ONNX_ON_CPU = {**PROFILE, **FUSED, "ulp": {"sin": 2}}
# Triton's exp2 and division are PTX's ex2.approx.ftz and div.full.
INDUCTOR = {**GPU, **FUSED, "float8_overflow": "saturates", "flush": "both", "ulp": {"exp2": 2.5, "recip": 2.5, "div": 2.5}}


class Onnx:
    """Models, run by ONNX Runtime, or by Touchstone's own reference (the engine 'touchstone')."""
    language, file = "onnx", "kernel.onnx"

    def __init__(self, engine, device):
        self.engine, self.name = engine, engine
        if engine == "touchstone":
            import touchstone.onnx
            self.version, self.profile = touchstone.__version__, {"base": "glibc"}
            self.run_model = lambda model, given: touchstone.onnx.run(model, given)["out"]
        else:
            import onnxruntime
            self.version, self.profile, self.kept = onnxruntime.__version__, GPU if device == "cuda" else ONNX_ON_CPU, {}
            self.runtime, self.providers = onnxruntime, [
                ("CUDAExecutionProvider", {"use_tf32": 0}) if device == "cuda" else "CPUExecutionProvider"]
            self.run_model = self.session

    def session(self, model, given):
        if self.kept.get("model") != model:
            options = self.runtime.SessionOptions()
            options.intra_op_num_threads, options.log_severity_level = 1, 3
            try:
                made = self.runtime.InferenceSession(model, options, providers=self.providers)
            except Exception as why:  # an operator without this type
                raise Unsupported(f"ONNX Runtime refuses: {str(why).splitlines()[0]}"[:300]) from None
            self.kept = {"model": model, "session": made}
        try:
            return self.kept["session"].run(None, given)[0]
        except Exception as why:  # such as an integer divided by 0
            raise Unsupported(f"ONNX Runtime: {str(why).splitlines()[0]}"[:300]) from None

    def run(self, kernel, dtypes, inputs, program, shapes=None):
        wanted = kernel["nodes"][-1]["dtype"]
        for name in (*dtypes, wanted):
            if name.startswith(("bfloat", "float8")):
                raise Unsupported(f"NumPy has no {name}")
        given = {f"in{i + 1}": np.frombuffer(data, name).reshape(shapes[i] if shapes else -1)
                 for i, (data, name) in enumerate(zip(inputs, dtypes))}
        return np.ascontiguousarray(self.run_model(base64.b64decode(program), given), wanted).tobytes()


class Python:
    """Functions of PyTorch, JAX or NumPy, as they are or compiled by the library."""

    def __init__(self, engine, device):
        kind = {"torch": "torch", "torch-inductor": "compile", "jax": "jax", "numpy": "cupy"}[engine]
        self.language = engine.split("-")[0]
        self.file = f"kernel_{self.language}.py"
        if kind == "compile":
            import torch
            if not hasattr(torch, "compile"):
                raise SystemExit(f"PyTorch {torch.__version__} has no torch.compile; it needs 2.0 or later")
        cuda_libraries.THEIRS = {} if device == "cpu" and engine == "torch" else cuda_libraries.THEIRS
        self.library = cuda_libraries.LIBRARIES[kind](cuda_libraries.options_of([], device))
        if engine.startswith("torch") and device == "cpu":
            self.library.torch.set_num_threads(1)
        self.runner = cuda_libraries.Runner(self.library)
        self.name, self.version = engine, self.library.version
        on_cpu, on_gpu = {"torch": (PYTORCH, {**GPU, "float8_overflow": "infinity"}), "compile": (PYTORCH, INDUCTOR),
                          "jax": (JAX, JAX_ON_GPU), "cupy": (PROFILE, GPU)}[kind]
        self.profile = on_cpu if device == "cpu" else on_gpu
        # Kernels without inputs do not say where they run.
        self.where = contextlib.nullcontext()
        if self.language == "torch" and hasattr(self.library.torch, "compile"):
            self.where = self.library.torch.device(device)
        if engine == "numpy":
            self.profile = {**PROFILE, "ulp": {"log2": 2, "sin": 3}}

    def run(self, kernel, dtypes, inputs, program, shapes=None):
        library = self.library
        with self.runner.refusing(), np.errstate(all="ignore"):
            arrays = [library.array(data, name, shapes[i] if shapes else (len(data) // cuda_libraries.BYTES[name],))
                      for i, (data, name) in enumerate(zip(inputs, dtypes))]
            space = {}
            try:
                with self.where:
                    exec(program, space)
                    function = library.made(space["kernel"])
                    return library.bytes(function(*arrays), kernel["nodes"][-1]["dtype"])
            except AttributeError as why:  # a type or function that this version lacks
                raise Unsupported(str(why)) from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["onnxruntime", "touchstone", "torch", "torch-inductor", "jax", "numpy"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--suite", help="a folder of `touchstone emit --as ...`: write outputs beside the inputs")
    parser.add_argument("--out", default="out.npy", help="file name of each output")
    options = parser.parse_args()
    made = (Onnx if options.engine in ("onnxruntime", "touchstone") else Python)(options.engine, options.device)
    if not options.suite:
        hello = {"name": made.name, "version": made.version, "programs": made.language,
                 "profile": {"name": options.engine, **made.profile}}
        return line_protocol.serve(hello, made.run)

    written, folders = 0, sorted(pathlib.Path(options.suite).glob("**/kernel.json"))
    for path in folders:
        folder, kernel = path.parent, json.loads(path.read_text())
        try:
            if not (folder / made.file).exists():
                raise Unsupported(f"no {made.file}")
            text = (folder / made.file).read_bytes()
            data, dtypes, shapes = zip(*line_protocol.inputs_of(folder, kernel)) if len(kernel["buffers"]) > 1 else ((), (), ())
            output = made.run(kernel, dtypes, data, base64.b64encode(text) if made.language == "onnx" else text.decode(), shapes)
            line_protocol.write_output(folder / options.out, kernel, output)
            written += 1
        except Exception as why:  # one kernel must not cost the others
            print(f"{folder.name}: {'' if isinstance(why, Unsupported) else type(why).__name__ + ': '}{why}"[:300])
    print(f"{written} of {len(folders)} outputs by {made.name} {made.version}")
    return None


if __name__ == "__main__":
    sys.exit(main())
