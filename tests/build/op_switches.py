"""No switch over Op has a default, so that the compiler reports every place that a new op affects.

    python3 op_switches.py SOURCE_FOLDER
"""
import pathlib
import re
import sys


def switches(text):
    """Line number and text of each switch, from its head to its closing brace."""
    for head in re.finditer(r"\bswitch \(", text):
        depth, at = 0, text.index("{", head.end())
        for i in range(at, len(text)):
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            if depth == 0:
                yield text.count("\n", 0, head.start()) + 1, text[head.start() : i + 1]
                break


def main():
    root = pathlib.Path(sys.argv[1])
    seen, wrong = 0, []
    for folder in ("lib", "interp", "fuzz", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            for line, text in switches(path.read_text(encoding="utf-8")):
                if not re.search(r"\bcase Op::|TOUCHSTONE_CASES_", text):
                    continue
                seen += 1
                if re.search(r"\bdefault\s*:", text):
                    wrong.append(f"{path.relative_to(root)}:{line}: a switch over Op has a default; list the other ops")
    print("\n".join(wrong) if wrong else f"{seen} switches over Op, none with a default")
    return 1 if wrong or seen < 10 else 0


sys.exit(main())
