"""Compares the playground's WebAssembly with the native explorer, answer by answer.

compare.py QUESTIONS NODE WASM WORKER.js [--drawn COUNT] [--seed SEED] FILE...

QUESTIONS: the program playground_questions. FILE: corpora of the fuzzer (symbolic.txt, view.txt), or lines of questions
(.jsonl). Times are ignored; everything else must be equal.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys


def main():
    p = argparse.ArgumentParser()
    for name in ("questions", "node", "wasm", "worker"):
        p.add_argument(name)
    p.add_argument("--drawn", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("files", nargs="*")
    a = p.parse_intermixed_args()

    def lines(*args):
        return subprocess.run([a.questions, *args], check=True, capture_output=True).stdout

    asked = b""
    for path in a.files:
        if path.endswith(".jsonl"):
            with open(path, "rb") as f:
                for line in f:
                    if b'"ask"' in line or not line.startswith(b'{"'):
                        asked += line
                    else:  # a line of `touchstone simplify --jsonl`
                        for ask in (b"simplify", b"steps"):
                            asked += b'{"ask":"' + ask + b'",' + line[1:]
        else:
            asked += lines("cases", path)
    if a.drawn:
        asked += lines("drawn", str(a.drawn), str(a.seed))
    native = subprocess.run([a.questions, "answer"], input=asked, check=True, capture_output=True).stdout
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([a.node, os.path.join(here, "answers.mjs"), a.wasm, a.worker], input=asked, check=True, capture_output=True)
    strip = re.compile(rb'"ns":\d+')
    left, right = (strip.sub(b'"ns":0', t).split(b"\n") for t in (native, run.stdout))
    if len(left) != len(right):
        sys.exit(f"{len(left)} native answers, {len(right)} of the page")
    differ = [i for i, (x, y) in enumerate(zip(left, right)) if x != y]
    questions = asked.split(b"\n")
    for i in differ[:5]:
        print("question", questions[i].decode()[:600])
        x, y = left[i].decode(), right[i].decode()
        for tag, x0, x1, y0, y1 in difflib.SequenceMatcher(None, x[:5000], y[:5000], autojunk=False).get_opcodes():
            if tag != "equal":
                print(f"  native {x[max(0, x0 - 60):x1 + 60]}\n  page   {y[max(0, y0 - 60):y1 + 60]}")
                break
    errors = sum(b'"error"' in x for x in left)
    print(f"{len(left) - 1} answers, {len(differ)} differ; {errors} are errors on both sides; {run.stderr.decode().strip()}")
    if not left[:-1]:
        sys.exit("no question was asked")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
