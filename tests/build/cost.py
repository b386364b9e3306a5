"""Prints the seconds that the parts of a build take, the most expensive first.

usage: cost.py BUILD_FOLDER [STEPS]

With ccache they are processor time of the compilers, which cmake/timed records in costs.log; a cache hit keeps the time
of an earlier run, or has none. Otherwise they are wall-clock time from ninja's log. The last run of each step counts.
STEPS: how many single steps are listed [5].
"""

import os
import re
import sys


def read_log(path):
    """Milliseconds of each step, by its first output; a step with several outputs counts once."""
    latest = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        head = log.readline()
        if not re.fullmatch(r"# ninja log v[567]\n", head):
            raise SystemExit(f"{path}: neither of the versions 5 to 7 of a log of ninja: {head[:40]!r}")
        for line in log:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5 and line.endswith("\n") and fields[0].isdigit() and fields[1].isdigit():
                latest[fields[3]] = (int(fields[0]), int(fields[1]), fields[4])
    steps, seen = {}, set()
    for output, step in latest.items():
        if step not in seen:  # outputs of one command have one hash, and one time
            seen.add(step)
            steps[output] = step[1] - step[0]
    return steps


def read_costs(path):
    """Milliseconds of processor time of each step, by its output."""
    steps = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            row = re.fullmatch(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s (.+)\n", line)
            if row:
                seconds = 60 * (int(row[1]) + int(row[3])) + float(row[2]) + float(row[4])
                steps[row[5]] = round(1000 * seconds)
    return steps


def module_of(output):
    """The target that compiles a file; the small targets of tests/build count as one."""
    target = re.search(r"(?:^|/)CMakeFiles/([^/]+)\.dir/", output)
    if not target:
        return "(links and the rest)"
    return re.sub(r"^(layering|forbidden)_.*", r"\1", target[1]).removeprefix("touchstone_")


def table(steps, most):
    """The text: modules, then the most expensive steps."""
    modules = {}
    for output, milliseconds in steps.items():
        entry = modules.setdefault(module_of(output), [0, 0])
        entry[0] += milliseconds
        entry[1] += 1
    whole = sum(steps.values())
    lines = [f"{'seconds':>8} {'share':>6} {'steps':>6}  module"]
    for name, (milliseconds, count) in sorted(modules.items(), key=lambda m: (-m[1][0], m[0])):
        lines.append(f"{milliseconds / 1000:8.1f} {milliseconds / max(whole, 1):6.1%} {count:6}  {name}")
    lines.append(f"{whole / 1000:8.1f} {1:6.1%} {len(steps):6}  all")
    dearest = sorted(steps.items(), key=lambda s: (-s[1], s[0]))[:most]
    if dearest:
        lines += ["", f"{'seconds':>8}  step"]
        lines += [f"{milliseconds / 1000:8.1f}  {output}" for output, milliseconds in dearest]
    return "\n".join(lines) + "\n"


def main(folder, most="5"):
    path, costs = os.path.join(folder, ".ninja_log"), os.path.join(folder, "costs.log")
    if not os.path.exists(path):
        raise SystemExit(f"{path}: there is none; build with ninja first")
    steps = read_costs(costs) if os.path.exists(costs) else {}
    print("processor time" if steps else "time on the wall")
    sys.stdout.write(table(steps or read_log(path), int(most)))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
