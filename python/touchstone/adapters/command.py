"""python -m touchstone.judge PACKAGE [--device NAME] [--ops LIST]: a line for each operation, and the worst exit code."""
import argparse
import sys

_CODES = {"PASS": 0, "FAIL": 1, "UNUSABLE": 2, "WEAK": 3, "SUSPECT": 5}
_WORST = (1, 2, 5, 3, 4, 0)


def _of_kernels(judged, name):
    """Prints how many kernels ran for it, and the wrong ones."""
    by_status = {}
    for kernel, verdict in judged:
        by_status.setdefault(verdict.status, []).append((kernel, verdict))
    if judged:
        print(f"{name} {len(judged)} kernels: " + ", ".join(f"{len(v)} {s}" for s, v in sorted(by_status.items())), flush=True)
    for status in ("FAIL", "SUSPECT", "UNUSABLE"):
        for kernel, verdict in by_status.get(status, [])[:1]:
            print(f"{name} {kernel.name} {verdict}", flush=True)
    return [_CODES[status] for status in by_status if status != "WEAK"]


def _of_shapes(adapter, op, dtype, asked):
    """Prints a line, the worst of all shapes; returns the exit codes."""
    from .. import Error, adapters
    lines, codes = [], []
    for number in range(asked.shapes):
        try:
            verdict = adapters.judge(adapter, op, dtype=dtype, profile=asked.profile, seed=asked.seed, number=number)
            code = 4 if verdict is None else _CODES[verdict.status]
            lines.append((code, "unsupported" if verdict is None else str(verdict), number))
        except Error:
            raise
        except Exception as why:  # the package's
            lines.append((2, f"UNUSABLE: {type(why).__name__}: {str(why).strip().partition(chr(10))[0]}", number))
        codes += _of_kernels(adapter.kernels, f"{op}-{dtype}")
        adapter.kernels = []
    code, line, number = min(lines, key=lambda found: _WORST.index(found[0]))
    wrong = sum(1 for found in lines if found[0] not in (0, 4))
    shapes = f" [{len(lines) - wrong} of {len(lines)} shapes PASS; this is shape {number}]" if asked.shapes > 1 else ""
    print(f"{op}-{dtype} {line}{shapes}", flush=True)
    return [code, *codes]


def main(arguments=None):
    from .. import Error, adapters
    parser = argparse.ArgumentParser(prog="python -m touchstone.judge", description="Judges the operations of a package.")
    parser.add_argument("package", choices=adapters.NAMES)
    parser.add_argument("--device", help="device, in the notation of the package [its default]")
    parser.add_argument("--ops", help="operations, as exp2,matmul [all of the adapter]")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--profile", help="allowed arithmetic: a name or the JSON of a profile")
    parser.add_argument("--shapes", type=int, default=1, help="shapes for each operation, drawn after the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="judge the output of torch.compile")
    asked = parser.parse_args(arguments)
    if asked.shapes < 1:
        parser.error("--shapes must be at least 1")
    options = {name: getattr(asked, name) for name in ("device", "compile") if getattr(asked, name)}
    try:
        adapter = adapters.load(asked.package, **options)
    except (ImportError, TypeError) as why:
        print(f"touchstone.judge: {asked.package}: {why}", file=sys.stderr)
        return 2
    codes = []
    try:
        for op in asked.ops.split(",") if asked.ops else adapter.functions:
            for dtype in asked.dtypes.split(","):
                codes += _of_shapes(adapter, op, dtype, asked)
    except Error as why:
        print(f"touchstone.judge: {why}", file=sys.stderr)
        return 2
    return min(codes, key=_WORST.index, default=0)
