"""Builds wheels and source distributions for pip with CMake: the build-backend of pyproject.toml (PEP 517).

It needs cmake, a C++ compiler, pybind11 and the libraries of the build, and no Python package; it requests cmake, ninja
and pybind11 from pip if they are missing. pip install --config-settings=KEY=VALUE takes `build-dir` (build/wheel), `jobs`
and `module`, an already built file of touchstone._core.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def project():
    """[project] of pyproject.toml; only values on a single line."""
    text = (ROOT / "pyproject.toml").read_text().split("[project]")[1].split("\n[")[0]
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', text, re.M))


def named():
    of = project()
    return f"{of['name'].replace('-', '_')}-{of['version']}"


def tag():
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    if sys.implementation.name != "cpython":
        python = f"{sys.implementation.name}{sys.version_info[0]}{sys.version_info[1]}"
    return f"{python}-{python}{sys.abiflags}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def metadata():
    of = project()
    head = {"Metadata-Version": "2.1", "Name": of["name"], "Version": of["version"], "Summary": of["description"],
            "License": "see LICENSE", "Requires-Python": of["requires-python"], "Provides-Extra": "test",
            "Description-Content-Type": "text/markdown"}
    needs = "".join(f"Requires-Dist: {name}; extra == 'test'\n" for name in ("numpy", "pytest"))
    return "".join(f"{key}: {value}\n" for key, value in head.items()) + needs + "\n" + (ROOT / "README.md").read_text()


def info():
    """The files of the .dist-info folder except RECORD: {name: bytes}."""
    wheel = f"Wheel-Version: 1.0\nGenerator: touchstone\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    texts = {"METADATA": metadata(), "WHEEL": wheel, "entry_points.txt": "[pytest11]\ntouchstone = touchstone.pytest_plugin\n",
             "LICENSE": (ROOT / "LICENSE").read_text()}
    return {f"{named()}.dist-info/{name}": text.encode() for name, text in texts.items()}


def installed(folder, settings):
    """Builds the package into a folder."""
    build = pathlib.Path(settings.get("build-dir", ROOT / "build" / "wheel")).absolute()
    defined = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG", "CMAKE_UNITY_BUILD": "ON",
               "CMAKE_UNITY_BUILD_BATCH_SIZE": "8", "TOUCHSTONE_BUILD_CLI": "OFF", "TOUCHSTONE_BUILD_TESTS": "OFF",
               "TOUCHSTONE_PYTHON": "ON", "TOUCHSTONE_PYTHON_EXECUTABLE": sys.executable, "TOUCHSTONE_WHEEL": "ON"}
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run = [["cmake", "-S", ROOT, "-B", build, *generator, *(f"-D{key}={value}" for key, value in defined.items())],
           ["cmake", "--build", build, "--target", "touchstone_python", "--parallel", settings.get("jobs", str(os.cpu_count()))],
           ["cmake", "--install", build, "--component", "python", "--strip", "--prefix", folder]]
    for command in run:
        subprocess.run(command, check=True)


def packed(folder, settings):
    """Copies the package into a folder, with an existing module."""
    shutil.copytree(ROOT / "python" / "touchstone", folder / "touchstone", ignore=shutil.ignore_patterns("__pycache__"))
    module = folder / "touchstone" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copy(settings["module"], module)
    subprocess.run(["strip", module], check=False)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings, name = config_settings or {}, f"{named()}-{tag()}.whl"
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (packed if "module" in settings else installed)(folder, settings)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    files.update(info())
    record = f"{named()}.dist-info/RECORD"
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
            for path, data in files.items()]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the same bytes each time
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    for path, data in info().items():
        file = pathlib.Path(metadata_directory) / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    return f"{named()}.dist-info"


def get_requires_for_build_wheel(config_settings=None):
    if "module" in (config_settings or {}):
        return []
    header = any(pathlib.Path(folder, "pybind11", "pybind11.h").exists() for folder in ("/usr/include", "/usr/local/include"))
    there = {"cmake>=3.22": shutil.which("cmake"), "ninja": shutil.which("ninja") or shutil.which("make"),
             "pybind11>=2.10": header}
    return [name for name, found in there.items() if not found]


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    """The files known to git; in a tree without git, everything except builds."""
    try:
        known = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(known, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and p.relative_to(ROOT).parts[0] != "build"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pkg_info, \
            tarfile.open(pathlib.Path(sdist_directory) / f"{named()}.tar.gz", "w:gz", compresslevel=6) as archive:
        pkg_info.write(metadata())
        pkg_info.flush()
        archive.add(pkg_info.name, f"{named()}/PKG-INFO")
        for path in sorted(filter(None, listed)):
            if (ROOT / path).is_file():
                archive.add(ROOT / path, f"{named()}/{path}")
    return f"{named()}.tar.gz"
