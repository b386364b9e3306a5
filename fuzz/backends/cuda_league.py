"""The league of libraries on one NVIDIA GPU: docs/measured/league-h200.md, in one command.

python3 fuzz/backends/cuda_league.py --touchstone build/dev/cli/touchstone --work /tmp/league

`touchstone emit` writes kernels and inputs; each library starts once and writes all its outputs;
`touchstone judge` reads them. Each failure becomes a reproducer in the library's own API, and runs.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

from cuda_rows import CAST_TARGETS, CASTS, FLOAT8, LIBRARIES, OPS, PROFILES, ROWS, SHOWS

HERE = pathlib.Path(__file__).resolve().parent
CALLS = {"EXP2": "exp2", "LOG2": "log2", "SIN": "sin", "SQRT": "sqrt", "RECIP": "reciprocal",
         "MAX": "maximum", "MOD": "fmod"}


class League:
    def __init__(self, options):
        self.o, self.work = options, pathlib.Path(options.work)
        self.suites = []  # (row name, folder, profile, call of library, flags of library, twice)
        self.verdicts = collections.defaultdict(dict)  # (row, type), library: [verdict]
        self.left_out = collections.defaultdict(dict)
        self.versions, self.shown, self.equal = {}, [], {}
        self.shapes = {row.name: [[int(n) for n in sizes.split(",")] for sizes in
                                  re.findall(r"\[([0-9,]+)\]:T", row.text)] for row in ROWS}

    def touchstone(self, *words):
        done = subprocess.run([self.o.touchstone, *words], capture_output=True, text=True)
        if done.returncode == 2 and not done.stdout:
            raise RuntimeError(f"touchstone {' '.join(words)}: {done.stderr[-500:]}")
        return done.stdout

    # Kernels and inputs.

    def emit(self):
        for kind, (ops, types) in (("ops", OPS), ("casts", CASTS)):
            if not self.wanted(kind):
                continue
            folder = self.work / kind
            self.touchstone("emit", str(folder), "--ops", ops, "--dtypes", ",".join(types), "-n",
                            str(self.o.elements))
            if kind == "casts":
                self.split_casts(folder)
            else:
                self.suites.append((kind, folder, "cuda", None, None, False))
                self.suites.append(("ops, as cuda-approx", folder, "cuda-approx", None, None, False))
        for number, row in enumerate(ROWS):
            if self.wanted(row.name):
                self.emit_row(number, row)

    def wanted(self, name):
        return not self.o.only or any(word in name for word in self.o.only.split(","))

    def split_casts(self, folder):
        narrow = self.work / "casts-float8"
        narrow.mkdir()
        for case in folder.iterdir():
            words = case.name.split("-")
            if words[0] != "cast" or words[2] not in CAST_TARGETS + FLOAT8:
                shutil.rmtree(case)
            elif words[2] in FLOAT8:
                case.rename(narrow / case.name)
        self.suites.append(("casts", folder, "casts", None, None, False))
        clipped = {library: ["--float8-overflow", "saturate"] for library in LIBRARIES}
        self.suites.append(("casts to float8, overflow is infinity or NaN", narrow, "fp8-infinity",
                            None, None, False))
        self.suites.append(("casts to float8, overflow saturates", narrow, "fp8-saturates", None,
                            None, False))
        self.suites.append(("casts to float8 of clipped numbers, overflow saturates", narrow,
                            "fp8-saturates", None, clipped, False))

    def emit_row(self, number, row):
        folder = self.work / f"row-{number:02}"
        folder.mkdir()
        for dtype in row.types:
            text, part = row.text.replace(":T", f":{dtype}"), folder / dtype
            if row.big:
                self.write_random(text, part)
            else:
                self.touchstone("emit", str(part), "--op", text)
            for case in list(part.iterdir()):  # one folder for judge
                case.rename(folder / f"{dtype}-{case.name}")
            part.rmdir()
        calls = {library: row.call(library) for library in LIBRARIES}
        flags = {library: row.flags(library) for library in LIBRARIES}
        self.suites.append((row.name, folder, row.profile, calls, flags, row.twice))

    def write_random(self, text, part):
        case = part / "random"
        case.mkdir(parents=True)
        kernel = self.touchstone("kernel", text)
        (case / "kernel.json").write_text(kernel)
        size = json.loads(kernel)["buffers"][1]["size"]
        values = np.random.default_rng(1).standard_normal(size, dtype=np.float32)
        np.save(case / "in1.npy", values)

    # Outputs.

    def out(self, number, library, run=""):
        return f"{number:03}-{library}{run}.npy"

    def answer(self, library):
        plan = self.work / f"plan-{library}.jsonl"
        tasks = []
        for number, (name, folder, _, calls, flags, twice) in enumerate(self.suites):
            if (library == "triton") if calls is None else calls.get(library) is None:
                continue
            for run in ("", "-again") if twice else ("",):
                tasks.append({"suite": str(folder), "out": self.out(number, library, run),
                              "call": calls[library] if calls else None, "number": number,
                              "shapes": self.shapes.get(name),
                              "options": (flags or {}).get(library, [])})
        plan.write_text("".join(json.dumps(task) + "\n" for task in tasks))
        return self.follow(library, plan)

    def follow(self, library, plan):
        words = [sys.executable, str(HERE / "cuda_libraries.py"), "--library", library, "--plan",
                 str(plan), "--device", self.o.device]
        done = subprocess.run(words, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0:
            print(f"{library}: ended with {done.returncode}: {done.stderr[-2000:]}",
                  file=sys.stderr)
        return lines

    def answer_all(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for library, lines in zip(self.o.libraries, pool.map(self.answer, self.o.libraries)):
                if lines:
                    self.versions[library] = lines[0]
                for line in lines[1:]:
                    number = line["task"]["number"]
                    self.left_out[number, library].update(line.get("left_out", {}))
                    if "error" in line:
                        self.left_out[number, library]["*"] = line["error"]
                    print(f"{library}: {self.suites[number][0]}: {line['seconds']} s",
                          file=sys.stderr)

    # Verdicts.

    def judge(self, task):
        number, library, run = task
        name, folder, profile, _, _, _ = self.suites[number]
        words = ["judge", str(folder), "--out", self.out(number, library, run), "--json",
                 "--verdict-memory", "0", "--profile", self.profile(profile)]
        return task, [json.loads(line) for line in self.touchstone(*words).splitlines()]

    def profile(self, name):
        if isinstance(PROFILES[name], str):
            return PROFILES[name]
        if PROFILES[name] is None:
            return str(HERE / "profiles" / f"{name}.json")
        path = self.work / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(PROFILES[name]))
        return str(path)

    def judge_all(self):
        tasks = []
        for number, (_, folder, profile, _, _, _) in enumerate(self.suites):
            self.profile(profile)
            for library in self.o.libraries:
                for run in ("", "-again"):
                    if list(folder.glob(f"*/{self.out(number, library, run)}")):
                        tasks.append((number, library, run))
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            for (number, library, run), lines in pool.map(self.judge, tasks):
                self.take(number, library, run, lines)

    def take(self, number, library, run, lines):
        name, folder, _, calls, _, twice = self.suites[number]
        for line in lines:
            mine = folder / line["case"] / self.out(number, library, run)
            if not mine.exists():
                continue
            words = line["case"].split("-")
            row, dtype = (name, words[0]) if calls else (self.op_of(name, words), words[1])
            if name.startswith("ops") and words[0] == "reduce":
                dtype = words[2]
            line.update(folder=str(folder), out=mine.name,
                        call=calls.get(library) if calls else None)
            self.verdicts[row, dtype].setdefault(library, []).append(line)
            if twice and run:
                first = folder / line["case"] / self.out(number, library)
                same = first.read_bytes() == mine.read_bytes()
                self.equal.setdefault((row, library), []).append(same)

    @staticmethod
    def op_of(name, words):
        if not name.startswith("ops"):
            return name
        op = "-".join(words[:2]) if words[0] == "reduce" else words[0]
        return op + name.removeprefix("ops")

    # The page.

    def cell(self, row, library):
        parts, counted = [], 0
        for (name, dtype), by_library in sorted(self.verdicts.items()):
            lines = by_library.get(library, [])
            if name != row or not lines:
                continue
            counted += 1
            bad = [line for line in lines if line["verdict"] == "FAIL"]
            odd = [line for line in lines if line["verdict"] in ("SUSPECT", "UNUSABLE")]
            if bad:
                parts.append(f"**{dtype} {len(bad)} of {len(lines)}**")
            if odd:
                parts.append(f"{dtype} {len(odd)} {odd[0]['verdict']}")
        if counted == 0:
            return ""
        text = ", ".join(parts) if parts else "legal"
        if (row, library) in self.equal:
            same = self.equal[row, library]
            text += f"; same bits twice: {sum(same)} of {len(same)}"
        return text

    def types_of(self, row):
        return ", ".join(t for n, t in self.verdicts if n == row)

    def page(self):
        rows = list(dict.fromkeys(name for name, _ in self.verdicts))
        known = [k for k in self.o.libraries if k in self.versions]
        heads = [f"{self.versions[k]['name']} {self.versions[k]['version']}" for k in known]
        print(f"{hardware(self.o.device)}\n")
        print("| | types | " + " | ".join(heads) + " |")
        print("|---|---|" + "---|" * len(heads))
        for row in rows:
            cells = [self.cell(row, library) for library in known]
            if any(cells):
                print(f"| {row} | {self.types_of(row)} | " + " | ".join(cells) + " |")
        for (number, library), whys in self.left_out.items():
            for why, count in collections.Counter(whys.values()).most_common(3):
                print(f"left out: {library} {self.suites[number][0]}: {count} times {why}")
        self.print_reproducers(known)

    def print_reproducers(self, known):
        for library in known:
            mine = [shown for shown in self.shown if shown[0] == library]
            if not mine:
                continue
            print(f"\n### {self.versions[library]['name']}")
            for _, row, code, printed, good in mine:
                said = printed.strip().replace("\n", "\n# ")
                note = "" if good else "; **not seen on one element alone**"
                print(f"\n{row}{note}:\n\n```python\n{code}\n# it prints {said}\n```")

    def first_of_each(self):
        lines = []
        for (row, dtype), by_library in self.verdicts.items():
            for library, of in by_library.items():
                bad = [line for line in of if line["verdict"] not in ("PASS", "WEAK")]
                if bad:
                    lines.append(f"{library} {row} {dtype} {bad[0]['case']}: {self.said(bad[0])}\n")
        (self.work / "first.txt").write_text("".join(lines))

    @staticmethod
    def said(line):
        if "why" in line:
            return line["why"]
        evidence = line.get("evidence", {}).get("suspicion")
        if line["verdict"] == "SUSPECT" and evidence:
            return f"SUSPECT: {evidence['explanation']}"
        legal = " to ".join(line.get("legal", ["NaN"] if line.get("nan_is_legal") else ["?"]))
        return (f"{line.get('wrong')} of {line.get('checked')}; at {line.get('at')} "
                f"{line.get('op')} {line.get('dtype')} gave {line.get('candidate')}, legal {legal}")

    # Reproducers: one element of a single operation, in the library's words.

    def reproduce(self):
        tasks = collections.defaultdict(list)
        found = set()  # one per library and row, of float32 if possible
        for (row, dtype), by_library in sorted(self.verdicts.items(),
                                               key=lambda item: item[0][1] != "float32"):
            for library, lines in by_library.items():
                bad = [line for line in lines if line["verdict"] == "FAIL"]
                code = self.alone(library, bad[0]) if bad and (library, row) not in found else None
                if code:
                    found.add((library, row))
                    tasks[library].append({"run": code[0], "row": f"{row} {dtype}",
                                           "wants": code[1]})
        shown = [(row.name, row.shows) for row in ROWS if self.wanted(row.name)]
        for row, by_library in shown + list(SHOWS.items() if self.wanted("ops") else []):
            for library, code in by_library.items():
                tasks[library].append({"run": code, "row": row, "wants": ""})
        for library in self.o.libraries:
            if not tasks[library] or library not in self.versions:
                continue
            plan = self.work / f"shows-{library}.jsonl"
            plan.write_text("".join(json.dumps(task) + "\n" for task in tasks[library]))
            for line in self.follow(library, plan)[1:]:
                task, printed = line["task"], line.get("printed", "") + line.get("error", "")
                good = task["wants"] in printed and "error" not in line
                self.shown.append((library, task["row"], task["run"], printed, good))

    def alone(self, library, line):
        folder = pathlib.Path(line["folder"]) / line["case"]
        kernel = json.loads((folder / "kernel.json").read_text())
        nodes = kernel["nodes"]
        op, dtype = nodes[-2]["op"], nodes[-2]["dtype"]
        loads = [n for n in nodes if n["op"] == "LOAD"]
        if line.get("call") and "at" in line and library in ("torch", "compile", "jax"):
            return self.alone_in_words(library, line, kernel, loads[0])
        single = len(nodes) == len(loads) + 2 and "at" in line
        if not single or op not in (*CALLS, "DIV", "CAST") or nodes[-2].get(
                "arg", {}).get("bitcast"):
            return None
        operands = []
        for load in loads:
            raw = np.load(folder / f"in{load['arg']['buffer']}.npy")
            operands.append(number_of(raw.reshape(-1)[line["at"][-1]].tobytes(), load["dtype"]))
        return words_for(library, op, loads[0]["dtype"], dtype, operands,
                         number_of(bytes.fromhex(line["candidate"])[::-1], dtype),
                         " to ".join(dict.fromkeys(
                             str(number_of(bytes.fromhex(x)[::-1], dtype))
                             for x in line.get("legal", []))) or "nan")

    def alone_in_words(self, library, line, kernel, load):
        """The same for a row whose call is elementwise on one array."""
        if len(kernel["buffers"]) != 2 or any("REDUCE" in n["op"] for n in kernel["nodes"]):
            return None
        folder, dtype = pathlib.Path(line["folder"]) / line["case"], load["dtype"]
        raw = np.load(folder / "in1.npy").reshape(-1)[line["at"][-1]].tobytes()
        of = literal(number_of(raw, dtype))
        call = "lambda x: " + line["call"].replace("x1", "x")
        if library == "jax":
            lines = ["import jax, jax.numpy as jnp", f"x = jnp.array([{of}], '{dtype}')",
                     f"print(jax.jit({call})(x)[0].item())"]
        else:
            call = f"torch.compile({call})" if library == "compile" else f"({call})"
            lines = ["import torch, torch.nn.functional as F",
                     f'x = torch.tensor([{of}], dtype=torch.{dtype}, device="cuda")',
                     f"print({call}(x).item())"]
        numbers = [str(number_of(bytes.fromhex(x)[::-1], dtype)) for x in line.get("legal", [])]
        lines[-1] += f"  # right is {' to '.join(dict.fromkeys(numbers)) or 'nan'}"
        return "\n".join(lines), str(number_of(bytes.fromhex(line["candidate"])[::-1], dtype))


def hardware(device):
    if device == "cpu":
        return "On the host."
    said = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.strip()
    return "One {}, driver {}.".format(*said.split(", "))


def number_of(data, dtype):
    """The number that these bytes encode."""
    if dtype == "bfloat16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    if dtype.startswith("float8"):
        return "0x" + data.hex()
    kinds = {"float16": "<f2", "float32": "<f4", "float64": "<f8"}
    return np.frombuffer(data, kinds.get(dtype, dtype))[0].item()


def literal(x):
    return repr(x) if not isinstance(x, float) or np.isfinite(x) else f'float("{x}")'


def words_for(library, op, dtype, to, operands, got, legal):
    """Three lines of Python, and their output if a single element shows the fault."""
    names = ["x", "y"][:len(operands)]
    values = [literal(v) for v in operands]
    fp8 = to.startswith("float8")
    theirs = {"float8_e4m3": "float8_e4m3fn"}.get(to, to)
    if library in ("torch", "compile"):
        head = "import torch"
        made = [f'torch.tensor([{v}], dtype=torch.{dtype}, device="cuda")' for v in values]
        call = f"lambda {', '.join(names)}: torch.{CALLS.get(op, 'div')}({', '.join(names)})"
        call = f"lambda x: x.to(torch.{theirs})" if op == "CAST" else call
        call = f"torch.compile({call})" if library == "compile" else f"({call})"
        shown = ".view(torch.uint8).item()" if fp8 else ".item()"
        show = f"{call}({', '.join(names)}){shown}"
    elif library == "triton":
        head = "import torch, cuda_triton  # fuzz/backends/cuda_triton.py"
        made = [f'torch.tensor([{v}], dtype=torch.{dtype}, device="cuda")' for v in values]
        word = {"MAX": "max"}.get(op, op.lower())
        show = f"cuda_triton.pointwise('{word}', {', '.join(names)}).item()"
    elif library == "jax":
        head = "import jax, jax.numpy as jnp; jax.config.update('jax_enable_x64', True)"
        made = [f"jnp.array([{v}], '{dtype}')" for v in values]
        call = "jax.lax.rem" if op == "MOD" else f"jnp.{CALLS.get(op, 'divide')}"
        call = f"lambda x: x.astype('{theirs}')" if op == "CAST" else call
        shown = ".view('uint8')[0].item()" if fp8 else "[0].item()"
        show = f"jax.jit({call})({', '.join(names)}){shown}"
    else:
        head = "import cupy"
        made = [f"cupy.array([{v}], '{dtype}')" for v in values]
        call = f"cupy.{CALLS.get(op, 'divide')}({', '.join(names)})"
        show = (f"x.astype('{theirs}')" if op == "CAST" else call) + ".item()"
    wants = str(int(got, 16) if fp8 else got)
    lines = [head, f"{', '.join(names)} = {', '.join(made)}",
             f"print({show})  # right is {legal}"]
    return "\n".join(lines), wants


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--touchstone", default="touchstone")
    parser.add_argument("--work", required=True, help="a new folder for suites and outputs")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", help="only rows whose names contain one of these words")
    parser.add_argument("--elements", type=int, default=2000, help="elements of each single operation")
    parser.add_argument("--jobs", type=int, default=8, help="simultaneous verdicts")
    options = parser.parse_args()
    options.libraries = options.libraries.split(",")
    pathlib.Path(options.work).mkdir(parents=True)
    league = League(options)
    league.emit()
    league.answer_all()
    league.judge_all()
    league.first_of_each()
    league.reproduce()
    league.page()


if __name__ == "__main__":
    main()
