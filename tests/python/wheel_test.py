"""pip install . as a user would, but without compiling: it uses the module under test."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

import touchstone

SOURCE = pathlib.Path(os.environ["TOUCHSTONE_SOURCE"])
QUIET = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
PROGRAM = """
import importlib.metadata, pathlib, sys
import numpy as np, touchstone
from touchstone.testing import assert_legal
assert pathlib.Path(touchstone.__file__).is_relative_to(sys.prefix), touchstone.__file__
x = np.linspace(-4, 4, 264, dtype="float32").reshape(8, 33)
e = np.exp(x - x.max(axis=1, keepdims=True))
assert_legal(e / e.sum(axis=1, keepdims=True), "softmax", x, axis=1)
assert any(e.name == "touchstone" for e in importlib.metadata.entry_points(group="pytest11"))
print(importlib.metadata.metadata("touchstone-oracle")["Version"], (pathlib.Path(touchstone.__file__).parent / "py.typed").exists())
"""


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=QUIET, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the module needs what is preloaded")
def test_pip_installs_and_uninstalls_it(tmp_path):
    if importlib.util.find_spec("pip") is None:
        pytest.skip("there is no pip (install python3-pip)")
    venv.create(tmp_path / "env", system_site_packages=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-B", "-m", "pip", "--python", python]
    run(*pip, "install", "--no-index", "--quiet", f"--config-settings=module={touchstone._core.__file__}", SOURCE)
    assert run(python, "-c", PROGRAM, cwd=tmp_path) == f"{touchstone.__version__} True\n"
    listed = run(*pip, "show", "--files", "touchstone-oracle")
    assert "touchstone/_core/kernel.pyi" in listed and "touchstone/adapters.py" in listed and "License" in listed
    run(*pip, "uninstall", "--yes", "--quiet", "touchstone-oracle")
    assert not list((tmp_path / "env").rglob("touchstone*"))


def backend():
    spec = importlib.util.spec_from_file_location("wheel_backend", SOURCE / "python" / "wheel_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_wheels_are_the_same_each_time_and_name_their_python(tmp_path):
    (tmp_path / "module.so").write_bytes(b"\x7fELF")
    settings, made = {"module": str(tmp_path / "module.so")}, []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        name = backend().build_wheel(tmp_path / folder, settings)
        made.append((tmp_path / folder / name).read_bytes())
    assert made[0] == made[1] and f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in name
    names = zipfile.ZipFile(tmp_path / "one" / name).namelist()
    assert len(names) == len(set(names)) and not any("__pycache__" in n for n in names)
    assert any(n.endswith(".dist-info/METADATA") for n in names) and names[-1].endswith("/RECORD")
    info = tmp_path / backend().prepare_metadata_for_build_wheel(tmp_path)
    assert (info / "WHEEL").read_text().endswith(f"Tag: {backend().tag()}\n") and "Requires-Python: >=3.9" in (info / "METADATA").read_text()


def test_what_is_missing_is_asked_for(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert {"cmake>=3.22", "ninja"} <= set(backend().get_requires_for_build_wheel())
    assert backend().get_requires_for_build_wheel({"module": "x"}) == []


def test_a_source_distribution_has_the_sources(tmp_path):
    names = tarfile.open(tmp_path / backend().build_sdist(tmp_path)).getnames()
    root = f"touchstone_oracle-{touchstone.__version__}"
    assert {f"{root}/{n}" for n in ("PKG-INFO", "pyproject.toml", "CMakeLists.txt", "python/wheel_backend.py", "python/core/kernel.cpp",
                                    "lib/base/error.h", "LICENSE")} <= set(names)
    assert not any(n.startswith(f"{root}/build/") for n in names)
